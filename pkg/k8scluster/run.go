package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// checkpoint is what a step that runs the script remembers.
type checkpoint struct {
	// Attempt numbers the runs on the node; each has its own directory there.
	Attempt int `json:"try"`
	// Offset is the position in the run's log up to which lines are in the step's log.
	Offset int64 `json:"offset,omitempty"`
	// Ended says that this run has failed, so that the next attempt starts another.
	Ended bool `json:"ended,omitempty"`
	// Round is the scriptRun.round in which the run started.
	Round time.Time `json:"round,omitzero"`
	// Met is when the machine answered for the first time, even if it refused the login.
	Met time.Time `json:"met,omitzero"`
	// Seen is when it last answered.
	Seen time.Time `json:"seen,omitzero"`
}

// Exit statuses of a script that a signal has ended: 128 + SIGKILL, 128 + SIGTERM.
const (
	killed     = 137
	terminated = 143
)

// maxRestarts bounds how often a run that vanished with its machine is started again.
const maxRestarts = 5

// scriptRun is one run of the installation script on a node, as one durable step.
type scriptRun struct {
	o     Options
	s     *lcm.Step
	n     node
	doing string // for messages: "prepare", …
	id    func(attempt int) string
	// job makes the run with that id. It is called only when the node does not have the run yet.
	job     func(ctx context.Context, id string) (remote.Job, error)
	secrets []string // to be hidden in the log
	clock   lcm.Clock
	// round is when the operation entered its state: it changes when a user retries.
	round time.Time
	// once says that a run that vanished may start again only when a user asks for it.
	once bool
	// fails, if set, makes the error of a run that ended with this exit status.
	fails func(ctx context.Context, code int) error

	cp checkpoint
}

// follow starts the run, or finds it on the node, and follows it to its end, also when connections fail and machines
// reboot. The step ends with the run.
func (r *scriptRun) follow(ctx context.Context) error {
	if _, err := r.s.Load(&r.cp); err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	if r.cp.Attempt == 0 || r.cp.Ended {
		if err := r.startNext(ctx); err != nil {
			return err
		}
	}
	pause := backoff{first: 250 * time.Millisecond, longest: 2 * time.Second}
	for {
		st, err := r.followOnce(ctx)
		if err == nil {
			again, err := r.settle(ctx, st)
			if !again {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			return err
		}
		if fatal := r.mayWait(err); fatal != nil {
			return fatal
		}
		if why := fmt.Sprintf("waits for SSH on %s: %v", r.n.target, cause(err)); why != r.s.Told() {
			if err := errors.Join(r.s.Waits(ctx, why), r.s.Save(ctx, r.cp)); err != nil {
				return err
			}
		}
		if err := pause.wait(ctx); err != nil {
			return lcm.Wait(0, r.s.Told())
		}
	}
}

// settle acts on the state in which the node leaves the run. It returns true when the run was started again.
func (r *scriptRun) settle(ctx context.Context, st remote.Status) (again bool, err error) {
	failed := st.State == remote.Exited && st.Code != killed && st.Code != terminated
	switch {
	case st.State == remote.Exited && st.Code == 0:
		r.s.Detail(r.n.String())
		return false, nil
	case failed && r.cp.Round.Equal(r.round):
		return false, r.ended(ctx, st.Code)
	case failed:
		// It failed while the operation had stopped because of another node. The cause may have been removed since.
		r.s.Logf(ctx, fmt.Sprintf(
			"the script failed with exit status %d before the operation was retried; starting it again", st.Code,
		))
		err = r.startNext(ctx)
	case r.once:
		return false, r.cutOff(ctx, st)
	default: // lost or absent: the machine rebooted
		err = r.restart(ctx)
	}
	return err == nil, err
}

// followOnce follows the run over one connection.
func (r *scriptRun) followOnce(ctx context.Context) (remote.Status, error) {
	c, release, err := r.o.Connect(ctx, r.n.target)
	if err != nil {
		return remote.Status{}, err
	}
	defer release()
	r.cp.Seen = r.clock.Now()
	if r.cp.Met.IsZero() {
		r.cp.Met = r.cp.Seen
	}
	id := r.id(r.cp.Attempt)
	st, err := short(ctx, r.o, func(ctx context.Context) (remote.Status, error) { return c.Status(ctx, id) })
	if err != nil {
		return st, err
	}
	if st.State == remote.Absent && r.cp.Offset > 0 {
		return st, nil // it was running: the machine has rebooted and lost it
	}
	if st.State == remote.Absent {
		job, err := r.job(ctx, id)
		if err != nil {
			return st, err
		}
		if st, err = short(ctx, r.o, func(ctx context.Context) (remote.Status, error) {
			st, _, err := c.StartOrAdopt(ctx, job)
			return st, err
		}); err != nil {
			return st, err
		}
	}
	if answers := r.n.String() + " answers"; r.s.Told() != "" && r.s.Told() != answers { // the waiting is over
		if err := r.s.Tell(ctx, answers); err != nil {
			return st, err
		}
	}
	return r.read(ctx, c, id)
}

// read hands the run's log to the step's. The offset is saved after the lines before it, so a crash repeats lines and
// loses none.
func (r *scriptRun) read(ctx context.Context, c Connection, id string) (remote.Status, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	at := r.cp.Offset
	keep := func(ctx context.Context) error {
		mu.Lock()
		offset := at
		mu.Unlock()
		if err := r.s.Flush(ctx); err != nil {
			return err
		}
		if offset == r.cp.Offset {
			return nil
		}
		r.cp.Offset, r.cp.Seen = offset, r.clock.Now()
		return r.s.Save(ctx, r.cp)
	}
	var keeper sync.WaitGroup
	stop := make(chan struct{})
	keeper.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			if err := keep(ctx); err != nil { // for example, another node owns the operation now
				cancel(err)
				return
			}
		}
	})
	st, err := c.Follow(ctx, id, at, func(text string, next int64) {
		r.s.Logf(ctx, mask(text, r.secrets))
		mu.Lock()
		at = next
		mu.Unlock()
	})
	close(stop)
	keeper.Wait()
	if kept := keep(context.WithoutCancel(ctx)); kept != nil {
		return st, kept
	}
	return st, err
}

