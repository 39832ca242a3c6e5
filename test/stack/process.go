package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a child that dies with its parent.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// start runs a program with extra environment; its output goes to out.
func start(out, stdout io.Writer, env []string, name string, args ...string) (*Process, error) {
	cmd := exec.Command(name, args...) //nolint:noctx // lives until it is stopped, not as long as a context
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = out
	cmd.Stdout = stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process as a crash does (SIGKILL) and waits for it.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // gone already is as good
	<-p.done
}

// Signal sends a signal, for SIGSTOP and SIGCONT.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop asks the process to end and kills it when it has not within the time.
func (p *Process) Stop(within time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(within):
		p.Kill()
		return fmt.Errorf("%s did not stop within %s", p.cmd.Path, within)
	}
}

// Usage is what a process has used and holds.
type Usage struct {
	CPU  time.Duration // user and system time
	RSS  int64         // resident memory, bytes
	Own  int64         // the part of RSS that is not pages of files, such as those of the program; bytes
	Peak int64         // its highest value, bytes
}

// Usage reads /proc.
func (p *Process) Usage() (Usage, error) {
	var u Usage
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return u, err
	}
	// Fields 14 and 15 (utime, stime) in ticks of 10 ms, counted after the command's closing bracket.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+2:]))
	var utime, stime int64
	if _, err := fmt.Sscan(fields[11], &utime); err != nil {
		return u, err
	}
	if _, err := fmt.Sscan(fields[12], &stime); err != nil {
		return u, err
	}
	u.CPU = time.Duration(utime+stime) * 10 * time.Millisecond
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return u, err
	}
	u.RSS, u.Peak = kib(string(status), "VmRSS:"), kib(string(status), "VmHWM:")
	u.Own = kib(string(status), "RssAnon:")
	return u, nil
}

// kib reads a size of /proc/pid/status in bytes; 0 when it is not there.
func kib(status, key string) int64 {
	_, rest, ok := strings.Cut(status, key)
	if !ok {
		return 0
	}
	var n int64
	if _, err := fmt.Sscan(rest, &n); err != nil {
		return 0
	}
	return n * 1024
}
