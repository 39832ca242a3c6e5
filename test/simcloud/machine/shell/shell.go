// Package shell is the bash (and sh) of a simulated machine. It interprets scripts with the parser and the expansions
// of mvdan.cc/sh; statements, redirections of any descriptor, jobs with real process ids, signals and traps are done
// here, on the processes and files of the simulation, so that a script behaves as it does on a server. A test runs the
// same scripts through the real bash and compares.
package shell

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// options are the set -o and shopt switches.
type options struct {
	errexit, nounset, xtrace, pipefail, noglob, allexport, noexec, errtrace, functrace, monitor, verbose, noclobber, physical bool

	nullglob, dotglob, extglob, globstar, nocaseglob, nocasematch, inheritErrexit, lastpipe, failglob bool
}

// control is why statements stop before the end of a list.
type control int

const (
	ctlNone control = iota
	ctlBreak
	ctlContinue
	ctlReturn
	ctlExit
)

type frame struct {
	name, file string
	line       int
}

type function struct {
	body *syntax.Stmt
	file string
}

// job is a background command.
type job struct {
	p      *process.Proc
	waited bool
}

// Shell is one shell process or subshell.
type Shell struct {
	p     *process.Proc
	posix bool // dash instead of bash

	scope, globals *scope
	attrs          map[string]byte
	funcs          map[string]function
	params         []string
	opt            options
	name0, script  string
	fromFile       bool // a script file rather than -c or standard input
	mainPID, bgPID int
	ppid           int
	depth          int // of subshells
	secondsFrom    time.Time

	line   int
	status int // of the statement being run
	last   int // $?
	expand int // status of the last command substitution

	ctl      control
	ctlN     int
	loops    int
	inFunc   int
	sourced  int
	quiet    int // > 0: failing does not end the shell (conditions, && ||)
	tail     bool
	trapping bool

	stack []frame
	jobs  []*job
	cfg   *expand.Config
	subst []int // descriptors of process substitutions to close after the statement

	optIndex, optChar int // getopts

	sigMu     sync.Mutex
	traps     map[string]string
	pending   []process.Signal
	fatal     atomic.Int32 // the signal that is ending this shell
	interrupt chan struct{}
}

// Bash is the program bash.
func Bash(_ context.Context, p *process.Proc) int { return start(p, false) }

// Sh is the program sh: dash, so without bash's extensions.
func Sh(_ context.Context, p *process.Proc) int { return start(p, true) }

func newShell(p *process.Proc, posix bool) *Shell {
	s := &Shell{
		p: p, posix: posix, attrs: map[string]byte{}, funcs: map[string]function{}, traps: map[string]string{},
		globals: &scope{vars: map[string]expand.Variable{}}, mainPID: p.PID, ppid: p.PPID, name0: p.Args[0], secondsFrom: p.Sys.Clock.Now(),
		interrupt: make(chan struct{}), optIndex: 1,
	}
	s.scope = s.globals
	for k, v := range p.Env {
		vr := str(v)
		vr.Exported = true
		s.globals.vars[k] = vr
	}
	s.globals.vars["PWD"] = expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: p.Dir}
	s.globals.vars["IFS"] = str(" \t\n")
	s.globals.vars["OPTIND"] = str("1")
	if !posix {
		uid := strconv.Itoa(p.Cred.UID)
		ro := func(v string) expand.Variable {
			return expand.Variable{Set: true, ReadOnly: true, Kind: expand.String, Str: v}
		}
		s.globals.vars["UID"], s.globals.vars["EUID"] = ro(uid), ro(uid)
		s.globals.vars["BASH"] = str("/bin/bash")
		s.globals.vars["BASH_VERSION"] = str("5.1.16(1)-release")
		s.globals.vars["BASH_VERSINFO"] = list([]string{"5", "1", "16", "1", "release", "x86_64-pc-linux-gnu"})
		s.globals.vars["OSTYPE"] = str("linux-gnu")
		s.globals.vars["HOSTTYPE"] = str("x86_64")
		s.globals.vars["MACHTYPE"] = str("x86_64-pc-linux-gnu")
		s.globals.vars["PS4"] = str("+ ")
	}
	s.setup()
	return s
}

