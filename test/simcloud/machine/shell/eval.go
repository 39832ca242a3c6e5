package shell

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func (s *Shell) stmts(l []*syntax.Stmt) {
	for _, st := range l {
		if s.stop() {
			return
		}
		s.stmt(st)
	}
}

// stop reports whether the present list must not go on.
func (s *Shell) stop() bool {
	if s.p.Context().Err() != nil || s.fatal.Load() != 0 && !s.trapping {
		s.ctl = ctlExit
	}
	if s.ctl != ctlNone {
		return true
	}
	if s.opt.noexec {
		return true
	}
	s.runTraps()
	return s.ctl != ctlNone
}

func (s *Shell) stmt(st *syntax.Stmt) {
	s.line = int(st.Pos().Line())
	s.status = 0
	if st.Background {
		s.background(st)
	} else {
		s.foreground(st)
	}
	s.last = s.status
}

func (s *Shell) foreground(st *syntax.Stmt) {
	tail := s.tail
	s.tail = false
	if st.Negated {
		s.quiet++
	}
	var undo []savedFD
	ok := true
	substs := len(s.subst)
	if len(st.Redirs) > 0 {
		undo, ok = s.redirect(st.Redirs)
	}
	keep := false
	if ok && st.Cmd != nil {
		_, simple := st.Cmd.(*syntax.CallExpr)
		s.tail = tail && simple && !st.Negated && len(s.traps) == 0
		keep = s.cmd(st.Cmd)
		s.tail = false
	}
	if !keep {
		s.restore(undo)
	} else {
		for _, u := range undo {
			if u.old != nil {
				u.old.Close()
			}
		}
	}
	for _, n := range s.subst[substs:] {
		s.p.SetFD(n, nil)
	}
	s.subst = s.subst[:substs]
	if st.Negated {
		s.quiet--
		if s.ctl != ctlExit {
			if s.status == 0 {
				s.status = 1
			} else {
				s.status = 0
			}
		}
		return
	}
	if s.status != 0 && s.quiet == 0 && s.ctl == ctlNone && failable(st.Cmd, ok) {
		s.failed()
	}
}

// failable reports whether a failing command of this kind ends a shell with errexit: lists and compound commands do
// not, their parts already had their chance.
func failable(cmd syntax.Command, redirected bool) bool {
	if !redirected {
		return true
	}
	switch c := cmd.(type) {
	case *syntax.BinaryCmd:
		return c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	case *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.TimeClause:
		return false
	}
	return true
}

// failed runs the ERR trap and applies errexit.
func (s *Shell) failed() {
	s.sigMu.Lock()
	cmd := s.traps["ERR"]
	s.sigMu.Unlock()
	if cmd != "" && !s.trapping && (s.inFunc == 0 || s.opt.errtrace) {
		s.runTrap(cmd, "ERR trap")
	}
	if s.opt.errexit && s.ctl == ctlNone {
		s.ctl = ctlExit
	}
}

// cmd runs one command; it returns true if its redirections shall stay (exec).
func (s *Shell) cmd(cm syntax.Command) (keep bool) {
	switch cm := cm.(type) {
	case *syntax.CallExpr:
		return s.call(cm)
	case *syntax.Block:
		s.stmts(cm.Stmts)
	case *syntax.Subshell:
		s.subshell(func(c *Shell) { c.stmts(cm.Stmts) })
	case *syntax.BinaryCmd:
		s.binary(cm)
	case *syntax.IfClause:
		s.ifClause(cm)
	case *syntax.WhileClause:
		s.while(cm)
	case *syntax.ForClause:
		s.forClause(cm)
	case *syntax.CaseClause:
		s.caseClause(cm)
	case *syntax.FuncDecl:
		s.funcs[cm.Name.Value] = function{body: cm.Body, file: s.script}
	case *syntax.TestClause:
		s.trace("[[ … ]]")
		s.status = s.testClause(cm.X)
	case *syntax.ArithmCmd:
		s.status = b2i(s.arithm(cm.X) == 0)
	case *syntax.LetClause:
		n := 0
		for _, x := range cm.Exprs {
			n = s.arithm(x)
		}
		s.status = b2i(n == 0)
	case *syntax.DeclClause:
		s.declare(cm)
	case *syntax.TimeClause:
		start := time.Now()
		if cm.Stmt != nil {
			s.stmt(cm.Stmt)
		}
		d := time.Since(start).Seconds()
		s.p.Errorf("\nreal\t%dm%.3fs\nuser\t0m0.000s\nsys\t0m0.000s\n", int(d)/60, d-float64(int(d)/60*60))
	default:
		s.errf("%T is not supported here", cm)
		s.status = 2
	}
	return false
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Shell) subshell(f func(*Shell)) {
	c, err := s.fork()
	if err != nil {
		s.ctl, s.status = ctlExit, 1
		return
	}
	s.status = c.p.Run(c.body(f))
}

