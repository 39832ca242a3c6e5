package process

import (
	"strconv"
	"strings"
	"syscall"
)

// Signal is a Unix signal number.
type Signal int

// The signals that scripts use.
const (
	SIGHUP  Signal = 1
	SIGINT  Signal = 2
	SIGQUIT Signal = 3
	SIGKILL Signal = 9
	SIGUSR1 Signal = 10
	SIGUSR2 Signal = 12
	SIGPIPE Signal = 13
	SIGALRM Signal = 14
	SIGTERM Signal = 15
	SIGCHLD Signal = 17
	SIGCONT Signal = 18
	SIGSTOP Signal = 19
	SIGTSTP Signal = 20
	SIGWIN  Signal = 28
)

var signalNames = map[Signal]string{
	SIGHUP: "HUP", SIGINT: "INT", SIGQUIT: "QUIT", SIGKILL: "KILL", SIGUSR1: "USR1", SIGUSR2: "USR2",
	SIGPIPE: "PIPE", SIGALRM: "ALRM", SIGTERM: "TERM", SIGCHLD: "CHLD", SIGCONT: "CONT", SIGSTOP: "STOP",
	SIGTSTP: "TSTP",
	SIGWIN:  "WINCH",
}

// ParseSignal accepts 9, KILL, SIGKILL in any case, and 0.
func ParseSignal(s string) (Signal, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return Signal(n), n >= 0 && n <= 64
	}
	s = strings.TrimPrefix(strings.ToUpper(s), "SIG")
	for n, name := range signalNames {
		if name == s {
			return n, true
		}
	}
	return 0, false
}

// Killed is why a process ended that a signal ended.
type Killed struct{ Signal Signal }

// Error names the signal.
func (k Killed) Error() string { return "killed by SIG" + signalNames[k.Signal] }

// Signal sends sig to the process. Signal 0 does nothing.
func (p *Proc) Signal(sig Signal) {
	switch sig {
	case 0, SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGWIN:
		return
	case SIGKILL:
	default:
		if h := p.handler.Load(); h != nil && (*h)(sig) {
			return
		}
	}
	p.cancel(Killed{sig})
}

// Handle makes f see every signal (except KILL) first; f returns true if it dealt with it. f is called on the sender's
// goroutine and must only take a note.
func (p *Proc) Handle(f func(Signal) bool) { p.handler.Store(&f) }

// Kill sends sig to pid, or to the process group -pid, with the permissions of the caller p.
func (p *Proc) Kill(pid int, sig Signal) error {
	found := false
	for _, q := range p.Sys.Procs() {
		if q.PID != pid && (pid >= -1 || q.Group() != -pid) {
			continue
		}
		found = true
		if p.Cred.UID != 0 && p.Cred.UID != q.Cred.UID {
			return syscall.EPERM
		}
		q.Signal(sig)
	}
	if !found {
		return syscall.ESRCH
	}
	return nil
}
