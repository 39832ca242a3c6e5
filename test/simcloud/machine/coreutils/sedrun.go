package coreutils

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// sedRun is the state of one run.
type sedRun struct {
	p      *process.Proc
	prog   []*sedCmd
	quiet  bool
	w      *bufio.Writer
	in     []sedLine
	pos    int
	line   int
	pat    string
	ended  bool
	hold   string
	after  []string
	lastRE *regexp.Regexp
	subbed bool
	done   bool
	exit   int
	name   string
}

type sedLine struct {
	text  string
	ended bool
	file  string
}

// files runs the program over the inputs, as one stream unless separate.
func (e *sedRun) files(names []string, separate bool) int {
	status := 0
	var all []sedLine
	for _, n := range names {
		r, done, err := open(e.p, n)
		if err != nil {
			status = 2
			e.p.Errorf("sed: can't read %s: %s\n", n, process.Reason(err))
			continue
		}
		err = lines(r, func(l string, ended bool) bool { all = append(all, sedLine{l, ended, n}); return true })
		done()
		if err != nil {
			status = 2
			e.p.Errorf("sed: read error on %s: %s\n", n, process.Reason(err))
		}
		if separate {
			e.line = 0
			e.stream(all)
			all = nil
		}
	}
	if !separate {
		e.stream(all)
	}
	return status
}

func (e *sedRun) stream(in []sedLine) {
	e.in, e.pos = in, 0
	for !e.done && e.p.Context().Err() == nil && e.next() {
		e.cycle()
	}
}

func (e *sedRun) next() bool {
	if e.pos >= len(e.in) {
		return false
	}
	l := e.in[e.pos]
	e.pat, e.ended, e.name = l.text, l.ended, l.file
	e.pos++
	e.line++
	return true
}

func (e *sedRun) cycle() {
	e.subbed = false
	for {
		again := e.commands()
		if !again {
			break
		}
	}
}

type sedStop int

const (
	sedGo      sedStop = iota
	sedEnd             // end the cycle, print
	sedDelete          // end the cycle, do not print
	sedRestart         // D with text left
	sedBranch
)

func (e *sedRun) commands() (again bool) {
	stop, label := e.run(e.prog, "")
	for stop == sedBranch {
		stop, label = e.run(e.prog, label)
	}
	if stop != sedDelete && stop != sedRestart && !e.quiet {
		e.put(e.pat)
	}
	for _, t := range e.after {
		_, _ = e.w.WriteString(t)
	}
	e.after = nil
	return stop == sedRestart
}

func (e *sedRun) put(t string) {
	_, _ = e.w.WriteString(t)
	if e.ended || e.pos < len(e.in) {
		_ = e.w.WriteByte('\n')
	}
}

// run executes commands; with a label it starts behind it.
func (e *sedRun) run(prog []*sedCmd, label string) (sedStop, string) {
	skip := label != ""
	for _, c := range prog {
		if skip {
			if c.name == ':' && c.text == label {
				skip = false
			} else if c.name == '{' && hasLabel(c.body, label) {
				skip = false
				if st, l := e.run(c.body, label); st != sedGo {
					return st, l
				}
			}
			continue
		}
		if e.selects(c) == c.neg {
			continue
		}
		if st, l := e.exec(c); st != sedGo {
			return st, l
		}
	}
	return sedGo, ""
}

func hasLabel(prog []*sedCmd, label string) bool {
	for _, c := range prog {
		if c.name == ':' && c.text == label || hasLabel(c.body, label) {
			return true
		}
	}
	return false
}

func (e *sedRun) matchAddr(a *sedAddr) bool {
	switch {
	case a.last:
		return e.pos >= len(e.in)
	case a.empty:
		return e.lastRE != nil && e.lastRE.MatchString(e.pat)
	case a.re != nil:
		e.lastRE = a.re
		return a.re.MatchString(e.pat)
	case a.step > 0:
		return e.line >= a.line && (e.line-a.line)%a.step == 0
	}
	return e.line == a.line
}

func (e *sedRun) selects(c *sedCmd) bool {
	switch {
	case c.a1 == nil:
		return true
	case c.a2 == nil:
		return e.matchAddr(c.a1)
	case c.active:
		if c.a2.re != nil || c.a2.empty || c.a2.last {
			c.active = !e.matchAddr(c.a2)
			return true
		}
		c.active = e.line < c.end
		return e.line <= c.end
	}
	zero := c.a1.line == 0 && c.a1.step == 0
	if !e.matchAddr(c.a1) && (!zero || e.line != 1) {
		return false
	}
	switch {
	case c.a2.plus > 0:
		c.end = e.line + c.a2.plus - 1
	case c.a2.mult > 0:
		c.end = (e.line + c.a2.mult - 1) / c.a2.mult * c.a2.mult
	case c.a2.line >= 0:
		c.end = c.a2.line
	default:
		c.active = !zero || !e.matchAddr(c.a2)
		return true
	}
	c.active = c.end > e.line
	return true
}

