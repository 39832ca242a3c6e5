// Package process is the kernel side of a simulated machine as its programs see it: a process table, file
// descriptors, pipes, signals, users and the clock. Programs are Go functions; every process is a call of one.
package process

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// Program is the code of a process. It returns the exit status. It must return soon after ctx ends.
type Program func(ctx context.Context, p *Proc) int

// elf begins the content of an executable file; the name of its program follows.
const elf = "\x7fELF\x02\x01\x01 simulated program: "

// Executable is the content of an executable file that runs the program registered as name.
func Executable(name string) []byte { return []byte(elf + name + "\n") }

// Binary returns the program name behind the content of an executable, if it is one of ours.
func Binary(content []byte) (string, bool) {
	rest, ok := strings.CutPrefix(string(content), elf)
	return strings.TrimSuffix(rest, "\n"), ok
}

// Network is how the programs of a machine reach others.
type Network interface {
	// Dial connects to host:port from inside the machine; host may be a name of /etc/hosts.
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// System is one machine's kernel. Fill the exported fields before the first process starts and leave them alone then.
type System struct {
	FS    *memfs.FS
	Clock *Clock
	Net   Network
	// Hostname and SetHostname are the kernel's host name.
	Hostname    func() string
	SetHostname func(string)
	// Lookup finds a program by the name in its executable file.
	Lookup func(name string) Program
	// Before runs ahead of each program that a file starts. With ok, the program is not run and status is its result.
	Before func(ctx context.Context, p *Proc) (status int, ok bool)
	// After receives the status with which a program ended, and returns the status that shall count.
	After func(p *Proc, status int, took time.Duration) int

	mu    sync.Mutex
	procs map[int]*Proc
	last  int
	ctx   context.Context //nolint:containedctx // the power: ends when the machine is switched off
	off   context.CancelCauseFunc
	wg    sync.WaitGroup
}

// PowerOn lets processes start; they live until ctx ends or PowerOff is called.
func (s *System) PowerOn(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.off = context.WithCancelCause(ctx)
	s.procs = map[int]*Proc{}
	s.last = 400
}

// Halt ends every process at once, without waiting for it; none can start any more.
func (s *System) Halt() {
	s.mu.Lock()
	off := s.off
	s.off = nil
	s.mu.Unlock()
	if off != nil {
		off(Killed{SIGKILL})
	}
}

// PowerOff is Halt, and waits until all processes are gone.
func (s *System) PowerOff() {
	s.Halt()
	s.wg.Wait()
}

// Context ends with the power.
func (s *System) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// Procs lists the living processes by pid.
func (s *System) Procs() []*Proc {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Proc, 0, len(s.procs))
	for _, p := range s.procs {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *Proc) int { return cmp.Compare(a.PID, b.PID) })
	return out
}

// Go runs f as work of the machine: PowerOff waits for it. After PowerOff it is not run and Go returns false.
func (s *System) Go(f func(ctx context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off == nil {
		return false
	}
	ctx := s.ctx
	s.wg.Go(func() { f(ctx) })
	return true
}