func (s *Shell) binary(cm *syntax.BinaryCmd) {
	switch cm.Op {
	case syntax.AndStmt, syntax.OrStmt:
		s.quiet++
		s.stmt(cm.X)
		s.quiet--
		if s.ctl == ctlNone && (s.status == 0) == (cm.Op == syntax.AndStmt) {
			s.stmt(cm.Y)
		}
	default:
		s.pipeline(cm)
	}
}

func (s *Shell) cond(l []*syntax.Stmt) bool {
	s.quiet++
	s.stmts(l)
	s.quiet--
	return s.ctl == ctlNone && s.status == 0
}

func (s *Shell) ifClause(cm *syntax.IfClause) {
	for cm != nil {
		if len(cm.Cond) == 0 || s.cond(cm.Cond) { // no condition: else
			s.stmts(cm.Then)
			return
		}
		if s.ctl != ctlNone {
			return
		}
		s.status = 0
		cm = cm.Else
	}
}

// loop runs the body of a loop once; it returns true if the loop ends.
func (s *Shell) loop(body []*syntax.Stmt) bool {
	s.loops++
	s.stmts(body)
	s.loops--
	switch s.ctl {
	case ctlBreak, ctlContinue:
		if s.ctlN > 1 {
			s.ctlN--
			return true
		}
		brk := s.ctl == ctlBreak
		s.ctl = ctlNone
		return brk
	default:
		return s.ctl != ctlNone
	}
}

func (s *Shell) while(cm *syntax.WhileClause) {
	status := 0
	for {
		s.loops++
		ok := s.cond(cm.Cond)
		s.loops--
		if s.ctl != ctlNone {
			if s.ctl == ctlBreak || s.ctl == ctlContinue {
				brk := s.ctl == ctlBreak || s.ctlN > 1
				if s.ctlN > 1 {
					s.ctlN--
				} else {
					s.ctl = ctlNone
				}
				if !brk {
					continue
				}
			} else {
				status = s.status
			}
			break
		}
		if ok == cm.Until {
			break
		}
		end := s.loop(cm.Do)
		status = s.status
		if end || s.stop() {
			break
		}
	}
	if s.ctl != ctlExit && s.ctl != ctlReturn {
		s.status = status
	}
}

func (s *Shell) forClause(cm *syntax.ForClause) {
	switch l := cm.Loop.(type) {
	case *syntax.WordIter:
		items := s.params
		if l.InPos.IsValid() {
			items = s.fields(l.Items...)
		}
		for _, it := range items {
			s.setStr(l.Name.Value, it)
			if s.loop(cm.Do) || s.stop() {
				break
			}
		}
	case *syntax.CStyleLoop:
		if l.Init != nil {
			s.arithm(l.Init)
		}
		for l.Cond == nil || s.arithm(l.Cond) != 0 {
			if s.loop(cm.Do) || s.stop() {
				break
			}
			if l.Post != nil {
				s.arithm(l.Post)
			}
		}
	}
}

func (s *Shell) caseClause(cm *syntax.CaseClause) {
	word := s.literal(cm.Word)
	fall := false
	for _, it := range cm.Items {
		if !fall && !slices.ContainsFunc(it.Patterns, func(w *syntax.Word) bool { return s.match(s.pattern(w), word) }) {
			continue
		}
		s.stmts(it.Stmts)
		switch it.Op {
		case syntax.Fallthrough:
			fall = true
		case syntax.Resume, syntax.ResumeKorn:
			fall = false
		default:
			return
		}
	}
}

// call runs a simple command: assignments, function, builtin or program.
func (s *Shell) call(cm *syntax.CallExpr) (keep bool) {
	s.expand = 0
	tail := s.tail
	s.tail = false
	args := s.fields(cm.Args...)
	if s.ctl != ctlNone {
		return false
	}
	if len(args) == 0 {
		for _, as := range cm.Assigns {
			s.assignGlobal(as)
			if s.ctl != ctlNone {
				return false
			}
		}
		if s.status == 0 {
			s.status = s.expand
		}
		return false
	}
	if s.opt.xtrace {
		s.traceCall(args)
	}
	pushed := false
	if len(cm.Assigns) > 0 {
		tmp := &scope{vars: map[string]expand.Variable{}, up: s.scope}
		for _, as := range cm.Assigns {
			name, v := s.assign(as, "")
			v.Exported = true
			tmp.vars[name] = v
		}
		s.scope, pushed = tmp, true
	}
	defer func() {
		if pushed {
			s.scope = s.scope.up
		}
	}()
	return s.invoke(args, tail, true)
}

