package coreutils

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// sortKey is one -k of sort.
type sortKey struct {
	from, fromCh, to, toCh int
	mods                   string
}

func parseKey(t string) (k sortKey, ok bool) {
	pos := func(t string) (field, char int, mods string, ok bool) {
		i := strings.IndexFunc(t, func(r rune) bool { return r < '0' || r > '9' })
		if i < 0 {
			i = len(t)
		}
		if field, ok = atoi(t[:i]); !ok {
			return field, char, mods, ok
		}
		if t = t[i:]; strings.HasPrefix(t, ".") {
			j := 1
			for j < len(t) && t[j] >= '0' && t[j] <= '9' {
				j++
			}
			char, _ = atoi(t[1:j])
			t = t[j:]
		}
		return field, char, t, true
	}
	a, b, two := strings.Cut(t, ",")
	if k.from, k.fromCh, k.mods, ok = pos(a); !ok {
		return k, false
	}
	if two {
		var m string
		if k.to, k.toCh, m, ok = pos(b); !ok {
			return k, false
		}
		k.mods += m
	}
	return k, true
}

func atoi(t string) (int, bool) {
	n, err := strconv.Atoi(t)
	return n, err == nil
}

func sortLines(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "nrufk:t:o:VbdihcgsRz", "numeric-sort=n", "reverse=r", "unique=u", "key:=k", "field-separator:=t", "output:=o",
		"version-sort=V", "human-numeric-sort=h", "ignore-case=f", "stable=s", "check=c")
	if !ok {
		return 2
	}
	var keys []sortKey
	for _, t := range f.vals["k"] {
		k, ok := parseKey(t)
		if !ok {
			p.Errorf("sort: invalid number at field start: invalid count at start of ‘%s’\n", t)
			return 2
		}
		keys = append(keys, k)
	}
	global := f.given("nVhfgbr")
	in, st := slurp(p, f.args)
	compare := func(a, b string) int {
		if len(keys) == 0 {
			return compareAs(a, b, global)
		}
		for _, k := range keys {
			mods := k.mods
			if strings.Trim(mods, "b") == "" {
				mods = global
			}
			if c := compareAs(keyOf(a, k, f.val("t")), keyOf(b, k, f.val("t")), mods); c != 0 {
				return c
			}
		}
		return 0
	}
	if f.has("c") {
		if !slices.IsSortedFunc(in, compare) {
			return p.Errorf("sort: -:1: disorder\n")
		}
		return 0
	}
	slices.SortStableFunc(in, func(a, b string) int {
		c := compare(a, b)
		if c == 0 && !f.has("s") && !f.has("u") {
			// The last resort compares whole lines.
			if c = strings.Compare(a, b); f.has("r") {
				c = -c
			}
		}
		return c
	})
	if f.has("u") {
		in = slices.CompactFunc(in, func(a, b string) bool { return compare(a, b) == 0 })
	}
	var b strings.Builder
	for _, l := range in {
		b.WriteString(l + "\n")
	}
	if o := f.val("o"); o != "" {
		if err := p.WriteFile(o, []byte(b.String()), 0o666); err != nil {
			fail(p, o, err)
			return 2
		}
		return st
	}
	_, _ = io.WriteString(p.Out(), b.String())
	if st != 0 {
		return 2
	}
	return 0
}

func keyOf(l string, k sortKey, sep string) string {
	var fields []string
	if sep != "" {
		fields = strings.Split(l, sep)
	} else {
		fields = strings.Fields(l)
	}
	if k.from > len(fields) {
		return ""
	}
	to := len(fields)
	if k.to > 0 {
		to = min(k.to, to)
	}
	if to < k.from {
		return ""
	}
	join := sep
	if join == "" {
		join = " "
	}
	part := slices.Clone(fields[k.from-1 : to])
	if k.to > 0 && k.toCh > 0 && len(part) > 0 {
		last := part[len(part)-1]
		part[len(part)-1] = last[:min(k.toCh, len(last))]
	}
	out := strings.Join(part, join)
	if k.fromCh > 1 {
		out = out[min(k.fromCh-1, len(out)):]
	}
	return out
}

func compareAs(a, b, mods string) int {
	var c int
	switch {
	case strings.ContainsAny(mods, "ng"):
		c = cmp.Compare(leadingNumber(a), leadingNumber(b))
	case strings.Contains(mods, "h"):
		c = cmp.Compare(humanNumber(a), humanNumber(b))
	case strings.Contains(mods, "V"):
		c = compareVersion(a, b)
	case strings.Contains(mods, "f"):
		c = strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	default:
		if strings.Contains(mods, "b") {
			a, b = strings.TrimLeft(a, " \t"), strings.TrimLeft(b, " \t")
		}
		c = strings.Compare(a, b)
	}
	if strings.Contains(mods, "r") {
		c = -c
	}
	return c
}

