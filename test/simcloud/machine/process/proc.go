package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// Proc is one process. Its fields and descriptors belong to the goroutine that runs it; Signal, Done and the ids may
// be used from anywhere.
type Proc struct {
	Sys                  *System
	PID, PPID, PGID, SID int
	Args                 []string
	Env                  map[string]string
	Dir                  string
	Cred                 memfs.Cred
	Umask                fs.FileMode
	Started              time.Time
	// TTY reports whether a terminal was asked for.
	TTY bool
	// Quiet keeps the process, and what it starts, out of journals and faults (health checks).
	Quiet bool

	fds     map[int]*FD
	ctx     context.Context //nolint:containedctx // a process is a context: ends when it is killed
	cancel  context.CancelCauseFunc
	done    chan struct{}
	status  int
	handler atomic.Pointer[func(Signal) bool]
	line    atomic.Pointer[[]string]
}

// errOff is what starting a process on a machine without power gives.
var errOff = errors.New("machine is switched off")

// NewProc makes a process without parent (a login, a daemon). The caller sets descriptors with SetFD, then calls Run
// or Start exactly once.
func (s *System) NewProc(a Account, args ...string) (*Proc, error) {
	p := &Proc{
		Sys: s, PPID: 1, Args: args, Cred: a.Cred, Dir: a.Home, Umask: 0o022,
		Env: map[string]string{
			"HOME": a.Home, "USER": a.Name, "LOGNAME": a.Name, "SHELL": a.Shell, "LANG": "C.UTF-8",
			"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin",
		},
	}
	if err := s.admit(p); err != nil {
		return nil, err
	}
	p.PGID, p.SID = p.PID, p.PID
	return p, nil
}

func (s *System) admit(p *Proc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off == nil {
		return errOff
	}
	s.last++
	p.PID = s.last
	p.fds = map[int]*FD{}
	p.done = make(chan struct{})
	p.ctx, p.cancel = context.WithCancelCause(s.ctx)
	p.Started = s.Clock.Now()
	return nil
}

// publish enters the process into the table, where others see it.
func (p *Proc) publish() {
	p.Announce()
	p.Sys.mu.Lock()
	defer p.Sys.mu.Unlock()
	p.Sys.procs[p.PID] = p
}

// Announce makes the present Args what ps shows; call it after changing them in a running process (exec).
func (p *Proc) Announce() {
	args := slices.Clone(p.Args)
	p.line.Store(&args)
}

// Cmdline is the command line as ps shows it.
func (p *Proc) Cmdline() []string {
	if l := p.line.Load(); l != nil {
		return *l
	}
	return nil
}

// Group is the process group.
func (p *Proc) Group() int {
	p.Sys.mu.Lock()
	defer p.Sys.mu.Unlock()
	return p.PGID
}

// Fork makes a child with a copy of everything, descriptors included. Like NewProc's, it must be Run or Started.
func (p *Proc) Fork() (*Proc, error) {
	c := &Proc{
		Sys: p.Sys, PPID: p.PID, PGID: p.PGID, SID: p.SID, Args: p.Args, Env: p.Env, Dir: p.Dir, Cred: p.Cred,
		Umask: p.Umask, TTY: p.TTY, Quiet: p.Quiet,
	}
	if err := p.Sys.admit(c); err != nil {
		return nil, err
	}
	for n, f := range p.fds {
		c.fds[n] = f.Dup()
	}
	return c, nil
}

// NewSession makes the process leader of a new session and process group.
func (p *Proc) NewSession() {
	p.Sys.mu.Lock()
	defer p.Sys.mu.Unlock()
	p.PGID, p.SID = p.PID, p.PID
}

// Run runs prog to its end on this goroutine and returns the exit status.
func (p *Proc) Run(prog Program) int {
	p.publish()
	status := prog(p.ctx, p)
	p.finish(status)
	return p.status
}

// Start runs prog on a goroutine of the machine.
func (p *Proc) Start(prog Program) {
	p.publish()
	if !p.Sys.Go(func(context.Context) { p.Run(prog) }) {
		p.finish(int(128 + SIGKILL))
	}
}

func (p *Proc) finish(status int) {
	if k, ok := errors.AsType[Killed](context.Cause(p.ctx)); ok {
		status = 128 + int(k.Signal)
	}
	p.status = status & 0xff
	for n, f := range p.fds {
		f.Close()
		delete(p.fds, n)
	}
	p.Sys.mu.Lock()
	if p.Sys.procs[p.PID] == p {
		delete(p.Sys.procs, p.PID)
	}
	p.Sys.mu.Unlock()
	close(p.done)
	p.cancel(nil)
}

