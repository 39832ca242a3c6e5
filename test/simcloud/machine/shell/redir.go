package shell

import (
	"context"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// savedFD is a descriptor to put back after a command.
type savedFD struct {
	n   int
	old *process.FD
}

// redirect applies redirections to this process and returns how to undo them. On failure it has printed why, set the
// status and undone everything.
func (s *Shell) redirect(l []*syntax.Redirect) ([]savedFD, bool) {
	var undo []savedFD
	put := func(n int, f *process.FD) {
		undo = append(undo, savedFD{n, s.p.SwapFD(n, f)})
	}
	for _, rd := range l {
		if !s.redirectOne(rd, put) {
			s.restore(undo)
			if s.status == 0 {
				s.status = 1
			}
			return nil, false
		}
	}
	return undo, true
}

// restore puts descriptors back, latest first.
func (s *Shell) restore(undo []savedFD) {
	for _, u := range slices.Backward(undo) {
		if cur := s.p.SwapFD(u.n, u.old); cur != nil {
			cur.Close()
		}
	}
}

func (s *Shell) redirectOne(rd *syntax.Redirect, put func(int, *process.FD)) bool {
	n, named := defaultFD(rd.Op), ""
	if rd.N != nil {
		if v, err := strconv.Atoi(rd.N.Value); err == nil {
			n = v
		} else {
			named = strings.Trim(rd.N.Value, "{}")
		}
	}
	if rd.Op == syntax.Hdoc || rd.Op == syntax.DashHdoc {
		put(n, process.NewFD(process.FromIO(strings.NewReader(s.heredoc(rd)), nil, nil)))
		return s.ctl == ctlNone
	}
	if rd.Op == syntax.WordHdoc {
		put(n, process.NewFD(process.FromIO(strings.NewReader(s.literal(rd.Word)+"\n"), nil, nil)))
		return s.ctl == ctlNone
	}
	words := s.fields(rd.Word)
	if s.ctl != ctlNone || len(words) != 1 {
		if s.ctl == ctlNone {
			s.errf("ambiguous redirect")
		}
		return false
	}
	arg := words[0]
	if rd.Op == syntax.DplIn || rd.Op == syntax.DplOut {
		return s.duplicate(rd, n, named, arg, put)
	}
	flag := os.O_RDONLY
	switch rd.Op {
	case syntax.RdrOut, syntax.RdrAll, syntax.RdrClob:
		flag = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	case syntax.AppOut, syntax.AppAll:
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	case syntax.RdrInOut:
		flag = os.O_RDWR | os.O_CREATE
	default:
	}
	f, err := s.open(arg, flag)
	if err != nil {
		s.errf("%s: %s", arg, process.Reason(err))
		return false
	}
	if rd.Op == syntax.RdrOut && s.opt.noclobber {
		// The check comes after the fact; good enough for a lock file made by one shell.
		if st := f.File(); st != nil && st.Stat().Size() > 0 {
			f.Close()
			s.errf("%s: cannot overwrite existing file", arg)
			return false
		}
	}
	if named != "" {
		n = s.p.FreeFD(10)
		s.setStr(named, strconv.Itoa(n))
		s.p.SetFD(n, f)
		return true
	}
	put(n, f)
	if rd.Op == syntax.RdrAll || rd.Op == syntax.AppAll {
		put(2, f.Dup())
	}
	return true
}

func defaultFD(op syntax.RedirOperator) int {
	switch op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return 0
	default:
		return 1
	}
}

// duplicate is n>&m, n<&m, n>&- and n>&m-, and >&file.
func (s *Shell) duplicate(rd *syntax.Redirect, n int, named, arg string, put func(int, *process.FD)) bool {
	if arg == "-" {
		if named != "" {
			if v, err := strconv.Atoi(s.get(named).String()); err == nil {
				s.p.SetFD(v, nil)
			}
			return true
		}
		put(n, nil)
		return true
	}
	src, move := strings.CutSuffix(arg, "-")
	m, err := strconv.Atoi(src)
	if err != nil {
		if rd.Op != syntax.DplOut || rd.N != nil {
			s.errf("%s: ambiguous redirect", arg)
			return false
		}
		f, err := s.open(arg, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			s.errf("%s: %s", arg, process.Reason(err))
			return false
		}
		put(1, f)
		put(2, f.Dup())
		return true
	}
	f := s.p.FD(m)
	if f == nil {
		s.errf("%d: Bad file descriptor", m)
		return false
	}
	f = f.Dup()
	if named != "" {
		n = s.p.FreeFD(10)
		s.setStr(named, strconv.Itoa(n))
		s.p.SetFD(n, f)
		return true
	}
	put(n, f)
	if move {
		put(m, nil)
	}
	return true
}

// dialTimeout is how long opening /dev/tcp waits, on the machine's clock.
const dialTimeout = 2 * time.Minute

// open opens a file, or connects for /dev/tcp/host/port.
func (s *Shell) open(name string, flag int) (*process.FD, error) {
	if rest, ok := strings.CutPrefix(name, "/dev/tcp/"); ok && !s.posix {
		host, port, _ := strings.Cut(rest, "/")
		ctx, cancel := s.p.Sys.Clock.WithTimeout(s.p.Context(), dialTimeout)
		defer cancel()
		conn, err := s.p.Sys.Net.Dial(ctx, net.JoinHostPort(host, port))
		if err != nil {
			s.errf("connect: %s", process.Reason(err))
			return nil, err
		}
		return process.NewFD(connStream{conn}), nil
	}
	return s.p.Open(name, flag, 0o666)
}

// connStream is a network connection as a descriptor.
type connStream struct{ net.Conn }

func (c connStream) Read(ctx context.Context, b []byte) (int, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	return c.Conn.Read(b)
}

func (c connStream) Write(_ context.Context, b []byte) (int, error) { return c.Conn.Write(b) }

// heredoc expands the body of a here-document.
func (s *Shell) heredoc(rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	quoted := false
	for _, part := range rd.Word.Parts {
		switch p := part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted = true
		case *syntax.Lit:
			quoted = quoted || strings.Contains(p.Value, `\`)
		}
	}
	body := func(w *syntax.Word) string {
		if lit := w.Lit(); quoted && lit != "" {
			return lit
		}
		return s.document(w)
	}
	if rd.Op != syntax.DashHdoc {
		return body(rd.Hdoc)
	}
	// <<- drops leading tabs of the lines as written, not of what expansions yield.
	word := &syntax.Word{}
	start := true
	for _, part := range rd.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			word.Parts = append(word.Parts, part)
			start = false
			continue
		}
		var b strings.Builder
		for line := range strings.Lines(lit.Value) {
			if start {
				line = strings.TrimLeft(line, "\t")
			}
			b.WriteString(line)
			start = strings.HasSuffix(line, "\n")
		}
		word.Parts = append(word.Parts, &syntax.Lit{Value: b.String()})
	}
	return body(word)
}
