package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// builtins are the commands that run in the shell itself; args includes the name.
var builtins map[string]func(s *Shell, args []string) int

// bashOnly are builtins that dash does not have.
var bashOnly = map[string]bool{
	"shopt": true, "source": true, "mapfile": true, "readarray": true, "builtin": true, "disown": true, "pushd": true, "popd": true,
	"dirs": true, "caller": true, "enable": true, "help": true, "let": true, "declare": true, "typeset": true,
}

func init() { //nolint:gochecknoinits // the table's functions refer to the table
	builtins = map[string]func(*Shell, []string) int{
		":": ok, "true": ok, "false": func(*Shell, []string) int { return 1 },
		"echo": echo, "printf": printf, "test": test, "[": test, "cd": cd, "pwd": pwd, "pushd": pushd, "popd": popd, "dirs": dirs,
		"unset": unset, "set": set, "shift": shift, "shopt": shopt, "eval": eval, "source": source, ".": source, "exec": execute,
		"exit": exit, "return": ret, "break": brk, "continue": brk, "command": command, "builtin": builtin, "type": typ, "hash": ok,
		"read": read, "mapfile": mapfile, "readarray": mapfile, "getopts": getopts, "trap": trap, "wait": wait, "kill": kill,
		"jobs": jobs, "fg": ok, "bg": ok, "disown": ok, "umask": umask, "ulimit": ulimit, "times": times, "alias": ok, "unalias": ok,
		"caller": caller, "enable": ok, "help": ok, "suspend": ok, "let": let,
		"declare": decl, "typeset": decl, "local": decl, "export": decl, "readonly": decl,
	}
}

func ok(*Shell, []string) int { return 0 }

func echo(s *Shell, args []string) int {
	nl, esc := true, s.posix
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" && (!s.posix || args[0] == "-n") {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				nl = false
			case 'e':
				esc = true
			default:
				esc = false
			}
		}
		args = args[1:]
	}
	out := strings.Join(args, " ")
	if esc {
		var stop bool
		if out, stop = unescape(out, true); stop {
			nl = false
		}
	}
	if nl {
		out += "\n"
	}
	return s.write(out, "echo")
}

func (s *Shell) write(text, name string) int {
	if text == "" {
		return 0
	}
	if _, err := s.p.Out().Write([]byte(text)); err != nil {
		if s.p.Context().Err() == nil {
			s.errf("%s: write error: %s", name, process.Reason(err))
		}
		return 1
	}
	return 0
}

func test(s *Shell, args []string) int {
	if args[0] == "[" {
		if args[len(args)-1] != "]" {
			s.errf("[: missing `]'")
			return 2
		}
		args = args[:len(args)-1]
	}
	return s.classicTest(args[1:])
}

// chdir changes the working directory; the logical path is kept as in PWD.
func (s *Shell) chdir(name, dir string) int {
	v := s.p.FS()
	abs := path.Clean(s.p.Abs(dir))
	if s.opt.physical {
		if r, err := v.Real(abs); err == nil {
			abs = r
		}
	}
	i, err := v.Stat(abs)
	reason := ""
	switch {
	case err != nil:
		reason = process.Reason(err)
	case !i.IsDir():
		reason = "Not a directory"
	case v.Access(abs, memfs.Exec) != nil:
		reason = "Permission denied"
	}
	if reason != "" {
		if s.posix {
			s.errf("%s: can't cd to %s", name, dir)
			return 2
		}
		s.errf("%s: %s: %s", name, dir, reason)
		return 1
	}
	old := s.p.Dir
	s.p.Dir = abs
	_ = s.set("OLDPWD", str(old))
	_ = s.set("PWD", str(abs))
	return 0
}

func cd(s *Shell, args []string) int {
	args = args[1:]
	for len(args) > 0 && (args[0] == "-P" || args[0] == "-L" || args[0] == "--" || args[0] == "-e") {
		if args[0] == "-P" {
			s.opt.physical = true
			defer func() { s.opt.physical = false }()
		}
		args = args[1:]
	}
	dir := s.get("HOME").String()
	if len(args) > 1 {
		s.errf("cd: too many arguments")
		return 1
	}
	if len(args) == 1 {
		dir = args[0]
	}
	if dir == "" {
		if len(args) == 0 {
			s.errf("cd: HOME not set")
			return 1
		}
		return 0
	}
	if dir == "-" {
		if dir = s.get("OLDPWD").String(); dir == "" {
			s.errf("cd: OLDPWD not set")
			return 1
		}
		s.p.Printf("%s\n", dir)
	}
	return s.chdir("cd", dir)
}

func pwd(s *Shell, args []string) int {
	dir := s.p.Dir
	if slices.Contains(args, "-P") {
		if r, err := s.p.FS().Real(dir); err == nil {
			dir = r
		}
	}
	return s.write(dir+"\n", "pwd")
}

func (s *Shell) dirStack() []string {
	return append([]string{s.p.Dir}, s.get("__dirs").List...)
}

func pushd(s *Shell, args []string) int {
	rest := s.get("__dirs").List
	var to string
	switch {
	case len(args) > 1:
		to = args[len(args)-1]
	case len(rest) > 0:
		to = rest[0]
		rest = rest[1:]
	default:
		s.errf("pushd: no other directory")
		return 1
	}
	from := s.p.Dir
	if st := s.chdir("pushd", to); st != 0 {
		return st
	}
	_ = s.set("__dirs", list(append([]string{from}, rest...)))
	return dirs(s, nil)
}

