package shell

import (
	"os"
	"strconv"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// await waits for a foreground child. A deadly signal to the shell ends the wait, the child goes on.
func (s *Shell) await(c *process.Proc) int {
	select {
	case <-c.Done():
	case <-s.p.Context().Done():
		s.ctl = ctlExit
		return 128 + int(process.SIGKILL)
	case <-s.interrupt:
		s.ctl = ctlExit
		return 128 + int(s.fatal.Load())
	}
	status, _ := c.Wait(s.p.Context())
	return status
}

// pipeline runs a | b | c, every part in a subshell.
func (s *Shell) pipeline(cm *syntax.BinaryCmd) {
	type part struct {
		st  *syntax.Stmt
		all bool // |& after it
	}
	var parts []part
	var flatten func(cm *syntax.BinaryCmd, all bool)
	flatten = func(cm *syntax.BinaryCmd, all bool) {
		x, ok := cm.X.Cmd.(*syntax.BinaryCmd)
		if ok && (x.Op == syntax.Pipe || x.Op == syntax.PipeAll) && len(cm.X.Redirs) == 0 && !cm.X.Negated {
			flatten(x, cm.Op == syntax.PipeAll)
		} else {
			parts = append(parts, part{cm.X, cm.Op == syntax.PipeAll})
		}
		parts = append(parts, part{cm.Y, all})
	}
	flatten(cm, false)

	children := make([]*process.Proc, len(parts))
	var in *process.FD
	for i, pt := range parts {
		last := i == len(parts)-1
		if last && s.opt.lastpipe {
			old := s.p.SwapFD(0, in)
			s.stmt(pt.st)
			s.p.SetFD(0, old)
			break
		}
		c, err := s.fork()
		if err != nil {
			if in != nil {
				in.Close()
			}
			s.ctl, s.status = ctlExit, 1
			return
		}
		if in != nil {
			c.p.SetFD(0, in)
			in = nil
		}
		if !last {
			r, w := process.Pipe()
			c.p.SetFD(1, w)
			if pt.all {
				c.p.SetFD(2, w.Dup())
			}
			in = r
		}
		c.line = s.line
		children[i] = c.p
		c.p.Start(c.body(func(c *Shell) { c.tailStmts([]*syntax.Stmt{pt.st}) }))
	}
	codes := make([]string, len(parts))
	status := 0
	for i, c := range children {
		code := s.status
		if c != nil {
			code = s.await(c)
			if s.ctl == ctlExit {
				s.status = code
				return
			}
		}
		codes[i] = strconv.Itoa(code)
		if i == len(parts)-1 && (!s.opt.pipefail || code != 0) || s.opt.pipefail && code != 0 {
			status = code
		}
	}
	s.status = status
	if !s.posix {
		_ = s.set("PIPESTATUS", list(codes))
	}
}

// background runs st in a subshell of its own and remembers it as a job.
func (s *Shell) background(st *syntax.Stmt) {
	c, err := s.fork()
	if err != nil {
		s.ctl, s.status = ctlExit, 1
		return
	}
	c.quiet = 0
	// Without job control a background command does not read the terminal and survives ^C.
	if f, err := s.p.Open("/dev/null", os.O_RDONLY, 0); err == nil && !s.opt.monitor {
		c.p.SetFD(0, f)
	} else if f != nil {
		f.Close()
	}
	c.p.Ignore(process.SIGINT)
	c.p.Ignore(process.SIGQUIT)
	if s.opt.monitor {
		c.p.NewSession()
	}
	fg := *st
	fg.Background = false
	s.bgPID = c.p.PID
	s.jobs = append(s.jobs, &job{p: c.p})
	c.p.Start(c.body(func(c *Shell) { c.tailStmts([]*syntax.Stmt{&fg}) }))
}

// onSignal is called by whoever sends this shell a signal.
func (s *Shell) onSignal(sig process.Signal) bool {
	s.sigMu.Lock()
	defer s.sigMu.Unlock()
	cmd, trapped := s.traps[sig.Name()]
	if trapped {
		if cmd != "" {
			s.pending = append(s.pending, sig)
		}
		return true
	}
	if s.traps["EXIT"] == "" {
		return false
	}
	// The EXIT trap runs also when a signal ends the shell.
	if s.fatal.CompareAndSwap(0, int32(sig)) {
		close(s.interrupt)
	}
	return true
}

// runTraps runs the handlers of signals that have come in.
func (s *Shell) runTraps() {
	for {
		s.sigMu.Lock()
		if len(s.pending) == 0 || s.trapping {
			s.sigMu.Unlock()
			return
		}
		sig := s.pending[0]
		s.pending = s.pending[1:]
		cmd := s.traps[sig.Name()]
		s.sigMu.Unlock()
		if cmd != "" {
			s.runTrap(cmd, sig.Name()+" trap")
		}
	}
}

func (s *Shell) hasPending() bool {
	s.sigMu.Lock()
	defer s.sigMu.Unlock()
	return len(s.pending) > 0
}

// runTrap runs a trap's command without disturbing $?.
func (s *Shell) runTrap(cmd, name string) {
	status, last, trapping := s.status, s.last, s.trapping
	s.trapping, s.last = true, s.status
	s.evalText(cmd, name)
	s.trapping = trapping
	if s.ctl != ctlExit {
		s.status, s.last = status, last
	}
}
