package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

func builtin(s *Shell, args []string) int {
	if len(args) < 2 {
		return 0
	}
	b, ok := builtins[args[1]]
	if !ok {
		s.errf("builtin: %s: not a shell builtin", args[1])
		return 1
	}
	return b(s, args[1:])
}

func command(s *Shell, args []string) int {
	args = args[1:]
	show := byte(0)
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for _, c := range []byte(a[1:]) {
			if c == 'v' || c == 'V' {
				show = c
			}
		}
	}
	if len(args) == 0 {
		return 0
	}
	if show == 0 {
		s.status = 0
		s.invoke(args, false, false)
		return s.status
	}
	status := 0
	for _, a := range args {
		kind, where := s.which(a, true)
		switch {
		case kind == "" && show == 'V':
			s.errf("%s: not found", a)
			status = 1
		case kind == "":
			status = 1
			if s.posix {
				status = 127
			}
		case show == 'V':
			s.p.Printf("%s\n", describe(a, kind, where))
		case kind == "file":
			s.p.Printf("%s\n", where)
		default:
			s.p.Printf("%s\n", a)
		}
	}
	return status
}

// which says what a command name is: function, keyword, builtin or file with its path; empty if nothing.
func (s *Shell) which(name string, functions bool) (kind, where string) {
	if functions {
		if _, ok := s.funcs[name]; ok {
			return "function", ""
		}
		if syntax.IsKeyword(name) {
			return "keyword", ""
		}
		if _, ok := builtins[name]; ok && (!s.posix || !bashOnly[name]) {
			return "builtin", ""
		}
	}
	old := s.p.Env
	s.p.Env = s.exported()
	file, err := s.p.LookPath(name)
	s.p.Env = old
	if err != nil {
		return "", ""
	}
	return "file", file
}

func describe(name, kind, where string) string {
	switch kind {
	case "function":
		return name + " is a function"
	case "keyword":
		return name + " is a shell keyword"
	case "builtin":
		return name + " is a shell builtin"
	}
	return name + " is " + where
}

func typ(s *Shell, args []string) int {
	mode, status := byte(0), 0
	for _, a := range args[1:] {
		if len(a) == 2 && a[0] == '-' {
			mode = a[1]
			continue
		}
		kind, where := s.which(a, mode != 'P')
		switch {
		case kind == "":
			status = 1
			if mode == 0 || mode == 'a' {
				s.errf("type: %s: not found", a)
			}
		case mode == 't':
			s.p.Printf("%s\n", kind)
		case mode == 'p' || mode == 'P':
			if where != "" {
				s.p.Printf("%s\n", where)
			}
		default:
			s.p.Printf("%s\n", describe(a, kind, where))
		}
	}
	return status
}
