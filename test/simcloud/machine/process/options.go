package process

import (
	"fmt"
	"strconv"
	"strings"
)

// Flags are the options of one call of a program, by short name, and the operands.
type Flags struct {
	Vals map[string][]string
	Args []string
}

// Has reports whether an option is given.
func (f *Flags) Has(name string) bool { return len(f.Vals[name]) > 0 }

// On reports whether a switch is given, and not as --name=false.
func (f *Flags) On(name string) bool { return f.Has(name) && f.Val(name) != "false" }

// List are the values of an option that may be given several times, and with several values separated by commas.
func (f *Flags) List(name string) []string {
	var out []string
	for _, v := range f.Vals[name] {
		out = append(out, strings.FieldsFunc(v, func(r rune) bool { return r == ',' })...)
	}
	return out
}

// Val is the last value of an option.
func (f *Flags) Val(name string) string {
	if v := f.Vals[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// Num is the value of an option as a number, or def.
func (f *Flags) Num(name string, def int) int {
	if v, err := strconv.Atoi(f.Val(name)); err == nil {
		return v
	}
	return def
}

// Options parses the arguments as ParseOptions does. On an error it complains and returns false.
func (p *Proc) Options(strict bool, short string, long ...string) (*Flags, bool) {
	f, err := ParseOptions(p.Args[1:], strict, short, long...)
	if err != nil {
		p.Errorf("%s: %v\n", p.Name(), err)
	}
	return f, err == nil
}

// ParseOptions parses arguments as getopt_long does. short is like "ab:c" (a colon: takes a value, two: an optional
// attached one); each long is "name=x" for the short x, "name:=x" when it takes a value, "name?=x" when the value is
// optional, and x may be several letters to have no short form. Options may follow operands unless strict.
func ParseOptions(args []string, strict bool, short string, long ...string) (*Flags, error) {
	f := &Flags{Vals: map[string][]string{}}
	set := func(name, v string) { f.Vals[name] = append(f.Vals[name], v) }
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
			f.Args = append(f.Args, args...)
			return f, nil
		case strings.HasPrefix(a, "--"):
			name, v, has := strings.Cut(a[2:], "=")
			target, kind, ok := findLong(name, long)
			if !ok {
				return nil, fmt.Errorf("unrecognized option '%s'", a)
			}
			if kind == ':' && !has {
				if len(args) == 0 {
					return nil, fmt.Errorf("option '--%s' requires an argument", name)
				}
				v, args = args[0], args[1:]
			}
			set(target, v)
		case len(a) > 1 && a[0] == '-':
			for i := 1; i < len(a); i++ {
				at := strings.IndexByte(short, a[i])
				if at < 0 || a[i] == ':' {
					return nil, fmt.Errorf("invalid option -- '%c'", a[i])
				}
				name := string(a[i])
				if at+1 >= len(short) || short[at+1] != ':' {
					set(name, "")
					continue
				}
				v := a[i+1:]
				if v == "" && !strings.HasPrefix(short[at+1:], "::") {
					if len(args) == 0 {
						return nil, fmt.Errorf("option requires an argument -- '%c'", a[i])
					}
					v, args = args[0], args[1:]
				}
				set(name, v)
				break
			}
		default:
			f.Args = append(f.Args, a)
			if strict {
				f.Args = append(f.Args, args...)
				return f, nil
			}
		}
	}
	return f, nil
}

func findLong(name string, long []string) (target string, kind byte, ok bool) {
	for _, l := range long {
		n, t, _ := strings.Cut(l, "=")
		k := byte(0)
		if c := n[len(n)-1]; c == ':' || c == '?' {
			n, k = n[:len(n)-1], c
		}
		if n == name {
			return t, k, true
		}
	}
	return "", 0, false
}