// setup wires what belongs to this process: the expansion config and the signal handler.
func (s *Shell) setup() {
	s.cfg = &expand.Config{Env: environ{s}, CmdSubst: s.cmdSubst, ProcSubst: s.procSubst}
	s.options()
	s.p.Handle(s.onSignal)
}

// options hands the switches to the expansion config.
func (s *Shell) options() {
	s.cfg.ReadDir2 = nil
	if !s.opt.noglob {
		s.cfg.ReadDir2 = s.readDir
	}
	s.cfg.NullGlob, s.cfg.DotGlob, s.cfg.ExtGlob = s.opt.nullglob, s.opt.dotglob, s.opt.extglob
	s.cfg.GlobStar, s.cfg.NoCaseGlob, s.cfg.NoUnset = s.opt.globstar, s.opt.nocaseglob, s.opt.nounset
}

// fork makes a subshell on a new process. The caller runs it with runFork or startFork.
func (s *Shell) fork() (*Shell, error) {
	p, err := s.p.Fork()
	if err != nil {
		return nil, err
	}
	p.Env = maps.Clone(s.p.Env)
	c := &Shell{
		p: p, posix: s.posix, attrs: maps.Clone(s.attrs), funcs: maps.Clone(s.funcs), params: s.params, opt: s.opt,
		name0: s.name0, script: s.script, fromFile: s.fromFile, mainPID: s.mainPID, ppid: s.ppid, bgPID: s.bgPID, depth: s.depth + 1, secondsFrom: s.secondsFrom,
		line: s.line, last: s.last, loops: 0, inFunc: s.inFunc, sourced: s.sourced, quiet: s.quiet,
		stack: slices.Clone(s.stack), traps: map[string]string{}, interrupt: make(chan struct{}),
		optIndex: s.optIndex, optChar: s.optChar,
	}
	// Ignored signals stay ignored; other traps are reset, ERR only without errtrace.
	s.sigMu.Lock()
	for k, v := range s.traps {
		if v == "" || k == "ERR" && s.opt.errtrace {
			c.traps[k] = v
		}
	}
	s.sigMu.Unlock()
	c.scope = s.scope.clone()
	c.globals = c.scope
	for c.globals.up != nil {
		c.globals = c.globals.up
	}
	c.setup()
	return c, nil
}

// body runs f in the subshell's process and returns its status.
func (s *Shell) body(f func(*Shell)) process.Program {
	return func(context.Context, *process.Proc) int {
		f(s)
		return s.exit()
	}
}

// exit ends the shell: the EXIT trap runs, the status is returned.
func (s *Shell) exit() int {
	s.ctl, s.ctlN = ctlNone, 0
	if sig := int(s.fatal.Load()); sig != 0 {
		s.status = 128 + sig
	}
	s.sigMu.Lock()
	cmd := s.traps["EXIT"]
	delete(s.traps, "EXIT")
	s.sigMu.Unlock()
	status := s.status
	if cmd != "" && s.p.Context().Err() == nil {
		fatal := s.fatal.Swap(0)
		s.status, s.last = status, status
		s.evalText(cmd, "exit trap")
		if s.ctl == ctlExit {
			status = s.status
		}
		s.fatal.Store(fatal)
	}
	return status
}

