package coreutils

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func sed(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "nErsuze:f:i::l:", "quiet=n", "silent=n", "regexp-extended=E", "expression:=e", "file:=f", "in-place?=i",
		"separate=s", "unbuffered=u", "null-data=z", "posix=posix", "follow-symlinks=fs", "debug=debug")
	if !ok {
		return 1
	}
	src := strings.Join(f.vals["e"], "\n")
	for _, n := range f.vals["f"] {
		b, err := readAll(p, n)
		if err != nil {
			return fail(p, n, err)
		}
		if src != "" {
			src += "\n"
		}
		src += strings.TrimSuffix(string(b), "\n")
	}
	if !f.has("e") && !f.has("f") {
		if len(f.args) == 0 {
			return p.Errorf("Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...\n")
		}
		src, f.args = f.args[0], f.args[1:]
	}
	sp := &sedParser{src: src, ext: f.has("E") || f.has("r")}
	prog, err := sp.block(false)
	if err != nil {
		return p.Errorf("sed: -e expression #1, char %d: %v\n", sp.i, err)
	}
	e := &sedRun{p: p, prog: prog, quiet: f.has("n") || sp.quiet, w: output(p)}
	if !f.has("i") {
		names := f.args
		if len(names) == 0 {
			names = []string{"-"}
		}
		status := e.files(names, f.has("s"))
		return flush(e.w, max(status, e.exit))
	}
	status := 0
	for _, n := range f.args {
		st, err := p.FS().Stat(p.Abs(n))
		if err != nil {
			status = p.Errorf("sed: can't read %s: %s\n", n, process.Reason(err))
			continue
		}
		if !st.Mode().IsRegular() {
			status = p.Errorf("sed: couldn't edit %s: not a regular file\n", n)
			continue
		}
		var buf bytes.Buffer
		e.w, e.line, e.done = bufio.NewWriter(&buf), 0, false
		status = max(status, e.files([]string{n}, true))
		_ = e.w.Flush()
		if suffix := f.val("i"); suffix != "" {
			old, _ := p.ReadFile(n)
			_ = p.WriteFile(n+suffix, old, st.Mode().Perm())
		}
		// sed -i makes a new file beside the old one and renames it: the directory must be writable.
		tmp := path.Join(path.Dir(p.Abs(n)), "sed"+strconv.Itoa(p.PID))
		if err := p.FS().WriteFile(tmp, buf.Bytes(), st.Mode().Perm()); err != nil {
			p.Errorf("sed: couldn't open temporary file %s: %s\n", tmp, process.Reason(err))
			return 4
		}
		_ = p.FS().Chown(tmp, int(st.Uid()), int(st.Gid()))
		if err := p.FS().Rename(tmp, p.Abs(n)); err != nil {
			return fail(p, n, err)
		}
	}
	return max(status, e.exit)
}

// sedAddr is one address.
type sedAddr struct {
	line, step int
	last       bool
	plus, mult int // addr2 forms +N and ~N
	re         *regexp.Regexp
	empty      bool // the empty expression: the last one used
}

// sedCmd is one command with its addresses.
type sedCmd struct {
	a1, a2   *sedAddr
	neg      bool
	name     byte
	text     string // a i c, labels, file names
	re       *regexp.Regexp
	empty    bool
	repl     []replPart
	global   bool
	print    bool
	nth      int
	from, to []rune
	body     []*sedCmd
	code     int
	active   bool
	end      int
}

// replPart is a piece of a replacement: text, a group (n ≥ 0), or a case switch.
type replPart struct {
	text string
	n    int
	mode byte
}

type sedParser struct {
	src   string
	i     int
	ext   bool
	quiet bool
}

func (s *sedParser) space() {
	for s.i < len(s.src) && (s.src[s.i] == ' ' || s.src[s.i] == '\t') {
		s.i++
	}
}

func (s *sedParser) peek() byte {
	if s.i < len(s.src) {
		return s.src[s.i]
	}
	return 0
}