// ended makes the error of a run that has failed.
func (r *scriptRun) ended(ctx context.Context, code int) error {
	if r.fails != nil {
		err := r.fails(ctx, code)
		r.cp.Ended = true
		return errors.Join(err, r.s.Save(ctx, r.cp))
	}
	lines := r.lastLines(ctx)
	r.cp.Ended = true
	if err := r.s.Save(ctx, r.cp); err != nil {
		return err
	}
	return scriptError(r.n, r.doing, code, lines)
}

// lastLines reads the end of the run's log, which an earlier tick may have read already. It is only for the message.
func (r *scriptRun) lastLines(ctx context.Context) []string {
	c, release, err := r.o.Connect(ctx, r.n.target)
	if err != nil {
		return nil
	}
	defer release()

	out, err := short(ctx, r.o, func(ctx context.Context) ([]byte, error) {
		return c.Output(ctx, "tail -n 5 "+remote.Dir(r.id(r.cp.Attempt))+"/log", nil, 64<<10)
	})
	if err != nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(out), "\uFFFD")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, mask(line, r.secrets))
		}
	}
	if messages := slices.DeleteFunc(slices.Clone(lines), traced.MatchString); len(messages) > 0 {
		return messages
	}
	return lines
}

// traced is a line of a shell that traces its commands (set -o xtrace).
var traced = regexp.MustCompile(`^\++ `)

// restart starts a new run in place of one that vanished.
func (r *scriptRun) restart(ctx context.Context) error {
	if r.cp.Attempt >= maxRestarts {
		r.cp.Ended = true
		if err := r.s.Save(ctx, r.cp); err != nil {
			return err
		}
		return &lcm.Error{
			Code: lcm.CodeUpstream, Title: "Node failed",
			Detail: fmt.Sprintf("%s: the script vanished %d times before its end", r.n.during(r.doing), r.cp.Attempt),
			Hint:   "the machine seems to reboot again and again; look at its console log",
		}
	}
	r.s.Logf(ctx, "the script vanished before its end: it was killed, or the machine rebooted; starting it again")
	return r.startNext(ctx)
}

// startNext turns to another run.
func (r *scriptRun) startNext(ctx context.Context) error {
	r.cp.Attempt, r.cp.Offset, r.cp.Ended, r.cp.Round = r.cp.Attempt+1, 0, false, r.round
	return r.s.Save(ctx, r.cp)
}

// mayWait decides whether to wait after a failure to reach the machine. It returns the error that ends the step, or nil
// to wait.
func (r *scriptRun) mayWait(err error) error {
	now := r.clock.Now()
	since := func(t time.Time) time.Duration { // a retry waits as long as the first attempt did
		for _, begun := range []time.Time{r.s.Started(), r.round} {
			if t.Before(begun) {
				t = begun
			}
		}
		return now.Sub(t)
	}
	if _, ok := errors.AsType[*lcm.Error](err); ok { // making the job failed: the error is about another node
		return err
	}
	e, ok := errors.AsType[*lcm.Error](nodeError(r.n, r.doing, err))
	switch {
	case !ok:
		return err
	case e.Class == lcm.Auth:
		if r.cp.Met.IsZero() {
			r.cp.Met = now
		}
		if since(r.cp.Met) < r.o.AuthTimeout {
			return nil
		}
	case e.Class == lcm.Transient:
		if since(r.cp.Seen) < r.o.BootTimeout {
			return nil
		}
		e.Class = lcm.Permanent // the time is over
	}
	return e
}

// short bounds a short exchange with a node.
func short[T any](ctx context.Context, o Options, fn func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, o.CommandTimeout, errSlow)
	defer cancel()
	v, err := fn(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = &remote.Error{Kind: remote.KindTimeout, Op: "run", Err: errSlow}
	}
	return v, err
}

// cutOff ends a step whose run vanished before its end, and which may start again only when a user asks for it.
func (r *scriptRun) cutOff(ctx context.Context, st remote.Status) error {
	r.cp.Ended = true
	if err := r.s.Save(ctx, r.cp); err != nil {
		return err
	}
	how := "it was killed, or the machine rebooted"
	if st.State == remote.Exited {
		how = fmt.Sprintf("it was killed (exit status %d)", st.Code)
	}
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Node installation cut off",
		Detail: fmt.Sprintf("%s: the package's script did not reach its end: %s", r.n.during(r.doing), how),
		Hint: "it is not known whether the script may run again on the machine as it is now; retry the operation " +
			"only if it may; a node that has joined by then is left alone",
	}
}