// start reads the command line of bash or sh and runs what it says.
func start(p *process.Proc, posix bool) int {
	s := newShell(p, posix)
	args := p.Args[1:]
	fromStdin, hasCommand, login := false, false, strings.HasPrefix(p.Args[0], "-")
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		switch a {
		case "--login":
			login = true
			continue
		case "--norc", "--noprofile", "--posix", "--noediting":
			continue
		case "--version":
			p.Printf("GNU bash, version 5.1.16(1)-release (x86_64-pc-linux-gnu)\n")
			return 0
		}
		on := a[0] == '-'
		for _, c := range a[1:] {
			switch c {
			case 'c':
				hasCommand = true
			case 's':
				fromStdin = true
			case 'l':
				login = true
			case 'i':
			case 'o', 'O':
				if len(args) == 0 {
					break
				}
				var ok bool
				if c == 'o' {
					ok = s.opt.setName(args[0], on)
				} else {
					ok = s.opt.shoptName(args[0], on)
				}
				if !ok {
					p.Errorf("%s: %s: invalid option name\n", s.name0, args[0])
					return 2
				}
				args = args[1:]
			default:
				if !s.opt.setFlag(byte(c), on) {
					p.Errorf("%s: -%c: invalid option\n", s.name0, c)
					return 2
				}
			}
		}
	}
	s.options()
	if login {
		s.profile()
	}
	switch {
	case hasCommand:
		if len(args) == 0 {
			p.Errorf("%s: -c: option requires an argument\n", s.name0)
			return 2
		}
		command := args[0]
		args = args[1:]
		if len(args) > 0 {
			s.name0, args = args[0], args[1:]
		}
		s.params = args
		return s.runText(command, true)
	case fromStdin || len(args) == 0:
		s.params = args
		return s.runStdin()
	}
	s.name0, s.script, s.fromFile, s.params = args[0], args[0], true, args[1:]
	src, err := p.ReadFile(s.name0)
	if err != nil {
		if reason := process.Reason(err); posix {
			p.Errorf("sh: 0: cannot open %s: %s\n", s.name0, strings.TrimSuffix(reason, " or directory"))
		} else {
			p.Errorf("%s: %s: %s\n", p.Args[0], s.name0, reason)
		}
		return 127
	}
	return s.runText(string(src), false)
}

// profile runs the login files.
func (s *Shell) profile() {
	for _, f := range []string{"/etc/profile", path.Join(s.p.Env["HOME"], ".profile")} {
		if src, err := s.p.ReadFile(f); err == nil {
			s.evalText(string(src), f)
			s.ctl = ctlNone
		}
	}
}

// runText parses and runs a whole script. With single, a lone simple command replaces the shell, as bash -c does.
func (s *Shell) runText(src string, single bool) int {
	file, err := parse(src, s.posix)
	if err != nil {
		s.syntaxError(err)
		return 2
	}
	if n := len(file.Stmts); single && n > 0 {
		s.stmts(file.Stmts[:n-1])
		if s.ctl == ctlNone {
			s.tail = true
			s.stmts(file.Stmts[n-1:])
		}
	} else {
		s.stmts(file.Stmts)
	}
	return s.exit()
}

// runStdin runs commands as they arrive on standard input.
func (s *Shell) runStdin() int {
	in := &lineReader{r: s.p.In()}
	for stmt, err := range newParser(s.posix).StmtsSeq(in) {
		if err != nil {
			s.syntaxError(err)
			s.status = 2
			break
		}
		rewrite(stmt)
		s.stmt(stmt)
		if s.stop() {
			break
		}
	}
	return s.exit()
}

// lineReader hands out one byte at a time, so that the parser never takes input meant for a command.
type lineReader struct{ r io.Reader }

func (l *lineReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return l.r.Read(b[:1])
}

// evalText parses and runs text in this shell (eval, traps, login files).
func (s *Shell) evalText(src, name string) {
	file, err := parse(src, s.posix)
	if err != nil {
		s.errf("%s: %s", name, syntaxText(err))
		s.status = 2
		return
	}
	s.stmts(file.Stmts)
}

func (s *Shell) syntaxError(err error) {
	line := s.line
	if pe, ok := asParseError(err); ok {
		line = int(pe.Pos.Line())
	}
	s.line = max(line, 1)
	s.errf("syntax error: %s", syntaxText(err))
	s.status = 2
}

// errf prints a message with the prefix the shell uses.
func (s *Shell) errf(format string, a ...any) {
	if s.posix {
		s.p.Errorf("%s: %d: %s\n", s.name0, max(s.line, 1), fmt.Sprintf(format, a...))
		return
	}
	s.p.Errorf("%s: line %d: %s\n", s.name0, max(s.line, 1), fmt.Sprintf(format, a...))
}
