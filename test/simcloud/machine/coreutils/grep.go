package coreutils

import (
	"context"
	"io"
	"path"
	"regexp"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func grep(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "cEFivoqxahr", "extended-regexp=E", "fixed-strings=F", "ignore-case=i", "invert-match=v",
		"only-matching=o",
		"line-regexp=x", "quiet=q", "text=a", "no-filename=h", "count=c", "recursive=r")
	if !ok {
		return 2
	}
	if len(f.Args) == 0 {
		p.Errorf("Usage: grep [OPTION]... PATTERNS [FILE]...\n")
		return 2
	}
	pattern, names := f.Args[0], f.Args[1:]
	if f.Has("F") {
		pattern = regexp.QuoteMeta(pattern)
	}
	if f.Has("x") {
		pattern = "^" + pattern + "$"
	}
	re, err := compile(pattern, f.Has("E") || f.Has("F"), f.Has("i"))
	if err != nil {
		p.Errorf("grep: %v\n", err)
		return 2
	}
	if f.Has("r") {
		names = below(p, names)
	}
	prefix := (len(names) > 1 || f.Has("r")) && !f.Has("h")
	w, found := output(p), 0
	status := each(p, names, func(name string, r io.Reader) error {
		return lines(r, func(l string, _ bool) bool {
			if re.MatchString(l) == f.Has("v") {
				return true
			}
			found++
			if f.Has("q") || f.Has("c") {
				return !f.Has("q")
			}
			hits := []string{l}
			if f.Has("o") {
				hits = re.FindAllString(l, -1)
			}
			for _, h := range hits {
				if prefix {
					_, _ = w.WriteString(name + ":")
				}
				_, _ = w.WriteString(h + "\n")
			}
			return true
		})
	})
	if f.Has("c") {
		p.Printf("%d\n", found)
	}
	switch {
	case flush(w, 0) != 0, status != 0 && (found == 0 || !f.Has("q")):
		return 2
	case found == 0:
		return 1
	}
	return 0
}

// below lists the files in directories, to any depth.
func below(p *process.Proc, names []string) (out []string) {
	for _, n := range names {
		list, err := p.FS().ReadDir(p.Abs(n))
		if err != nil {
			out = append(out, n)
		}
		for _, e := range list {
			out = append(out, below(p, []string{path.Join(n, e.Name())})...)
		}
	}
	return out
}
