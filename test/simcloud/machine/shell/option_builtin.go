package shell

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

func set(s *Shell, args []string) int {
	args = args[1:]
	if len(args) == 0 {
		all := s.all()
		for _, n := range slices.Sorted(maps.Keys(all)) {
			if v := all[n]; v.Set && v.Kind == expand.String {
				s.p.Printf("%s=%s\n", n, quote(v.Str))
			}
		}
		return 0
	}
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			s.params = slices.Clone(args[1:])
			return 0
		}
		if a == "-" {
			s.opt.xtrace, s.opt.verbose = false, false
			if len(args) > 1 {
				s.params = slices.Clone(args[1:])
			}
			return 0
		}
		if len(a) < 2 || a[0] != '-' && a[0] != '+' {
			break
		}
		args = args[1:]
		on := a[0] == '-'
		for _, c := range []byte(a[1:]) {
			if c == 'o' {
				if len(args) == 0 {
					for _, n := range s.opt.names() {
						s.p.Printf("%-15s\t%s\n", n, map[bool]string{true: "on", false: "off"}[s.opt.get(n)])
					}
					return 0
				}
				if !s.opt.setName(args[0], on) {
					s.errf("set: %s: invalid option name", args[0])
					return 2
				}
				args = args[1:]
				continue
			}
			if !s.opt.setFlag(c, on) {
				s.errf("set: -%c: invalid option", c)
				return 2
			}
		}
	}
	s.options()
	if len(args) > 0 {
		s.params = slices.Clone(args)
	}
	return 0
}

func shopt(s *Shell, args []string) int {
	mode, setO, quiet, status := "", false, false, 0
	var names []string
	for _, a := range args[1:] {
		switch a {
		case "-s", "-u":
			mode = a
		case "-o":
			setO = true
		case "-q":
			quiet = true
		case "-p":
		default:
			names = append(names, a)
		}
	}
	for _, n := range names {
		if mode == "" {
			on := setO && s.opt.get(n)
			if b := s.opt.shopt(n); b != nil {
				on = *b
			}
			if !quiet {
				s.p.Printf("%s\t%s\n", n, map[bool]string{true: "on", false: "off"}[on])
			}
			status = max(status, b2i(!on))
			continue
		}
		var done bool
		if setO {
			done = s.opt.setName(n, mode == "-s")
		} else {
			done = s.opt.shoptName(n, mode == "-s")
		}
		if !done {
			s.errf("shopt: %s: invalid shell option name", n)
			status = 1
		}
	}
	s.options()
	return status
}

func umask(s *Shell, args []string) int {
	if len(args) == 1 || args[1] == "-p" {
		s.p.Printf("%04o\n", s.p.Umask)
		return 0
	}
	if args[1] == "-S" {
		m := ^s.p.Umask
		bits := func(n uint) string {
			var out strings.Builder
			for i, c := range "rwx" {
				if m>>n&(4>>i) != 0 {
					out.WriteRune(c)
				}
			}
			return out.String()
		}
		s.p.Printf("u=%s,g=%s,o=%s\n", bits(6), bits(3), bits(0))
		return 0
	}
	n, err := strconv.ParseUint(args[1], 8, 32)
	if err != nil {
		s.errf("umask: %s: invalid symbolic mode operator", args[1])
		return 1
	}
	s.p.Umask = os.FileMode(n) & 0o777
	return 0
}

func ulimit(s *Shell, args []string) int {
	if len(args) < 2 || args[len(args)-1][0] == '-' {
		v := "unlimited"
		if slices.Contains(args, "-n") {
			v = "1024"
		}
		s.p.Printf("%s\n", v)
	}
	return 0
}

func times(s *Shell, _ []string) int {
	s.p.Printf("0m0.000s 0m0.000s\n0m0.000s 0m0.000s\n")
	return 0
}
