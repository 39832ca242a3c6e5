package script

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// Bounds of what is kept of a script's output, in bytes.
const (
	maxLine    = 4096        // of a line; the rest of it is left out
	maxRaw     = 2 * maxLine // of a line before it is masked
	maxPending = 64 << 10    // of lines that nobody has asked for; the oldest are left out
	maxHanded  = 1 << 20     // of lines of one run
	maxTail    = 32 << 10    // of the last lines of each stream
	maxWords   = 2000        // of the last lines in an error
)

// output gathers what a script writes: lines for whoever follows it, and the last ones for its failure.
type output struct {
	masks          masks
	more           chan struct{} // lines have come
	stdout, stderr *stream

	mu      sync.Mutex
	pending lines
	dropped int // lines that were pending for too long
	handed  int // bytes
}

func newOutput(secrets []string) *output {
	o := &output{masks: newMasks(secrets), more: make(chan struct{}, 1)}
	o.stdout, o.stderr = &stream{out: o}, &stream{out: o}
	return o
}

// stream is one of the two, cut into lines.
type stream struct {
	out  *output
	line []byte
	tail lines
}

// Write implements io.Writer. It never fails.
func (s *stream) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case b == '\n' || b == '\r': // the latter by those who show progress
			s.flush()
		case len(s.line) < maxRaw:
			s.line = append(s.line, b)
		}
	}
	return len(p), nil
}

// flush ends a line.
func (s *stream) flush() {
	text := s.out.masks.hide(plain(string(s.line)))
	s.line = s.line[:0]
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "")
	}
	if text = strings.TrimRight(text, " \t"); text == "" {
		return
	}
	o := s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	s.tail.add(text, maxTail)
	if o.handed > maxHanded {
		return
	}
	if o.handed += len(text); o.handed > maxHanded {
		text = fmt.Sprintf("(the script writes more than %d KiB; the rest is left out here)", maxHanded>>10)
	}
	o.dropped += o.pending.add(text, maxPending)
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// plain is text that can be stored and shown anywhere.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// end closes lines that have no line end.
func (o *output) end() {
	o.stdout.flush()
	o.stderr.flush()
}

// take hands over what is pending.
func (o *output) take(line func(string)) {
	o.mu.Lock()
	texts, dropped := o.pending.texts, o.dropped
	o.pending, o.dropped = lines{}, 0
	o.mu.Unlock()
	if dropped > 0 {
		line(fmt.Sprintf("(%d lines are left out)", dropped))
	}
	for _, l := range texts {
		line(l)
	}
}

// words are the last lines of standard error, or of standard output when that is empty.
func (o *output) words() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.stderr.tail.texts
	if len(last) == 0 {
		last = o.stdout.tail.texts
	}
	text := strings.Join(last, "\n")
	if len(text) > maxWords {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxWords:], "")
	}
	return text
}

// lines are the last ones of many.
type lines struct {
	texts []string
	size  int
}

// add appends a line and returns how many of the oldest had to go for it.
func (l *lines) add(text string, limit int) (gone int) {
	l.texts = append(l.texts, text)
	l.size += len(text)
	for l.size > limit {
		l.size -= len(l.texts[gone])
		gone++
	}
	l.texts = l.texts[gone:]
	return gone
}
