package shell

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// expandErr turns a failed expansion into a message and a status. Unset variables end the shell.
func (s *Shell) expandErr(err error) {
	if err == nil {
		return
	}
	if unset, ok := errors.AsType[expand.UnsetParameterError](err); ok {
		msg := unset.Message
		if msg == "" {
			msg = "parameter null or not set"
		}
		name := ""
		if unset.Node != nil && unset.Node.Param != nil {
			name = unset.Node.Param.Value
		}
		if s.posix {
			s.errf("%s: %s", name, strings.Replace(msg, "unbound variable", "parameter not set", 1))
			s.status = 2
		} else {
			s.errf("%s: %s", name, msg)
			s.status = 1
			if msg != "unbound variable" || !s.fromFile {
				s.status = 127
			}
		}
		s.ctl = ctlExit
		return
	}
	if s.ctl == ctlNone {
		s.errf("%v", err)
		s.status = 1
		if strings.Contains(err.Error(), "division by zero") {
			s.ctl = ctlExit
		}
	}
}

func (s *Shell) fields(words ...*syntax.Word) []string {
	out, err := expand.Fields(s.cfg, words...)
	s.expandErr(err)
	return out
}

func (s *Shell) literal(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	out, err := expand.Literal(s.cfg, w)
	s.expandErr(err)
	return out
}

func (s *Shell) document(w *syntax.Word) string {
	out, err := expand.Document(s.cfg, w)
	s.expandErr(err)
	return out
}

func (s *Shell) pattern(w *syntax.Word) string {
	out, err := expand.Pattern(s.cfg, w)
	s.expandErr(err)
	return out
}

func (s *Shell) arithm(x syntax.ArithmExpr) int {
	n, err := expand.Arithm(s.cfg, x)
	s.expandErr(err)
	return n
}

// match matches a whole string against a shell pattern.
func (s *Shell) match(pat, text string) bool {
	mode := pattern.EntireString | pattern.ExtendedOperators
	if s.opt.nocasematch {
		mode |= pattern.NoGlobCase
	}
	expr, err := pattern.Regexp(pat, mode)
	if err != nil {
		var neg *pattern.NegExtGlobError
		// Only a pattern that is one !(…) as a whole can be turned round.
		if errors.As(err, &neg) && len(neg.Groups) == 1 && neg.Groups[0].Start == 0 && neg.Groups[0].End == len(pat) {
			return !s.match("@"+pat[1:], text)
		}
		return false
	}
	re, err := regexp.Compile(expr)
	return err == nil && re.MatchString(text)
}

func (s *Shell) readDir(dir string) ([]fs.DirEntry, error) {
	if dir == "" {
		dir = "."
	}
	return s.p.FS().ReadDir(s.p.Abs(dir))
}

// cmdSubst is $(…).
func (s *Shell) cmdSubst(w io.Writer, cs *syntax.CmdSubst) error {
	if len(cs.Stmts) == 0 {
		s.expand = 0
		return nil
	}
	if word := onlyFile(cs.Stmts); word != nil {
		name := s.literal(word)
		f, err := s.p.Open(name, os.O_RDONLY, 0)
		if err != nil {
			s.errf("%s: %s", name, process.Reason(err))
			s.expand = 1
			return nil
		}
		defer f.Close()
		_, err = io.Copy(w, f.Reader(s.p.Context()))
		s.expand = 0
		return err
	}
	c, err := s.fork()
	if err != nil {
		return err
	}
	if !s.opt.inheritErrexit && !s.posix {
		c.opt.errexit = false
	}
	cap := &capture{closed: make(chan struct{})}
	c.p.SetFD(1, process.NewFD(cap))
	s.expand = c.p.Run(c.body(func(c *Shell) { c.tailStmts(cs.Stmts) }))
	// What was started in the background there may still hold the output.
	select {
	case <-cap.closed:
	case <-s.p.Context().Done():
		return context.Cause(s.p.Context())
	}
	_, err = w.Write(cap.buf)
	return err
}

// tailStmts runs statements of which the last may take over the process.
func (s *Shell) tailStmts(l []*syntax.Stmt) {
	n := len(l)
	s.stmts(l[:n-1])
	if s.ctl == ctlNone {
		s.tail = true
		s.stmts(l[n-1:])
	}
}

// onlyFile returns the word of $(<file).
func onlyFile(l []*syntax.Stmt) *syntax.Word {
	if len(l) != 1 || l[0].Cmd != nil || len(l[0].Redirs) != 1 || l[0].Redirs[0].Op != syntax.RdrIn || l[0].Background || l[0].Negated {
		return nil
	}
	return l[0].Redirs[0].Word
}

// capture collects the output of a command substitution until the last writer closes it.
type capture struct {
	mu     sync.Mutex
	buf    []byte
	closed chan struct{}
}

func (c *capture) Read(context.Context, []byte) (int, error) { return 0, io.EOF }

func (c *capture) Write(_ context.Context, b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// NUL bytes do not survive a command substitution.
	for _, x := range b {
		if x != 0 {
			c.buf = append(c.buf, x)
		}
	}
	return len(b), nil
}

func (c *capture) Close() error {
	close(c.closed)
	return nil
}

// procSubst is <(…) and >(…): a pipe under /dev/fd.
func (s *Shell) procSubst(ps *syntax.ProcSubst) (string, error) {
	c, err := s.fork()
	if err != nil {
		return "", err
	}
	r, w := process.Pipe()
	mine, theirs, n := r, w, 1
	if ps.Op == syntax.CmdOut {
		mine, theirs, n = w, r, 0
	}
	c.p.SetFD(n, theirs)
	fd := 63
	for s.p.FD(fd) != nil {
		fd--
	}
	s.p.SetFD(fd, mine)
	s.subst = append(s.subst, fd)
	s.bgPID = c.p.PID
	c.p.Start(c.body(func(c *Shell) { c.tailStmts(ps.Stmts) }))
	return "/dev/fd/" + strconv.Itoa(fd), nil
}
