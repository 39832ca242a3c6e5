package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// Try numbers the runs on the node; each has a directory of its own there.
	Try int `json:"try"`
	// Offset is the position in the run's log up to which lines are in the step's log.
	Offset int64 `json:"offset,omitempty"`
	// Ended says that this run has ended badly, so that the next attempt starts another.
	Ended bool `json:"ended,omitempty"`
	// Round is the scriptRun.round in which the run was started.
	Round time.Time `json:"round,omitzero"`
	// Met is when the machine was first heard of, even if only to refuse us.
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
	d     *Driver
	s     *lcm.Step
	n     node
	doing string // for messages: "prepare", …
	id    func(try int) string
	// job makes the run with that id; it is asked only when the node does not have it yet.
	job     func(ctx context.Context, id string) (remote.Job, error)
	secrets []string // to be hidden in the log
	clock   lcm.Clock
	// round is when the operation entered its state: it changes when a user retries.
	round time.Time
	// once says that a run that vanished may not be started again unless a user asks for it.
	once bool

	cp checkpoint
}

// follow starts the run or finds it on the node, and follows it to its end, whatever happens to connections and machines on the
// way. Its end is the end of the step.
func (r *scriptRun) follow(ctx context.Context) error {
	if _, err := r.s.Load(&r.cp); err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	if r.cp.Try == 0 || r.cp.Ended {
		if err := r.next(ctx); err != nil {
			return err
		}
	}
	patience := backoff{first: 250 * time.Millisecond, longest: 2 * time.Second}
	for {
		st, err := r.attend(ctx)
		switch {
		case err == nil && st.State == remote.Exited && st.Code == 0:
			r.s.Detail(r.n.String())
			return nil
		case err == nil && st.State == remote.Exited && st.Code != killed && st.Code != terminated && r.cp.Round.Equal(r.round):
			return r.ended(ctx, st.Code)
		case err == nil && st.State == remote.Exited && st.Code != killed && st.Code != terminated:
			// Nobody was there to see it, because another node had failed first. What was wrong may have been put right since.
			r.s.Logf(ctx, fmt.Sprintf("the script had ended with exit status %d before the operation was retried; starting it again", st.Code))
			if err := r.next(ctx); err != nil {
				return err
			}
			continue
		case err == nil && r.once:
			return r.cutOff(ctx, st)
		case err == nil: // lost or absent: the machine went down with it
			if err := r.restart(ctx); err != nil {
				return err
			}
			continue
		case ctx.Err() != nil:
			return err
		}
		if fatal := r.patient(err); fatal != nil {
			return fatal
		}
		if why := fmt.Sprintf("waits for SSH on %s: %v", r.n.target, cause(err)); why != r.s.Told() {
			if err := errors.Join(r.s.Waits(ctx, why), r.s.Save(ctx, r.cp)); err != nil {
				return err
			}
		}
		if err := patience.wait(ctx); err != nil {
			return lcm.Wait(0, r.s.Told())
		}
	}
}

// attend follows the run over one connection.
func (r *scriptRun) attend(ctx context.Context) (remote.Status, error) {
	c, release, err := r.d.o.Connect(ctx, r.n.target)
	if err != nil {
		return remote.Status{}, err
	}
	defer release()
	r.cp.Seen = r.clock.Now()
	if r.cp.Met.IsZero() {
		r.cp.Met = r.cp.Seen
	}
	id := r.id(r.cp.Try)
	st, err := short(ctx, r.d, func(ctx context.Context) (remote.Status, error) { return c.Status(ctx, id) })
	if err != nil {
		return st, err
	}
	if st.State == remote.Absent && r.cp.Offset > 0 {
		return st, nil // it had been under way: the machine has been rebooted and has forgotten it
	}
	if st.State == remote.Absent {
		job, err := r.job(ctx, id)
		if err != nil {
			return st, err
		}
		if st, err = short(ctx, r.d, func(ctx context.Context) (remote.Status, error) {
			st, _, err := c.StartOrAdopt(ctx, job)
			return st, err
		}); err != nil {
			return st, err
		}
	}
	if answers := r.n.String() + " answers"; r.s.Told() != "" && r.s.Told() != answers { // it does not wait any more
		if err := r.s.Tell(ctx, answers); err != nil {
			return st, err
		}
	}
	return r.read(ctx, c, id)
}