// block parses commands up to } or the end.
func (s *sedParser) block(inner bool) ([]*sedCmd, error) {
	var out []*sedCmd
	for {
		for s.i < len(s.src) && strings.IndexByte(" \t\n;", s.src[s.i]) >= 0 {
			s.i++
		}
		switch {
		case s.i >= len(s.src):
			if inner {
				return nil, errors.New("unmatched `{'")
			}
			return out, nil
		case s.peek() == '}':
			if !inner {
				return nil, errors.New("unexpected `}'")
			}
			s.i++
			return out, nil
		case s.peek() == '#':
			if s.i == 0 && strings.HasPrefix(s.src, "#n\n") {
				s.quiet = true
			}
			for s.i < len(s.src) && s.src[s.i] != '\n' {
				s.i++
			}
			continue
		}
		c, err := s.command()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
}

func (s *sedParser) number() (int, bool) {
	j := s.i
	for j < len(s.src) && s.src[j] >= '0' && s.src[j] <= '9' {
		j++
	}
	n, err := strconv.Atoi(s.src[s.i:j])
	s.i = j
	return n, err == nil
}

func (s *sedParser) addr(second bool) (*sedAddr, error) {
	a := &sedAddr{line: -1}
	switch c := s.peek(); {
	case c == '$':
		s.i++
		a.last = true
	case c >= '0' && c <= '9':
		a.line, _ = s.number()
		if s.peek() == '~' {
			s.i++
			a.step, _ = s.number()
		}
	case second && (c == '+' || c == '~'):
		s.i++
		n, ok := s.number()
		if !ok {
			return nil, errors.New("expected number")
		}
		if c == '+' {
			a.plus = n + 1
		} else {
			a.mult = n
		}
	case c == '/' || c == '\\':
		if c == '\\' {
			s.i++
		}
		d := s.peek()
		s.i++
		pat, err := s.until(d, true)
		if err != nil {
			return nil, errors.New("unterminated address regex")
		}
		fold := false
		for s.peek() == 'I' || s.peek() == 'M' {
			fold = fold || s.peek() == 'I'
			s.i++
		}
		if pat == "" {
			a.empty = true
			return a, nil
		}
		if a.re, err = compile(pat, s.ext, fold); err != nil {
			return nil, err
		}
	default:
		return nil, nil //nolint:nilnil // no address is a valid answer
	}
	return a, nil
}

// until reads up to an unescaped delimiter; an escaped one loses its backslash.
func (s *sedParser) until(d byte, regex bool) (string, error) {
	var b strings.Builder
	for s.i < len(s.src) {
		c := s.src[s.i]
		switch {
		case c == '\\' && s.i+1 < len(s.src):
			if s.src[s.i+1] != d {
				b.WriteByte(c)
			}
			b.WriteByte(s.src[s.i+1])
			s.i += 2
			continue
		case regex && c == '[' && d != '[':
			if end := bracketEnd(s.src, s.i); end > 0 {
				b.WriteString(s.src[s.i : end+1])
				s.i = end + 1
				continue
			}
		case c == d:
			s.i++
			return b.String(), nil
		}
		b.WriteByte(c)
		s.i++
	}
	return "", errors.New("unterminated")
}

func (s *sedParser) command() (*sedCmd, error) {
	c := &sedCmd{}
	var err error
	if c.a1, err = s.addr(false); err != nil {
		return nil, err
	}
	s.space()
	if c.a1 != nil && s.peek() == ',' {
		s.i++
		s.space()
		if c.a2, err = s.addr(true); err != nil {
			return nil, err
		}
		if c.a2 == nil {
			return nil, errors.New("unexpected `,'")
		}
	}
	s.space()
	for s.peek() == '!' {
		c.neg = true
		s.i++
		s.space()
	}
	if s.i >= len(s.src) {
		return nil, errors.New("missing command")
	}
	c.name = s.src[s.i]
	s.i++
	switch c.name {
	case '{':
		c.body, err = s.block(true)
		return c, err
	case 's':
		return c, s.subst(c)
	case 'y':
		return c, s.transliterate(c)
	case 'a', 'i', 'c':
		c.text = s.appended()
		return c, nil
	case ':', 'b', 't', 'T', 'r', 'R', 'w', 'W':
		s.space()
		j := s.i
		stops := "\n;}"
		if strings.IndexByte("rRwW", c.name) >= 0 {
			stops = "\n"
		} else if c.name == ':' {
			stops = "\n;"
		}
		for j < len(s.src) && strings.IndexByte(stops, s.src[j]) < 0 {
			j++
		}
		c.text = strings.TrimSpace(s.src[s.i:j])
		s.i = j
	case 'q', 'Q', 'l', 'L':
		s.space()
		c.code, _ = s.number()
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
	default:
		return nil, fmt.Errorf("unknown command: `%c'", c.name)
	}
	s.space()
	if s.i < len(s.src) && strings.IndexByte("\n;}#", s.src[s.i]) < 0 {
		return nil, errors.New("extra characters after command")
	}
	return c, nil
}

// appended is the text of a, i and c in the one-line or the backslash form.
func (s *sedParser) appended() string {
	s.space()
	if s.peek() == '\\' {
		j := s.i + 1
		for j < len(s.src) && (s.src[j] == ' ' || s.src[j] == '\t') {
			j++
		}
		if j < len(s.src) && s.src[j] == '\n' {
			s.i = j + 1
		} else {
			s.i++ // a\text keeps leading blanks
		}
	}
	var b strings.Builder
	for s.i < len(s.src) && s.src[s.i] != '\n' {
		if s.src[s.i] == '\\' && s.i+1 < len(s.src) {
			s.i++
			if s.src[s.i] == 't' {
				b.WriteByte('\t')
				s.i++
				continue
			}
		}
		b.WriteByte(s.src[s.i])
		s.i++
	}
	return b.String() + "\n"
}

func (s *sedParser) subst(c *sedCmd) error {
	d := s.peek()
	s.i++
	pat, err := s.until(d, true)
	if err != nil {
		return errors.New("unterminated `s' command")
	}
	rep, err := s.until(d, false)
	if err != nil {
		return errors.New("unterminated `s' command")
	}
	c.nth = 1
	fold := false
	for done := false; !done; {
		switch f := s.peek(); {
		case f == 'g':
			c.global = true
		case f == 'p':
			c.print = true
		case f == 'i' || f == 'I':
			fold = true
		case f == 'm' || f == 'M':
		case f >= '1' && f <= '9':
			c.nth, _ = s.number()
			continue
		case f == 'w':
			s.i++
			s.space()
			j := strings.IndexByte(s.src[s.i:], '\n')
			if j < 0 {
				j = len(s.src) - s.i
			}
			c.text = s.src[s.i : s.i+j]
			s.i += j
			continue
		case f == 'e':
			return errors.New("the e flag is not simulated")
		default:
			done = true
			continue
		}
		s.i++
	}
	s.space()
	if s.i < len(s.src) && strings.IndexByte("\n;}#", s.src[s.i]) < 0 {
		return errors.New("unknown option to `s'")
	}
	if pat == "" {
		c.empty = true
	} else if c.re, err = compile(pat, s.ext, fold); err != nil {
		return err
	}
	c.repl = replacement(rep)
	if c.re != nil {
		for _, r := range c.repl {
			if r.n > c.re.NumSubexp() {
				return fmt.Errorf("invalid reference \\%d on `s' command's RHS", r.n)
			}
		}
	}
	return nil
}

func replacement(t string) []replPart {
	var out []replPart
	var b strings.Builder
	put := func() {
		if b.Len() > 0 {
			out = append(out, replPart{text: b.String(), n: -1})
			b.Reset()
		}
	}
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c == '&':
			put()
			out = append(out, replPart{n: 0})
		case c == '\\' && i+1 < len(t):
			i++
			switch e := t[i]; {
			case e >= '0' && e <= '9':
				put()
				out = append(out, replPart{n: int(e - '0')})
			case e == 'n':
				b.WriteByte('\n')
			case e == 't':
				b.WriteByte('\t')
			case e == 'r':
				b.WriteByte('\r')
			case strings.IndexByte("LUElu", e) >= 0:
				put()
				out = append(out, replPart{n: -1, mode: e})
			default:
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	put()
	return out
}

func (s *sedParser) transliterate(c *sedCmd) error {
	d := s.peek()
	s.i++
	a, err := s.until(d, false)
	if err != nil {
		return errors.New("unterminated `y' command")
	}
	b, err := s.until(d, false)
	if err != nil {
		return errors.New("unterminated `y' command")
	}
	un := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
	c.from, c.to = []rune(un.Replace(a)), []rune(un.Replace(b))
	if len(c.from) != len(c.to) {
		return errors.New("strings for `y' command are different lengths")
	}
	return nil
}
