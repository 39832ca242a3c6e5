package remote

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLine is the number of bytes at which an output line is cut; the rest of the line is dropped.
const MaxLine = 4096

// cut marks a line that was longer.
const cut = "…"

// splitter splits a stream of bytes into clean lines. It keeps at most MaxLine bytes.
type splitter struct {
	line func(string)
	buf  []byte
	over bool // the current line was longer than MaxLine
}

// Write never fails.
func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		if room := MaxLine - len(s.buf); len(part) > room {
			part, s.over = part[:room], true
		}
		s.buf = append(s.buf, part...)
		if end < 0 {
			break
		}
		s.flush(true)
		p = p[end+1:]
	}
	return n, nil
}

// flush passes on the current line; an unfinished line only if it is not empty.
func (s *splitter) flush(finished bool) {
	if finished || len(s.buf) > 0 {
		text := cleanText(s.buf)
		if s.over {
			text += cut
		}
		if s.line != nil {
			s.line(text)
		}
	}
	s.buf, s.over = s.buf[:0], false
}

// cleanText returns a line as text that can be stored and shown: valid UTF-8 without control characters (a terminal
// would interpret them, and PostgreSQL rejects NUL). Of a line with carriage returns, as in progress bars, the last
// state is kept.
func cleanText(line []byte) string {
	line = bytes.TrimRight(line, "\r")
	if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	text := strings.ToValidUTF8(string(line), string(utf8.RuneError))
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// tail keeps the last lines.
type tail struct {
	lines []string
	max   int
}

func (t *tail) add(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if len(t.lines) == t.max {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, line)
}
