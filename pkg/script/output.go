package script

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// Limits of the stored output of a script, in bytes.
const (
	maxLine      = 4096        // of a line; the rest is dropped
	maxRaw       = 2 * maxLine // of a line before it is masked
	maxPending   = 64 << 10    // of lines that wait for Follow; the oldest are dropped
	maxOutput    = 1 << 20     // of lines of one run
	maxTail      = 32 << 10    // of the last lines of each stream
	maxErrorText = 2000        // of the last lines in an error
)

// output collects the lines of a script for Follow, and the last ones for an error.
type output struct {
	masks          masks
	newLines       chan struct{} // new lines are pending
	stdout, stderr *stream

	mu      sync.Mutex
	pending lines
	dropped int // pending lines that were dropped
	written int // bytes
	last    string
}

func newOutput(secrets []string) *output {
	o := &output{masks: newMasks(secrets), newLines: make(chan struct{}, 1)}
	o.stdout, o.stderr = &stream{out: o}, &stream{out: o}
	return o
}

// stream is standard output or standard error, split into lines.
type stream struct {
	out  *output
	line []byte
	tail lines
}

// Write implements io.Writer. It never fails.
func (s *stream) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case isLineEnd(rune(b)):
			s.flush()
		case len(s.line) < maxRaw:
			s.line = append(s.line, b)
		}
	}
	return len(p), nil
}

// isLineEnd says that a character ends a line; \r does in progress displays.
func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// flush ends a line.
func (s *stream) flush() {
	text := s.out.masks.hide(printable(string(s.line)))
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
	o.last = text
	if o.written > maxOutput {
		return
	}
	if o.written += len(text); o.written > maxOutput {
		text = fmt.Sprintf("(the script writes more than %d KiB; the rest is not shown)", maxOutput>>10)
	}
	o.dropped += o.pending.add(text, maxPending)
	select {
	case o.newLines <- struct{}{}:
	default:
	}
}

// printable removes control characters and invalid UTF-8.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// flush flushes last lines without a line end.
func (o *output) flush() {
	o.stdout.flush()
	o.stderr.flush()
}

// takeLines passes the pending lines to line.
func (o *output) takeLines(line func(string)) {
	o.mu.Lock()
	texts, dropped := o.pending.texts, o.dropped
	o.pending, o.dropped = lines{}, 0
	o.mu.Unlock()
	if dropped > 0 {
		line(fmt.Sprintf("(%d lines are not shown)", dropped))
	}
	for _, l := range texts {
		line(l)
	}
}

// lastLine returns the newest line of both streams.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// lastOutput returns the last lines of standard error, or of standard output if that is empty.
func (o *output) lastOutput() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.stderr.tail.texts
	if len(last) == 0 {
		last = o.stdout.tail.texts
	}
	text := strings.Join(last, "\n")
	if len(text) > maxErrorText {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxErrorText:], "")
	}
	return text
}

// lines are the last lines of a stream.
type lines struct {
	texts []string
	size  int
}

// add appends a line, removes the oldest lines above the limit, and returns their number.
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