func leadingNumber(t string) float64 {
	t = strings.TrimLeft(t, " \t")
	i := 0
	for i < len(t) && (t[i] >= '0' && t[i] <= '9' || t[i] == '.' || i == 0 && t[i] == '-') {
		i++
	}
	v, _ := strconv.ParseFloat(t[:i], 64)
	return v
}

func humanNumber(t string) float64 {
	v := leadingNumber(t)
	for i, u := range "KMGTP" {
		if strings.ContainsRune(t, u) {
			for range i + 1 {
				v *= 1024
			}
		}
	}
	return v
}

// compareVersion orders 1.9 before 1.10.
func compareVersion(a, b string) int {
	digits := func(t string) (string, string) {
		i := 0
		for i < len(t) && t[i] >= '0' && t[i] <= '9' {
			i++
		}
		return t[:i], t[i:]
	}
	for a != "" && b != "" {
		da, ra := digits(a)
		db, rb := digits(b)
		if da != "" && db != "" {
			na, nb := strings.TrimLeft(da, "0"), strings.TrimLeft(db, "0")
			if c := cmp.Or(cmp.Compare(len(na), len(nb)), strings.Compare(na, nb)); c != 0 {
				return c
			}
			a, b = ra, rb
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

var classes = map[string]string{
	"upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "lower": "abcdefghijklmnopqrstuvwxyz", "digit": "0123456789", "space": "\t\n\v\f\r ",
	"blank": "\t ", "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "xdigit": "0123456789ABCDEFabcdef",
}

// set expands a set of tr.
func trSet(t string) []rune {
	var out []rune
	for len(t) > 0 {
		if strings.HasPrefix(t, "[:") {
			if end := strings.Index(t, ":]"); end > 0 {
				switch name := t[2:end]; name {
				case "alpha":
					out = append(out, []rune(classes["upper"]+classes["lower"])...)
				case "alnum":
					out = append(out, []rune(classes["digit"]+classes["upper"]+classes["lower"])...)
				case "cntrl":
					for r := range rune(32) {
						out = append(out, r)
					}
				case "print", "graph":
					for r := rune(33); r < 127; r++ {
						out = append(out, r)
					}
					if name == "print" {
						out = append(out, ' ')
					}
				default:
					out = append(out, []rune(classes[name])...)
				}
				t = t[end+2:]
				continue
			}
		}
		r, n := trChar(t)
		t = t[n:]
		if len(t) > 1 && t[0] == '-' {
			hi, m := trChar(t[1:])
			for c := r; c <= hi; c++ {
				out = append(out, c)
			}
			t = t[1+m:]
			continue
		}
		out = append(out, r)
	}
	return out
}

func trChar(t string) (rune, int) {
	if t[0] == '\\' && len(t) > 1 {
		switch t[1] {
		case 'n':
			return '\n', 2
		case 't':
			return '\t', 2
		case 'r':
			return '\r', 2
		case 'v':
			return '\v', 2
		case 'f':
			return '\f', 2
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i := 1
			for i < len(t) && i < 4 && t[i] >= '0' && t[i] <= '7' {
				i++
			}
			v, _ := strconv.ParseUint(t[1:i], 8, 32)
			return rune(v), i
		}
		return rune(t[1]), 2
	}
	r := []rune(t)[0]
	return r, len(string(r))
}

func tr(_ context.Context, p *process.Proc) int {
	f, ok := options(p, true, "cCdst", "delete=d", "squeeze-repeats=s", "complement=c", "truncate-set1=t")
	if !ok || len(f.args) == 0 {
		return 1
	}
	if !f.has("d") && !f.has("s") && len(f.args) < 2 {
		return p.Errorf("tr: missing operand after ‘%s’\n", f.args[0])
	}
	first := trSet(f.args[0])
	var second []rune
	if len(f.args) > 1 {
		second = trSet(f.args[1])
	}
	comp := f.has("c") || f.has("C")
	in := func(r rune) bool { return slices.Contains(first, r) != comp }
	data, err := io.ReadAll(p.In())
	if err != nil {
		return 1
	}
	squeeze := first
	if len(second) > 0 {
		squeeze = second
	}
	var out strings.Builder
	last := rune(-1)
	for _, r := range string(data) {
		if in(r) {
			if f.has("d") {
				continue
			}
			if len(second) > 0 {
				if i := slices.Index(first, r); i >= 0 && !comp {
					r = second[min(i, len(second)-1)]
				} else {
					r = second[len(second)-1]
				}
			}
		}
		if f.has("s") && r == last && (slices.Contains(squeeze, r) || comp && len(second) == 0 && in(r)) {
			continue
		}
		out.WriteRune(r)
		last = r
	}
	_, _ = io.WriteString(p.Out(), out.String())
	return 0
}