// Done is closed when the process has ended.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Wait waits for the end and returns the exit status; the error is ctx's cause if that ends first.
func (p *Proc) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.status, nil
	case <-ctx.Done():
		select {
		case <-p.done:
			return p.status, nil
		default:
			return 0, context.Cause(ctx)
		}
	}
}

// Context ends when the process is killed.
func (p *Proc) Context() context.Context { return p.ctx }

// FD returns a descriptor, nil if it is closed.
func (p *Proc) FD(n int) *FD { return p.fds[n] }

// SetFD makes n lead to f, closing what was there; nil closes. The process owns f from now on.
func (p *Proc) SetFD(n int, f *FD) {
	if old := p.fds[n]; old != nil && old != f {
		old.Close()
	}
	if f == nil {
		delete(p.fds, n)
		return
	}
	p.fds[n] = f
}

// FreeFD is the lowest free descriptor from first on.
func (p *Proc) FreeFD(first int) int {
	for p.fds[first] != nil {
		first++
	}
	return first
}

// In is standard input.
func (p *Proc) In() io.Reader {
	if f := p.fds[0]; f != nil {
		return f.Reader(p.ctx)
	}
	return badFD{}
}

// Out is standard output. Writing to a pipe without a reader ends the process as SIGPIPE does.
func (p *Proc) Out() io.Writer { return p.writer(1) }

// Err is standard error.
func (p *Proc) Err() io.Writer { return p.writer(2) }

func (p *Proc) writer(n int) io.Writer {
	if f := p.fds[n]; f != nil {
		return sigpipe{p, f.Writer(p.ctx)}
	}
	return badFD{}
}

type badFD struct{}

func (badFD) Read([]byte) (int, error)  { return 0, syscall.EBADF }
func (badFD) Write([]byte) (int, error) { return 0, syscall.EBADF }

type sigpipe struct {
	p *Proc
	w io.Writer
}

func (s sigpipe) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		s.p.Signal(SIGPIPE)
	}
	return n, err
}

// Printf writes to standard output.
func (p *Proc) Printf(format string, a ...any) { _, _ = fmt.Fprintf(p.Out(), format, a...) }

// Errorf writes to standard error and returns 1, the usual status of a failed program.
func (p *Proc) Errorf(format string, a ...any) int {
	_, _ = fmt.Fprintf(p.Err(), format, a...)
	return 1
}

// Name is the program's name for messages: the last part of Args[0].
func (p *Proc) Name() string { return path.Base(p.Args[0]) }

// FS is the file tree as this process may use it.
func (p *Proc) FS() memfs.View { return p.Sys.FS.As(p.Cred) }

// Abs makes a path absolute against the working directory.
func (p *Proc) Abs(name string) string {
	if name == "" || path.IsAbs(name) {
		return name
	}
	if strings.HasSuffix(name, "/") {
		return path.Join(p.Dir, name) + "/"
	}
	return path.Join(p.Dir, name)
}

// Open opens a file of the tree, or /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N; flags as for os.OpenFile, perm
// before the umask.
func (p *Proc) Open(name string, flag int, perm fs.FileMode) (*FD, error) {
	abs := p.Abs(name)
	if n, ok := fdPath(abs); ok {
		f := p.fds[n]
		if f == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
		}
		return f.Dup(), nil
	}
	f, err := p.FS().Open(abs, flag, perm&^p.Umask)
	if err != nil {
		return nil, err
	}
	return NewFD(OpenFile(f)), nil
}

func fdPath(abs string) (int, bool) {
	switch abs {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, prefix := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if s, ok := strings.CutPrefix(abs, prefix); ok {
			n, err := strconv.Atoi(s)
			return n, err == nil
		}
	}
	return 0, false
}

// ReadFile reads a whole file; "-" is standard input.
func (p *Proc) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(p.In())
	}
	f, err := p.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(f.Reader(p.ctx))
	return b.Bytes(), err
}

// WriteFile replaces a file's content; a new file gets perm without the umask bits.
func (p *Proc) WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := p.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Writer(p.ctx).Write(data)
	return err
}

// Sleep waits on the machine's clock.
func (p *Proc) Sleep(d time.Duration) error { return p.Sys.Clock.Sleep(p.ctx, d) }