// read hands the run's log to the step's. The offset is saved after the lines before it, so a crash repeats lines and loses none.
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
			if err := keep(ctx); err != nil { // above all: another node owns the operation now
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

// ended makes the error of a run that has ended badly.
func (r *scriptRun) ended(ctx context.Context, code int) error {
	words := r.lastWords(ctx)
	r.cp.Ended = true
	if err := r.s.Save(ctx, r.cp); err != nil {
		return err
	}
	return scriptError(r.n, r.doing, code, words)
}

// lastWords reads the end of the run's log, which an earlier tick may have read already. It is only for the message.
func (r *scriptRun) lastWords(ctx context.Context) []string {
	c, release, err := r.d.o.Connect(ctx, r.n.target)
	if err != nil {
		return nil
	}
	defer release()
	out, err := short(ctx, r.d, func(ctx context.Context) ([]byte, error) {
		return c.Output(ctx, "tail -n 5 "+remote.Dir(r.id(r.cp.Try))+"/log", nil, 64<<10)
	})
	if err != nil {
		return nil
	}
	var words []string
	for line := range strings.Lines(strings.ToValidUTF8(string(out), "\uFFFD")) {
		if line = strings.TrimSpace(line); line != "" {
			words = append(words, mask(line, r.secrets))
		}
	}
	if said := slices.DeleteFunc(slices.Clone(words), traced.MatchString); len(said) > 0 {
		return said
	}
	return words
}

// traced is a line of a shell that shows what it does (set -o xtrace).
var traced = regexp.MustCompile(`^\++ `)

// restart begins a new run in place of one that is gone.
func (r *scriptRun) restart(ctx context.Context) error {
	if r.cp.Try >= maxRestarts {
		r.cp.Ended = true
		if err := r.s.Save(ctx, r.cp); err != nil {
			return err
		}
		return &lcm.Error{
			Code: lcm.CodeUpstream, Title: "Node failed",
			Detail: fmt.Sprintf("%s: the script vanished %d times before it had ended", r.n.during(r.doing), r.cp.Try),
			Hint:   "the machine seems to go down again and again; look at its console log",
		}
	}
	r.s.Logf(ctx, "the script is gone before its end: it was killed, or the machine rebooted; starting it again")
	return r.next(ctx)
}

// next turns to another run.
func (r *scriptRun) next(ctx context.Context) error {
	r.cp.Try, r.cp.Offset, r.cp.Ended, r.cp.Round = r.cp.Try+1, 0, false, r.round
	return r.s.Save(ctx, r.cp)
}

// patient decides whether a failure to reach the machine is still worth waiting for; it returns the error that ends the step
// when it is not.
func (r *scriptRun) patient(err error) error {
	now := r.clock.Now()
	since := func(t time.Time) time.Duration { // a retry is as patient as the first try was
		for _, begun := range []time.Time{r.s.Started(), r.round} {
			if t.Before(begun) {
				t = begun
			}
		}
		return now.Sub(t)
	}
	if _, ok := errors.AsType[*lcm.Error](err); ok { // from making the run: about another node
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
		if since(r.cp.Met) < r.d.o.AuthTimeout {
			return nil
		}
	case e.Class == lcm.Transient:
		if since(r.cp.Seen) < r.d.o.BootTimeout {
			return nil
		}
		e.Class = lcm.Permanent // it has been waited for long enough
	}
	return e
}

// short bounds a short exchange with a node.
func short[T any](ctx context.Context, d *Driver, fn func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, d.o.CommandTimeout, errSlow)
	defer cancel()
	v, err := fn(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = &remote.Error{Kind: remote.KindTimeout, Op: "run", Err: errSlow}
	}
	return v, err
}

// backoff waits longer each time.
type backoff struct {
	first, longest, next time.Duration
}

func (b *backoff) wait(ctx context.Context) error {
	b.next = min(max(b.first, b.next*2), b.longest)
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// env joins environments; later ones win.
func env(parts ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, p := range parts {
		maps.Copy(out, p)
	}
	return out
}
