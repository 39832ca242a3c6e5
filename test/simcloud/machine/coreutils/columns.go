package coreutils

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// ranges parses a list of cut: 1,3-5,7-.
func ranges(t string) ([][2]int, bool) {
	var out [][2]int
	for part := range strings.SplitSeq(t, ",") {
		a, b, dash := strings.Cut(part, "-")
		lo, hi := 1, 1<<30
		var err error
		if a != "" {
			if lo, err = strconv.Atoi(a); err != nil || lo < 1 {
				return nil, false
			}
		}
		if !dash {
			hi = lo
		} else if b != "" {
			if hi, err = strconv.Atoi(b); err != nil {
				return nil, false
			}
		}
		out = append(out, [2]int{lo, hi})
	}
	return out, len(out) > 0
}

func cut(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "d:f:c:b:sz", "delimiter:=d", "fields:=f", "characters:=c", "bytes:=b", "only-delimited=s", "complement=C",
		"output-delimiter:=o")
	if !ok {
		return 1
	}
	spec := f.val("f") + f.val("c") + f.val("b")
	rs, good := ranges(spec)
	if !good {
		return p.Errorf("cut: you must specify a list of bytes, characters, or fields\n")
	}
	in := func(i int) bool {
		hit := slices.ContainsFunc(rs, func(r [2]int) bool { return i >= r[0] && i <= r[1] })
		return hit != f.has("C")
	}
	delim := "\t"
	if f.has("d") {
		delim = f.val("d")
	}
	odelim := delim
	if f.has("o") {
		odelim = f.val("o")
	}
	w := output(p)
	st := each(p, f.args, func(_ string, r io.Reader) error {
		return lines(r, func(l string, _ bool) bool {
			if !f.has("f") {
				for i, c := range []rune(l) {
					if in(i + 1) {
						_, _ = w.WriteRune(c)
					}
				}
				_ = w.WriteByte('\n')
				return true
			}
			if !strings.Contains(l, delim) {
				if !f.has("s") {
					_, _ = w.WriteString(l + "\n")
				}
				return true
			}
			var keep []string
			for i, part := range strings.Split(l, delim) {
				if in(i + 1) {
					keep = append(keep, part)
				}
			}
			_, _ = w.WriteString(strings.Join(keep, odelim) + "\n")
			return true
		})
	})
	return flush(w, st)
}

func rev(_ context.Context, p *process.Proc) int {
	in, st := slurp(p, p.Args[1:])
	w := output(p)
	for _, l := range in {
		r := []rune(l)
		slices.Reverse(r)
		_, _ = w.WriteString(string(r) + "\n")
	}
	return flush(w, st)
}

func tac(_ context.Context, p *process.Proc) int {
	in, st := slurp(p, p.Args[1:])
	w := output(p)
	for _, l := range slices.Backward(in) {
		_, _ = w.WriteString(l + "\n")
	}
	return flush(w, st)
}

func nl(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "b:w:s:", "body-numbering:=b")
	if !ok {
		return 1
	}
	in, st := slurp(p, f.args)
	w, n := output(p), 0
	for _, l := range in {
		if l == "" && f.val("b") != "a" {
			_, _ = w.WriteString("       \n")
			continue
		}
		n++
		_, _ = fmt.Fprintf(w, "%6d\t%s\n", n, l)
	}
	return flush(w, st)
}

func paste(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "d:s", "delimiters:=d", "serial=s")
	if !ok {
		return 1
	}
	d := "\t"
	if f.has("d") {
		d = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "").Replace(f.val("d"))
	}
	names := f.args
	if len(names) == 0 {
		names = []string{"-"}
	}
	w, st := output(p), 0
	if f.has("s") {
		for _, n := range names {
			in, s := slurp(p, []string{n})
			st = max(st, s)
			_, _ = w.WriteString(strings.Join(in, d) + "\n")
		}
		return flush(w, st)
	}
	var cols [][]string
	if dashes := len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != "-" })); dashes == len(names) {
		in, s := slurp(p, nil)
		st, cols = s, make([][]string, dashes)
		for i, l := range in {
			cols[i%dashes] = append(cols[i%dashes], l)
		}
	} else {
		for _, n := range names {
			in, s := slurp(p, []string{n})
			st, cols = max(st, s), append(cols, in)
		}
	}
	for i := 0; ; i++ {
		row, any := make([]string, len(cols)), false
		for j, c := range cols {
			if i < len(c) {
				row[j], any = c[i], true
			}
		}
		if !any {
			return flush(w, st)
		}
		_, _ = w.WriteString(strings.Join(row, d) + "\n")
	}
}

func fold(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "w:sb", "width:=w")
	if !ok {
		return 1
	}
	n := max(f.num("w", 80), 1)
	in, st := slurp(p, f.args)
	w := output(p)
	for _, l := range in {
		for len(l) > n {
			_, _ = w.WriteString(l[:n] + "\n")
			l = l[n:]
		}
		_, _ = w.WriteString(l + "\n")
	}
	return flush(w, st)
}

func column(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "ts:o:c:", "table=t")
	if !ok {
		return 1
	}
	in, st := slurp(p, f.args)
	w := output(p)
	defer w.Flush() //nolint:errcheck // the status is decided already
	if !f.has("t") {
		for _, l := range in {
			_, _ = w.WriteString(l + "\n")
		}
		return st
	}
	var rows [][]string
	var width []int
	for _, l := range in {
		row := strings.Fields(l)
		if f.has("s") {
			row = strings.Split(l, f.val("s"))
		}
		for i, c := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], len(c))
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		for i, c := range row {
			if i == len(row)-1 {
				_, _ = w.WriteString(c + "\n")
			} else {
				_, _ = fmt.Fprintf(w, "%-*s  ", width[i], c)
			}
		}
	}
	return st
}

func comm(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "123")
	if !ok || len(f.args) != 2 {
		return 1
	}
	a, s1 := slurp(p, f.args[:1])
	b, s2 := slurp(p, f.args[1:])
	w := output(p)
	put := func(col int, l string) {
		if f.has(strconv.Itoa(col)) {
			return
		}
		for i := 1; i < col; i++ {
			if !f.has(strconv.Itoa(i)) {
				_ = w.WriteByte('\t')
			}
		}
		_, _ = w.WriteString(l + "\n")
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			put(1, a[0])
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			put(2, b[0])
			b = b[1:]
		default:
			put(3, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return flush(w, max(s1, s2))
}

func joinFiles(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "t:")
	if !ok || len(f.args) != 2 {
		return 1
	}
	split := strings.Fields
	sep := " "
	if f.has("t") {
		sep = f.val("t")
		split = func(l string) []string { return strings.Split(l, sep) }
	}
	a, s1 := slurp(p, f.args[:1])
	b, s2 := slurp(p, f.args[1:])
	w := output(p)
	for _, x := range a {
		for _, y := range b {
			if fx, fy := split(x), split(y); len(fx) > 0 && len(fy) > 0 && fx[0] == fy[0] {
				_, _ = w.WriteString(strings.Join(append(fx, fy[1:]...), sep) + "\n")
			}
		}
	}
	return flush(w, max(s1, s2))
}