func popd(s *Shell, _ []string) int {
	rest := s.get("__dirs").List
	if len(rest) == 0 {
		s.errf("popd: directory stack empty")
		return 1
	}
	if st := s.chdir("popd", rest[0]); st != 0 {
		return st
	}
	_ = s.set("__dirs", list(slices.Clone(rest[1:])))
	return dirs(s, nil)
}

func dirs(s *Shell, _ []string) int { return s.write(strings.Join(s.dirStack(), " ")+"\n", "dirs") }

func unset(s *Shell, args []string) int {
	vars, funcs, status := true, true, 0
	for _, a := range args[1:] {
		switch a {
		case "-v":
			funcs = false
			continue
		case "-f":
			vars = false
			continue
		case "-n", "--":
			continue
		}
		if base, sub, ok := strings.Cut(a, "["); ok && vars {
			sub = strings.Trim(strings.TrimSuffix(sub, "]"), `"'`)
			if v, ok := unsetElem(s.get(base), sub, s.arithText(sub)); ok {
				_ = s.set(base, v)
			}
			continue
		}
		v := s.get(a)
		switch {
		case vars && v.ReadOnly:
			s.errf("unset: %s: cannot unset: readonly variable", a)
			status = 1
		case vars && v.Declared():
			if sc, ok := s.scope.find(a); ok {
				if sc.fn {
					sc.vars[a] = expand.Variable{Local: true}
				} else {
					delete(sc.vars, a)
				}
			}
			delete(s.attrs, a)
		case funcs:
			delete(s.funcs, a)
		}
	}
	return status
}

func shift(s *Shell, args []string) int {
	n := 1
	if len(args) > 1 {
		n, _ = strconv.Atoi(args[1])
	}
	if n > len(s.params) || n < 0 {
		return 1
	}
	s.params = s.params[n:]
	return 0
}

func eval(s *Shell, args []string) int {
	if len(args) > 1 && args[1] == "--" {
		args = args[1:]
	}
	s.status = 0
	s.evalText(strings.Join(args[1:], " "), "eval")
	return s.status
}

func source(s *Shell, args []string) int {
	if len(args) < 2 {
		s.errf("%s: filename argument required", args[0])
		return 2
	}
	name := args[1]
	if !strings.Contains(name, "/") {
		for dir := range strings.SplitSeq(s.get("PATH").String(), ":") {
			if i, err := s.p.FS().Stat(s.p.Abs(path.Join(dir, name))); err == nil && i.Mode().IsRegular() {
				name = path.Join(dir, name)
				break
			}
		}
	}
	src, err := s.p.ReadFile(name)
	if err != nil {
		s.errf("%s: %s", args[1], process.Reason(err))
		return 1
	}
	file, err := parse(string(src), s.posix)
	if err != nil {
		s.errf("%s: %s", name, syntaxText(err))
		return 2
	}
	params, script, given := s.params, s.script, len(args) > 2
	if given {
		s.params = args[2:]
	}
	s.script = name
	s.stack = append(s.stack, frame{name: "source", file: name, line: s.line})
	s.sourced++
	s.status = 0
	s.stmts(file.Stmts)
	s.sourced--
	s.stack = s.stack[:len(s.stack)-1]
	s.script = script
	if given {
		s.params = params
	}
	if s.ctl == ctlReturn {
		s.ctl = ctlNone
	}
	return s.status
}

func execute(s *Shell, args []string) int {
	args = args[1:]
	for len(args) > 0 && (args[0] == "--" || args[0] == "-c" || args[0] == "-l") {
		args = args[1:]
	}
	if len(args) > 1 && args[0] == "-a" {
		args = args[2:]
	}
	if len(args) == 0 {
		return 0
	}
	s.replace(args, s.exported())
	s.ctl = ctlExit // also when it cannot be run: a script ends there
	return s.status
}

func exit(s *Shell, args []string) int {
	st := s.last
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			s.errf("exit: %s: numeric argument required", args[1])
			n = 2
		}
		st = n & 0xff
	}
	s.ctl = ctlExit
	return st
}

func ret(s *Shell, args []string) int {
	if s.inFunc == 0 && s.sourced == 0 {
		s.errf("return: can only `return' from a function or sourced script")
		return 2
	}
	st := s.last
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			s.errf("return: %s: numeric argument required", args[1])
			n = 2
		}
		st = n & 0xff
	}
	s.ctl = ctlReturn
	return st
}

func brk(s *Shell, args []string) int {
	if s.loops == 0 {
		return 0
	}
	s.ctlN = 1
	if len(args) > 1 {
		s.ctlN, _ = strconv.Atoi(args[1])
		s.ctlN = min(max(s.ctlN, 1), s.loops)
	}
	s.ctl = ctlBreak
	if args[0] == "continue" {
		s.ctl = ctlContinue
	}
	return 0
}

func let(s *Shell, args []string) int {
	n := 0
	for _, a := range args[1:] {
		n = s.arithText(a)
	}
	return b2i(n == 0)
}

func caller(s *Shell, _ []string) int {
	if len(s.stack) == 0 {
		return 1
	}
	f := s.stack[len(s.stack)-1]
	name := s.script
	if name == "" {
		name = "NULL"
	}
	s.p.Printf("%d %s\n", f.line, name)
	return 0
}
