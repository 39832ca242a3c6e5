package coreutils

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// sed knows the commands s, d and p with an address or two, which may be numbers, $ or expressions.
func sed(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "nEe:", "quiet=n", "regexp-extended=E", "expression:=e")
	if !ok {
		return 1
	}
	if !f.Has("e") {
		if len(f.Args) == 0 {
			return p.Errorf("Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...\n")
		}
		f.Vals["e"], f.Args = f.Args[:1], f.Args[1:]
	}
	sp := &sedParser{src: strings.Join(f.Vals["e"], "\n"), extended: f.Has("E")}
	commands, err := sp.parse()
	if err != nil {
		return p.Errorf("sed: -e expression #1, char %d: %v\n", sp.at, err)
	}
	w := output(p)
	st := each(p, f.Args, func(_ string, r io.Reader) error { return sedStream(commands, f.Has("n"), r, w) })
	return flush(w, st)
}

type sedAddress struct {
	line int
	last bool
	re   *regexp.Regexp
}

type sedCommand struct {
	from, to *sedAddress
	inside   bool // the range has begun
	negated  bool
	name     byte
	re       *regexp.Regexp
	with     string // of s, in Go's syntax
	global   bool
	print    bool
}

type sedParser struct {
	src      string
	at       int
	extended bool
}

func (s *sedParser) skip(set string) {
	for s.at < len(s.src) && strings.IndexByte(set, s.src[s.at]) >= 0 {
		s.at++
	}
}

func (s *sedParser) next() byte {
	if s.at == len(s.src) {
		return 0
	}
	s.at++
	return s.src[s.at-1]
}

func (s *sedParser) parse() (out []*sedCommand, err error) {
	for {
		if s.skip(" \t\n;"); s.at == len(s.src) {
			return out, nil
		}
		c := &sedCommand{}
		if c.from, err = s.address(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(s.src[s.at:], ",") {
			s.at++
			if c.to, err = s.address(); err != nil {
				return nil, err
			}
		}
		s.skip(" ")
		if strings.HasPrefix(s.src[s.at:], "!") {
			c.negated = true
			s.at++
		}
		switch c.name = s.next(); c.name {
		case 'd', 'p':
		case 's':
			err = s.substitution(c)
		default:
			err = fmt.Errorf("unknown command: `%c'", c.name)
		}
		if s.skip(" \t"); err == nil && s.at < len(s.src) && strings.IndexByte("\n;", s.src[s.at]) < 0 {
			err = errors.New("extra characters after command")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
}

// address reads an address; nil if there is none.
func (s *sedParser) address() (*sedAddress, error) {
	from := s.at
	s.skip("0123456789")
	switch {
	case s.at > from:
		n, err := strconv.Atoi(s.src[from:s.at])
		return &sedAddress{line: n}, err
	case strings.HasPrefix(s.src[s.at:], "$"):
		s.at++
		return &sedAddress{last: true}, nil
	case strings.HasPrefix(s.src[s.at:], "/"):
		s.at++
		text, err := s.until('/')
		if err != nil {
			return nil, err
		}
		re, err := compile(text, s.extended, false)
		return &sedAddress{re: re}, err
	}
	return nil, nil //nolint:nilnil // no address is a valid answer
}

// until reads up to a delimiter; an escaped one loses its backslash, and one in brackets counts as text.
func (s *sedParser) until(d byte) (string, error) {
	var b strings.Builder
	for s.at < len(s.src) {
		c := s.next()
		switch {
		case c == '\\' && s.at < len(s.src):
			if n := s.next(); n == d {
				b.WriteByte(d)
			} else {
				b.WriteString(`\` + string(n))
			}
			continue
		case c == '[' && d != '[':
			if end := bracketEnd(s.src, s.at-1); end > 0 {
				b.WriteString(s.src[s.at-1 : end+1])
				s.at = end + 1
				continue
			}
		case c == d:
			return b.String(), nil
		}
		b.WriteByte(c)
	}
	return "", errors.New("unterminated expression")
}

var sedReference = regexp.MustCompile(`\\[0-9&\\nt]|[&$]`)

func (s *sedParser) substitution(c *sedCommand) error {
	d := s.next()
	pattern, err := s.until(d)
	if err != nil {
		return err
	}
	with, err := s.until(d)
	if err != nil {
		return err
	}
	if c.re, err = compile(pattern, s.extended, false); err != nil {
		return err
	}
	c.with = sedReference.ReplaceAllStringFunc(with, func(t string) string {
		switch {
		case t == "&":
			return "${0}"
		case t == "$":
			return "$$"
		case t == `\n`:
			return "\n"
		case t == `\t`:
			return "\t"
		case t[1] >= '0' && t[1] <= '9':
			return "${" + t[1:] + "}"
		}
		return t[1:]
	})
	for s.at < len(s.src) && strings.IndexByte("gp", s.src[s.at]) >= 0 {
		c.global, c.print = c.global || s.src[s.at] == 'g', c.print || s.src[s.at] == 'p'
		s.at++
	}
	return nil
}

func (a *sedAddress) matches(text string, n int, last bool) bool {
	if a.re != nil {
		return a.re.MatchString(text)
	}
	return a.last && last || a.line == n
}

// applies reports whether the command is meant for this line.
func (c *sedCommand) applies(text string, n int, last bool) bool {
	switch {
	case c.from == nil:
		return !c.negated
	case c.to == nil:
		return c.from.matches(text, n, last) != c.negated
	case c.inside:
		c.inside = !c.to.matches(text, n, last)
		return !c.negated
	}
	c.inside = c.from.matches(text, n, last)
	return c.inside != c.negated
}

func sedStream(commands []*sedCommand, quiet bool, r io.Reader, w *bufio.Writer) error {
	var all []string
	newline := true
	if err := lines(
		r, func(l string, ended bool) bool { all, newline = append(all, l), ended; return true },
	); err != nil {
		return err
	}
	for i, text := range all {
		last := i == len(all)-1
		end := "\n"
		if last && !newline {
			end = ""
		}
		deleted := false
		for _, c := range commands {
			if deleted || !c.applies(text, i+1, last) {
				continue
			}
			replaced := false
			switch c.name {
			case 'd':
				deleted = true
			case 's':
				text, replaced = c.replace(text)
			}
			if c.name == 'p' || replaced && c.print {
				_, _ = w.WriteString(text + end)
			}
		}
		if !quiet && !deleted {
			_, _ = w.WriteString(text + end)
		}
	}
	return nil
}

func (c *sedCommand) replace(text string) (string, bool) {
	if c.global {
		return c.re.ReplaceAllString(text, c.with), c.re.MatchString(text)
	}
	m := c.re.FindStringSubmatchIndex(text)
	if m == nil {
		return text, false
	}
	return text[:m[0]] + string(c.re.ExpandString(nil, c.with, text, m)) + text[m[1]:], true
}
