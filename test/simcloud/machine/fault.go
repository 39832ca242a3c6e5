package machine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Failure makes a command fail on a machine.
type Failure struct {
	// Command is the beginning of a command line: "kubeadm join", "apt-get". Words must match whole.
	Command string
	// Exit is the status it ends with (0 counts as 1) and Stderr what it prints before.
	Exit   int
	Stderr string
	// Times is how often it fails before it works again; 0: always.
	Times int
	// After lets the command do its work first and fail only then.
	After bool
	// Pass lets the command do its work after Notify and Delay.
	Pass bool
	// Hang makes it never end instead of failing.
	Hang bool
	// Delay is how long it takes until it fails, in simulated time.
	Delay time.Duration
	// Notify, if not nil, is called each time that the failure is about to take effect, before Delay.
	Notify func()
}

// SSHFault disturbs a machine's SSH server.
type SSHFault struct {
	// Refuse closes the port.
	Refuse bool
	// Silent accepts connections and says nothing.
	Silent bool
	// RejectLogins is how many logins are refused although they are right; -1: all.
	RejectLogins int
}

// Entry is one line of a machine's journal.
type Entry struct {
	Time time.Time
	// Kind is "ssh" (a command that a client sent), "exec" (a program that ran), "sftp" (a file written or read),
	// "login", or "power" (on, off).
	Kind string
	User string
	PID  int
	// Line is the command line, or the file's name.
	Line string
	// Exit is the status and Took the simulated time of a program.
	Exit int
	Took time.Duration
}

// maxJournal bounds the entries kept per machine; the oldest are dropped.
const maxJournal = 20000

// faults is what tests do to a fleet, and what they look at.
type faults struct {
	fmu     sync.RWMutex
	delays  map[string]time.Duration
	fails   map[string][]*Failure // by machine id; "" for all
	journal map[string][]Entry
	fclock  *process.Clock
}

func (f *faults) init(c *process.Clock) {
	f.delays, f.fails = map[string]time.Duration{}, map[string][]*Failure{}
	f.journal, f.fclock = map[string][]Entry{}, c
}

// SetDelays sets the delays of the named steps and leaves the others; 0 removes one. See Options.Delays.
func (f *faults) SetDelays(d map[string]time.Duration) {
	f.fmu.Lock()
	defer f.fmu.Unlock()
	for k, v := range d {
		if k = strings.Join(strings.Fields(k), " "); v <= 0 {
			delete(f.delays, k)
		} else {
			f.delays[k] = v
		}
	}
}

// Fail adds a failure to a machine, or to all with id "".
func (f *faults) Fail(id string, fail Failure) {
	fail.Command = strings.Join(strings.Fields(fail.Command), " ")
	if fail.Times == 0 {
		fail.Times = -1
	}
	f.fmu.Lock()
	defer f.fmu.Unlock()
	f.fails[id] = append(f.fails[id], &fail)
}

// ClearFailures removes the failures of a machine, or those of all machines with id "".
func (f *faults) ClearFailures(id string) {
	f.fmu.Lock()
	defer f.fmu.Unlock()
	delete(f.fails, id)
}

// Journal returns what happened on a machine, oldest first.
func (f *faults) Journal(id string) []Entry {
	f.fmu.RLock()
	defer f.fmu.RUnlock()
	return slices.Clone(f.journal[id])
}

// Count says how many programs whose command line begins with the words of command have ended with status 0 on a
// machine.
func (f *faults) Count(id, command string) int {
	n := 0
	for _, e := range f.Journal(id) {
		if e.Kind == "exec" && e.Exit == 0 && begins(e.Line, command) {
			n++
		}
	}
	return n
}

func (f *faults) record(id string, e Entry) {
	if e.Time.IsZero() {
		e.Time = f.fclock.Now()
	}
	f.fmu.Lock()
	defer f.fmu.Unlock()
	f.journal[id] = append(f.journal[id], e)
	if l := f.journal[id]; len(l) > maxJournal {
		f.journal[id] = slices.Clone(l[len(l)-maxJournal/2:])
	}
}

// begins reports whether line starts with the words of prefix.
func begins(line, prefix string) bool {
	rest, ok := strings.CutPrefix(line, prefix)
	return ok && (rest == "" || rest[0] == ' ' || prefix == "")
}

// delay is how long a step takes: a named one, or a command line.
func (f *faults) delay(step string) time.Duration {
	f.fmu.RLock()
	defer f.fmu.RUnlock()
	best, d := -1, time.Duration(0)
	for k, v := range f.delays {
		prefix := k
		switch k {
		case "init", "join":
			prefix = "kubeadm " + k
		}
		if strings.HasPrefix(prefix, "kubeadm init") && strings.HasPrefix(step, "kubeadm init phase") &&
			!strings.HasPrefix(prefix, "kubeadm init phase") {
			continue
		}
		if len(prefix) > best && begins(step, prefix) {
			best, d = len(prefix), v
		}
	}
	return d
}

// wait is how a machine takes the time of a step.
func (f *faults) wait(ctx context.Context, step string) error {
	if d := f.delay(step); d > 0 {
		return f.fclock.Sleep(ctx, d)
	}
	return nil
}

// failure finds and uses up a failure for a command line.
func (f *faults) failure(id, line string, after bool) *Failure {
	f.fmu.Lock()
	defer f.fmu.Unlock()
	for _, key := range []string{id, ""} {
		for i, x := range f.fails[key] {
			if x.After != after || !begins(line, x.Command) {
				continue
			}
			got := *x
			if x.Times--; x.Times == 0 {
				f.fails[key] = slices.Delete(f.fails[key], i, i+1)
			}
			return &got
		}
	}
	return nil
}

// line is a process's command line with the program's plain name.
func line(p *process.Proc) string {
	return strings.Join(append([]string{p.Name()}, p.Args[1:]...), " ")
}

// before is the hook ahead of each program of a machine.
func (f *faults) before(ctx context.Context, id string, p *process.Proc) (int, bool) {
	text := line(p)
	// kubeadm takes its time in the middle of its work, where an interruption leaves things half done.
	if !ownTime(text) && f.wait(ctx, text) != nil {
		return 1, true
	}
	x := f.failure(id, text, false)
	if x == nil {
		return 0, false
	}
	status := f.play(ctx, p, x)
	return status, !x.Pass || ctx.Err() != nil
}

func ownTime(text string) bool {
	return begins(text, "kubeadm join") || begins(text, "kubeadm upgrade") || begins(text, "kubeadm init") && !begins(
		text, "kubeadm init phase",
	)
}

func (f *faults) play(ctx context.Context, p *process.Proc, x *Failure) int {
	if x.Notify != nil {
		x.Notify()
	}
	if f.fclock.Sleep(ctx, x.Delay) != nil {
		return 1
	}
	if x.Stderr != "" {
		p.Errorf("%s\n", strings.TrimSuffix(x.Stderr, "\n"))
	}
	if x.Hang {
		<-ctx.Done()
	}
	return max(x.Exit, 1)
}