func (e *sedRun) exec(c *sedCmd) (sedStop, string) {
	switch c.name {
	case '{':
		return e.run(c.body, "")
	case '=':
		_, _ = fmt.Fprintf(e.w, "%d\n", e.line)
	case 'a':
		e.after = append(e.after, c.text)
	case 'i':
		_, _ = e.w.WriteString(c.text)
	case 'c':
		if c.a2 == nil || !c.active || c.neg {
			_, _ = e.w.WriteString(c.text)
		}
		return sedDelete, ""
	case 'b':
		return e.branch(c.text)
	case 't', 'T':
		if e.subbed == (c.name == 't') {
			e.subbed = false
			return e.branch(c.text)
		}
		e.subbed = false
	case 'd':
		return sedDelete, ""
	case 'D':
		_, rest, ok := strings.Cut(e.pat, "\n")
		if !ok {
			return sedDelete, ""
		}
		e.pat = rest
		return sedRestart, ""
	case 'g':
		e.pat = e.hold
	case 'G':
		e.pat += "\n" + e.hold
	case 'h':
		e.hold = e.pat
	case 'H':
		e.hold += "\n" + e.pat
	case 'x':
		e.pat, e.hold = e.hold, e.pat
	case 'z':
		e.pat = ""
	case 'l':
		_, _ = e.w.WriteString(strings.Trim(strconv.Quote(e.pat), `"`) + "$\n")
	case 'F':
		_, _ = e.w.WriteString(e.name + "\n")
	case 'n':
		if e.pos >= len(e.in) {
			return sedEnd, ""
		}
		if !e.quiet {
			e.put(e.pat)
		}
		e.next()
	case 'N':
		if e.pos >= len(e.in) {
			return sedEnd, ""
		}
		old := e.pat
		e.next()
		e.pat = old + "\n" + e.pat
	case 'p':
		e.put(e.pat)
	case 'P':
		first, _, _ := strings.Cut(e.pat, "\n")
		_, _ = e.w.WriteString(first + "\n")
	case 'q', 'Q':
		e.done, e.exit = true, c.code
		if c.name == 'Q' {
			return sedDelete, ""
		}
		return sedEnd, ""
	case 'r':
		if b, err := e.p.ReadFile(c.text); err == nil {
			e.after = append(e.after, string(b))
		}
	case 'w':
		e.writeTo(c.text, e.pat)
	case 's':
		e.substitute(c)
	case 'y':
		e.pat = strings.Map(func(r rune) rune {
			for i, f := range c.from {
				if f == r {
					return c.to[i]
				}
			}
			return r
		}, e.pat)
	}
	return sedGo, ""
}

func (e *sedRun) branch(label string) (sedStop, string) {
	if label == "" {
		return sedEnd, ""
	}
	if !hasLabel(e.prog, label) {
		e.p.Errorf("sed: can't find label for jump to `%s'\n", label)
		e.done, e.exit = true, 1
		return sedDelete, ""
	}
	return sedBranch, label
}

func (e *sedRun) writeTo(name, text string) {
	f, err := e.p.Open(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fs.FileMode(0o666))
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = io.WriteString(f.Writer(e.p.Context()), text+"\n")
}

func (e *sedRun) substitute(c *sedCmd) {
	re := c.re
	if c.empty {
		re = e.lastRE
	}
	if re == nil {
		return
	}
	e.lastRE = re
	all := re.FindAllStringSubmatchIndex(e.pat, -1)
	var b strings.Builder
	last, n, hit := 0, 0, false
	for _, m := range all {
		if n++; n < c.nth {
			continue
		}
		b.WriteString(e.pat[last:m[0]])
		b.WriteString(expandRepl(c.repl, e.pat, m))
		last, hit = m[1], true
		if !c.global {
			break
		}
	}
	if !hit {
		return
	}
	b.WriteString(e.pat[last:])
	e.pat, e.subbed = b.String(), true
	if c.print {
		e.put(e.pat)
	}
	if c.text != "" {
		e.writeTo(c.text, e.pat)
	}
}

func expandRepl(parts []replPart, src string, m []int) string {
	var b strings.Builder
	var mode, once byte
	put := func(t string) {
		switch mode {
		case 'U':
			t = strings.ToUpper(t)
		case 'L':
			t = strings.ToLower(t)
		}
		if once != 0 && t != "" {
			if once == 'u' {
				t = strings.ToUpper(t[:1]) + t[1:]
			} else {
				t = strings.ToLower(t[:1]) + t[1:]
			}
			once = 0
		}
		b.WriteString(t)
	}
	for _, p := range parts {
		switch {
		case p.mode == 'l' || p.mode == 'u':
			once = p.mode
		case p.mode != 0:
			mode = p.mode
		case p.n >= 0:
			if m[2*p.n] >= 0 {
				put(src[m[2*p.n]:m[2*p.n+1]])
			}
		default:
			put(p.text)
		}
	}
	return b.String()
}
