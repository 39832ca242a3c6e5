package shell

import (
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

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
	to := ""
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
		done := false
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

func umask(s *Shell, args []string) int {
	if len(args) == 1 || args[1] == "-p" {
		s.p.Printf("%04o\n", s.p.Umask)
		return 0
	}
	if args[1] == "-S" {
		m := ^s.p.Umask
		bits := func(n uint) string {
			out := ""
			for i, c := range "rwx" {
				if m>>n&(4>>i) != 0 {
					out += string(c)
				}
			}
			return out
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