// invoke runs a command by name. functions false skips shell functions (command, exec).
func (s *Shell) invoke(args []string, tail, functions bool) (keep bool) {
	name := args[0]
	if f, ok := s.funcs[name]; ok && functions {
		s.callFunc(name, f, args[1:])
		return false
	}
	if b, ok := builtins[name]; ok && (!s.posix || !bashOnly[name]) {
		s.status = b(s, args)
		return name == "exec" && s.ctl == ctlNone && s.status == 0
	}
	s.external(args, tail)
	return false
}

func (s *Shell) callFunc(name string, f function, args []string) {
	if len(s.stack) > 500 {
		s.errf("%s: maximum function nesting level exceeded (500)", name)
		s.ctl, s.status = ctlExit, 1
		return
	}
	params, loops := s.params, s.loops
	s.params, s.loops = args, 0
	s.scope = &scope{vars: map[string]expand.Variable{}, up: s.scope, fn: true}
	s.stack = append(s.stack, frame{name: name, file: f.file, line: s.line})
	s.inFunc++
	s.foreground(f.body)
	s.inFunc--
	s.stack = s.stack[:len(s.stack)-1]
	s.scope = s.scope.up
	s.params, s.loops = params, loops
	if s.ctl == ctlReturn {
		s.ctl = ctlNone
	}
	s.sigMu.Lock()
	cmd := s.traps["RETURN"]
	s.sigMu.Unlock()
	if cmd != "" && !s.trapping {
		s.runTrap(cmd, "RETURN trap")
	}
}

// external runs a program in a child process, or in this one if it is the shell's last deed.
func (s *Shell) external(args []string, tail bool) {
	env := s.exported()
	setup := func(c *process.Proc) { c.Env = env }
	if tail && len(s.jobs) == 0 {
		s.replace(args, env)
		return
	}
	c, prog, err := s.p.Spawn(args, setup)
	if err != nil {
		s.status = s.notRun(args[0], err)
		return
	}
	c.Launch(prog)
	s.status = s.await(c)
}

// replace is exec: the program takes over this process. It returns only if the program cannot be loaded.
func (s *Shell) replace(args []string, env map[string]string) {
	old, oldEnv := s.p.Args, s.p.Env
	s.p.Args, s.p.Env = args, env
	file, err := s.p.LookPath(args[0])
	if err == nil {
		var prog process.Program
		prog, err = s.p.Load(file)
		if process.Errno(err) == syscall.ENOEXEC {
			s.p.Args = append([]string{"sh", file}, args[1:]...)
			prog, err = Sh, nil
		}
		if err == nil {
			s.sigMu.Lock()
			clear(s.traps)
			s.sigMu.Unlock()
			s.p.Handle(func(process.Signal) bool { return false })
			s.status = s.p.Replace(prog)
			s.ctl = ctlExit
			return
		}
	}
	s.p.Args, s.p.Env = old, oldEnv
	s.status = s.notRun(args[0], err)
}

// notRun says why a command could not be run: 127 not found, 126 not executable.
func (s *Shell) notRun(name string, err error) int {
	code := process.Errno(err)
	switch {
	case code == syscall.ENOENT && !strings.Contains(name, "/"):
		if s.posix {
			s.errf("%s: not found", name)
		} else {
			s.errf("%s: command not found", name)
		}
		return 127
	case code == syscall.EISDIR:
		s.errf("%s: Is a directory", name)
		return 126
	case code == 0 && err != nil:
		s.ctl = ctlExit // the machine is going down
		return 128 + int(process.SIGKILL)
	}
	s.errf("%s: %s", name, process.Reason(err))
	if code == syscall.ENOENT {
		return 127
	}
	return 126
}

func (s *Shell) assignGlobal(as *syntax.Assign) {
	name, v := s.assign(as, "")
	if s.opt.xtrace {
		s.trace(name + "=" + quote(v.String()))
	}
	if err := s.set(name, v); err != nil {
		s.errf("%v", err)
		s.status = 1
		if errors.Is(err, errReadOnly) {
			s.ctl = ctlExit
		}
	}
}

func (s *Shell) traceCall(args []string) {
	q := make([]string, len(args))
	for i, a := range args {
		q[i] = quote(a)
	}
	s.trace(strings.Join(q, " "))
}

func (s *Shell) trace(line string) {
	if !s.opt.xtrace {
		return
	}
	prefix := "+ "
	if v := s.get("PS4"); v.Set {
		prefix = v.Str
	}
	if prefix != "" && s.depth > 0 {
		prefix = strings.Repeat(prefix[:1], s.depth) + prefix
	}
	s.p.Errorf("%s%s\n", prefix, line)
}

// quote quotes a word as bash's trace does: single quotes, if it needs any.
func quote(w string) string {
	if w == "" {
		return "''"
	}
	if !strings.ContainsAny(w, " \t\n'\"\\|&;()<>!{}*[]?^$`") && w[0] != '#' && w[0] != '~' {
		return w
	}
	return quoteSingle(w)
}
