package coreutils

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func grep(_ context.Context, p *process.Proc) int {
	p.Args = contextCount(p.Args)
	f, ok := options(p, false, "cEFGPivonlLwxe:f:rRshHm:A:B:C:qaUzI", "count=c", "extended-regexp=E", "fixed-strings=F", "perl-regexp=P",
		"ignore-case=i", "invert-match=v", "only-matching=o", "line-number=n", "files-with-matches=l", "files-without-match=L",
		"word-regexp=w", "line-regexp=x", "regexp:=e", "file:=f", "recursive=r", "no-messages=s", "no-filename=h", "with-filename=H",
		"max-count:=m", "after-context:=A", "before-context:=B", "context:=C", "quiet=q", "silent=q", "text=a", "color?=color",
		"include:=include", "exclude:=exclude", "line-buffered=U", "basic-regexp=G", "binary-files:=bin", "exclude-dir:=xdir")
	if !ok {
		return 2
	}
	pats := append([]string{}, f.vals["e"]...)
	for _, n := range f.vals["f"] {
		in, st := slurp(p, []string{n})
		if st != 0 {
			return 2
		}
		pats = append(pats, in...)
	}
	if !f.has("e") && !f.has("f") {
		if len(f.args) == 0 {
			p.Errorf("Usage: grep [OPTION]... PATTERNS [FILE]...\n")
			return 2
		}
		pats = strings.Split(f.args[0], "\n")
		f.args = f.args[1:]
	}
	g := &grepper{f: f, w: output(p), prefix: len(f.args) > 1}
	for _, t := range pats {
		re, err := grepPattern(t, p.Name(), f)
		if err != nil {
			p.Errorf("grep: %v\n", err)
			return 2
		}
		g.res = append(g.res, re)
	}
	names := f.args
	if f.has("r") || f.has("R") {
		g.prefix = true
		if len(names) == 0 {
			names = []string{"."}
		}
		names = grepTree(p, names, f)
	}
	if f.has("H") {
		g.prefix = true
	}
	if f.has("h") {
		g.prefix = false
	}
	status := 0
	if f.has("s") {
		for _, n := range names {
			if r, done, err := open(p, n); err == nil {
				_ = g.one(n, r)
				done()
			} else {
				status = 2
			}
		}
	} else if each(p, names, g.one) != 0 {
		status = 2
	}
	if flush(g.w, 0) != 0 {
		return 2
	}
	switch {
	case g.any && (status == 0 || f.has("q")):
		return 0
	case status != 0:
		return 2
	}
	return 1
}

// contextCount turns -3 into -C3.
func contextCount(args []string) []string {
	out := append([]string{}, args...)
	for i, a := range out {
		if i > 0 && len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "0123456789") == "" {
			out[i] = "-C" + a[1:]
		}
	}
	return out
}

func grepPattern(t, name string, f *flags) (*regexp.Regexp, error) {
	wrap := func(x string) string {
		if f.has("x") {
			return "^(?:" + x + ")$"
		}
		if f.has("w") {
			return `\b(?:` + x + `)\b`
		}
		return x
	}
	var src string
	switch {
	case f.has("F") || name == "fgrep":
		src = regexp.QuoteMeta(t)
	case f.has("P"):
		src = t
	default:
		re, err := compile(t, f.has("E") || name == "egrep", false)
		if err != nil {
			return nil, err
		}
		src = re.String()
	}
	if f.has("i") {
		src = "(?i)" + wrap(src)
	} else {
		src = wrap(src)
	}
	re, err := regexp.Compile(src)
	if err == nil && !f.has("P") {
		re.Longest()
	}
	return re, err
}

func grepTree(p *process.Proc, roots []string, f *flags) []string {
	var out []string
	var walk func(name string)
	walk = func(name string) {
		i, err := p.FS().Stat(p.Abs(name))
		if err != nil {
			return
		}
		if !i.IsDir() {
			base := path.Base(name)
			for _, inc := range f.vals["include"] {
				if ok, _ := path.Match(inc, base); !ok {
					return
				}
			}
			for _, exc := range f.vals["exclude"] {
				if ok, _ := path.Match(exc, base); ok {
					return
				}
			}
			out = append(out, name)
			return
		}
		l, _ := p.FS().ReadDir(p.Abs(name))
		for _, e := range l {
			walk(strings.TrimSuffix(name, "/") + "/" + e.Name())
		}
	}
	for _, r := range roots {
		walk(r)
	}
	return out
}

type grepper struct {
	f      *flags
	res    []*regexp.Regexp
	w      *bufio.Writer
	prefix bool
	any    bool
}

func (g *grepper) matches(l string) bool {
	hit := false
	for _, re := range g.res {
		if re.MatchString(l) {
			hit = true
			break
		}
	}
	return hit != g.f.has("v")
}

func (g *grepper) one(name string, r io.Reader) error {
	f := g.f
	if g.any && f.has("q") {
		return nil
	}
	label := name
	if name == "-" {
		label = "(standard input)"
	}
	before, after := f.num("B", f.num("C", 0)), f.num("A", f.num("C", 0))
	limit := f.num("m", -1)
	var held []string
	count, n, left, lastOut := 0, 0, 0, 0
	put := func(no int, sep, l string) {
		if (before > 0 || after > 0) && lastOut > 0 && no > lastOut+1 {
			_, _ = g.w.WriteString("--\n")
		}
		lastOut = no
		if g.prefix {
			_, _ = g.w.WriteString(label + sep)
		}
		if f.has("n") {
			_, _ = fmt.Fprintf(g.w, "%d%s", no, sep)
		}
		_, _ = g.w.WriteString(l + "\n")
	}
	show := !f.has("c") && !f.has("q") && !f.has("l") && !f.has("L")
	err := lines(r, func(l string, _ bool) bool {
		n++
		if !g.matches(l) {
			if left > 0 && show {
				put(n, "-", l)
				left--
			} else if before > 0 {
				held = append(held, l)
				if len(held) > before {
					held = held[1:]
				}
			}
			return limit < 0 || count < limit || left > 0
		}
		if limit >= 0 && count >= limit {
			return left > 0
		}
		count++
		if f.has("q") || f.has("l") || f.has("L") {
			return false
		}
		if !show {
			return true
		}
		if f.has("o") {
			if !f.has("v") {
				for _, m := range g.all(l) {
					put(n, ":", m)
				}
			}
			return limit < 0 || count < limit
		}
		for i, h := range held {
			put(n-len(held)+i, "-", h)
		}
		held = nil
		put(n, ":", l)
		left = after
		return limit < 0 || count < limit || left > 0
	})
	g.any = g.any || count > 0 && !f.has("L") || f.has("L") && count == 0
	if f.has("c") {
		if g.prefix {
			_, _ = g.w.WriteString(label + ":")
		}
		_, _ = fmt.Fprintf(g.w, "%d\n", count)
	}
	if f.has("l") && count > 0 || f.has("L") && count == 0 {
		_, _ = g.w.WriteString(label + "\n")
	}
	return err
}

// all is every non-empty match in order of position.
func (g *grepper) all(l string) []string {
	var out []string
	for pos := 0; pos <= len(l); {
		best := []int(nil)
		for _, re := range g.res {
			if m := re.FindStringIndex(l[pos:]); m != nil && (best == nil || m[0] < best[0] || m[0] == best[0] && m[1] > best[1]) {
				best = m
			}
		}
		if best == nil {
			break
		}
		if best[1] > best[0] {
			out = append(out, l[pos+best[0]:pos+best[1]])
		}
		pos += max(best[1], best[0]+1)
	}
	return out
}
