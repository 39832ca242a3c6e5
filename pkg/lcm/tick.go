package lcm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// tick is one node's work on one claimed operation.
type tick struct {
	*Runner
	tune     Tuning
	op       *Operation
	instance *Instance
	work     *Work
	plan     *Plan
	// rec is the record of the phase under way; ended holds records that the next commit stores too.
	rec   *PhaseRecord
	ended []PhaseRecord
	told  time.Time // when a wait was last committed
}

// run works until the operation waits for long, ends, or the budget is used up.
func (t *tick) run(ctx context.Context) (time.Duration, bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.tune.TickBudget, ErrTickBudget)
	defer cancel()
	var err error
	t.work, err = t.Runner.work(ctx, t.op, t.instance)
	t.work.commit = func(ctx context.Context) error { return t.commit(ctx) }
	if err == nil {
		t.plan, err = t.Planner.Plan(t.work)
	}
	if err != nil {
		if AsError(err).Class == Transient { // the database or the content store is away: no reason to fail an operation
			return 0, false, err
		}
		return t.failed(ctx, err)
	}
	if t.rec != nil && t.rec.State == PhaseFailed { // the user retries
		t.rec.State, t.rec.Finished, t.rec.Failing = PhaseRunning, time.Time{}, 0
	}
	for {
		if now := t.Clock.Now(); !t.op.Deadline.IsZero() && now.After(t.op.Deadline) {
			return t.end(ctx, EventFailed, t.overdue())
		}
		phases := t.plan.phases(t.op.State)
		at := 0
		if t.op.Phase != "" {
			at = slices.IndexFunc(phases, func(p Phase) bool { return p.Name == t.op.Phase })
		}
		if at < 0 {
			return t.end(ctx, EventFailed, Errorf(CodeInternal, "the operation stands at phase %q, which this version does not know", t.op.Phase))
		}
		if len(phases) == 0 {
			if done, err := t.leave(ctx); done || err != nil {
				return 0, false, err
			}
			continue
		}
		if t.rec == nil || t.rec.Name != phases[at].Name {
			if err := t.enter(ctx, phases[at].Name); err != nil {
				return 0, false, err
			}
		}
		run := phases[at].Run
		if t.op.Cancel != "" {
			run = t.halt
		}
		err := t.call(ctx, Phase{phases[at].Name, run})
		switch after, why, waiting := Waiting(ctx, err); {
		case errors.Is(err, ErrFenced):
			return 0, false, err
		case waiting:
			if giveBack, wait, err := t.wait(ctx, after, why); giveBack || err != nil {
				return wait, true, err
			}
		case err != nil:
			after, again, err := t.failed(ctx, err)
			if err != nil || !again || after > t.tune.InlineWait || !sleep(ctx, after) {
				return after, again, err
			}
		case t.op.Cancel != "":
			return t.end(ctx, EventCancelled, t.cancelled())
		default:
			last := at == len(phases)-1
			t.finish()
			if !last {
				t.op.Phase = phases[at+1].Name
				continue // enter commits both records at once
			}
			if done, err := t.leave(ctx); done || err != nil {
				return 0, false, err
			}
		}
	}
}

// call runs the phase once; a panic becomes a failure of the operation, not of the node.
func (t *tick) call(ctx context.Context, p Phase) (err error) {
	t.work.phase = p.Name
	defer func() {
		if v := recover(); v != nil {
			t.Log.ErrorContext(ctx, "phase panicked", "op_id", t.op.ID, "phase", p.Name, "panic", v, "stack", string(debug.Stack()))
			err = Errorf(CodeInternal, "the phase %s met a fault in gybe: %v", p.Name, v)
		}
	}()
	return p.Run(ctx, t.work)
}

// enter records that a phase begins, together with the end of the one before.
func (t *tick) enter(ctx context.Context, name string) error {
	t.op.Phase, t.op.Waiting = name, ""
	t.rec = &PhaseRecord{Name: name, State: PhaseRunning, Started: t.Clock.Now()}
	return t.commit(ctx)
}

// finish closes the record of the phase under way.
func (t *tick) finish() {
	t.rec.State, t.rec.Finished, t.rec.Failing, t.rec.Detail = PhaseDone, t.Clock.Now(), 0, ""
	t.rec.Error = nil
	t.op.Waiting = ""
	t.ended = append(t.ended, *t.rec)
	if t.Observe != nil {
		t.Observe.PhaseEnded(t.op.Type, t.rec.Name, false, t.rec.Finished.Sub(t.rec.Started))
	}
	t.rec = nil
}

// leave moves the operation out of a state whose phases are all done; done says that it has ended.
func (t *tick) leave(ctx context.Context) (done bool, err error) {
	switch t.op.State {
	case sol.LcmOperationStateStarting:
		_, _, err := t.move(ctx, EventGranted)
		return false, err
	case sol.LcmOperationStateProcessing:
		if t.plan.Completed != nil {
			if err := t.plan.Completed(t.work); err != nil {
				_, _, err = t.end(ctx, EventFailed, err)
				return true, err
			}
		}
		t.op.Error = nil
		_, _, err := t.move(ctx, EventCompleted)
		return true, err
	case sol.LcmOperationStateRollingBack:
		if t.plan.RolledBack != nil {
			if err := t.plan.RolledBack(t.work); err != nil {
				_, _, err = t.end(ctx, EventFailed, err)
				return true, err
			}
		}
		_, _, err := t.move(ctx, EventRolledBack)
		return true, err
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed, sol.LcmOperationStateRolledBack:
	}
	return true, nil
}

// wait spends a short wait here, or records a long one and gives the job back.
func (t *tick) wait(ctx context.Context, after time.Duration, why string) (giveBack bool, again time.Duration, err error) {
	t.rec.Failing = 0
	inline := ctx.Err() == nil && after <= t.tune.InlineWait
	now := t.Clock.Now()
	if changed := why != t.op.Waiting; !inline || changed && now.Sub(t.told) > 500*time.Millisecond {
		t.told = now
		t.op.Waiting = why
		t.rec.Detail, t.rec.State = why, PhaseWaiting
		if err := t.commit(context.WithoutCancel(ctx)); err != nil {
			return true, 0, err
		}
	}
	if inline && sleep(ctx, max(after, time.Millisecond)) {
		return false, 0, nil
	}
	return true, after, nil
}

// failed decides on a failure: again after a backoff, or for good.
func (t *tick) failed(ctx context.Context, err error) (after time.Duration, again bool, _ error) {
	e := AsError(err)
	t.Log.WarnContext(ctx, "phase failed", "op_id", t.op.ID, "vnf_instance_id", t.op.InstanceID, "phase", t.op.Phase,
		"class", string(e.Class), "error", err)
	if e.Class != Transient || t.rec == nil || t.rec.Failing+1 >= t.tune.Retries {
		return t.end(ctx, EventFailed, err)
	}
	t.rec.Failing++
	t.rec.Attempts++
	t.rec.State, t.rec.Error = PhaseWaiting, FailureOf(err, t.rec.Name)
	after = min(t.tune.RetryBase<<(t.rec.Failing-1), t.tune.RetryMax)
	after += time.Duration(rand.Int64N(int64(after)/4 + 1)) //nolint:gosec // jitter, not a secret
	after = max(after, min(e.RetryAfter, t.tune.RetryMax))
	t.op.Waiting = fmt.Sprintf("try %d of %d failed, next in %s: %s", t.rec.Failing, t.tune.Retries, after.Round(time.Millisecond), e.Error())
	t.rec.Detail = t.op.Waiting
	return after, true, t.commit(context.WithoutCancel(ctx))
}

// end gives the operation up: it failed for good, or has come to rest after a cancel.
func (t *tick) end(ctx context.Context, ev Event, err error) (time.Duration, bool, error) {
	if err := t.observe(ctx); err != nil {
		return 0, false, err
	}
	t.op.Error = FailureOf(err, t.op.Phase)
	if AsError(err).Class == Auth && t.op.State != sol.LcmOperationStateStarting {
		t.op.Error.Hint = strings.TrimPrefix(t.op.Error.Hint+"; "+sameLogins(t.op), "; ")
	}
	t.op.Waiting = ""
	if t.rec != nil {
		t.rec.State, t.rec.Finished, t.rec.Error, t.rec.Detail = PhaseFailed, t.Clock.Now(), t.op.Error, ""
		if ev == EventFailed {
			t.rec.Attempts++
		}
	}
	if t.op.State == sol.LcmOperationStateStarting {
		t.unstart()
	}
	return t.move(context.WithoutCancel(ctx), ev)
}

// unstart takes back what the admission did to the instance.
func (t *tick) unstart() {
	switch before := t.op.Before; {
	case before != nil:
		t.instance.VimConnections = before.VimConnections
	case t.op.Type == sol.LcmOperationInstantiate && !t.instance.HoldsResources:
		t.instance.VimConnections, t.instance.Params = nil, nil
	}
}

// observeTime bounds the look at what is there after a failure.
const observeTime = 20 * time.Second

// observe makes the instance say what is really there, if that can be told: an operation that is given up may have done a part of its work. Only
// ErrFenced is returned. It is best effort, and not done when this node stops.
func (t *tick) observe(ctx context.Context) error {
	stopping := ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrTickBudget)
	looked := t.op.Phase == "" || t.op.Phase == "inventory" || t.op.Phase == "rollback_inventory"
	if t.op.State == sol.LcmOperationStateStarting || t.op.Before == nil || t.plan == nil || t.plan.Observe == nil || looked || stopping {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), observeTime)
	defer cancel()
	err := t.call(ctx, Phase{t.op.Phase, t.plan.Observe})
	if err == nil || errors.Is(err, ErrFenced) {
		return err
	}
	t.Log.InfoContext(ctx, "no inventory after the failure", "op_id", t.op.ID, "vnf_instance_id", t.op.InstanceID, "error", err)
	return nil
}

// sameLogins says what to do when credentials were refused: neither a retry nor a rollback has others.
func sameLogins(op *Operation) string {
	if op.Type == sol.LcmOperationInstantiate {
		return "a retry of the operation logs in with the same ones: if the request has them wrong, " + waysOut(op, EventRetry) + ", and send another"
	}
	return "retry and rollback log in with the same ones: if the VNF has them wrong, mark the operation failed, then modify the VNF's vimConnectionInfo, " +
		"or name other logins of nodes in the next request"
}

// halt takes the place of the phase of an operation that is to be cancelled. Before PROCESSING there is nothing to end.
func (t *tick) halt(ctx context.Context, w *Work) error {
	if t.op.State == sol.LcmOperationStateStarting || t.plan.Halt == nil {
		return nil
	}
	return t.plan.Halt(ctx, w)
}

// cancelled is the reason of a cancelled operation.
func (t *tick) cancelled() error {
	return &Error{
		Code: CodeConflict, Title: "Cancelled", Detail: fmt.Sprintf("Cancelled by the user (%s) in phase %q", t.op.Cancel, t.op.Phase),
		Hint: WaysOut(t.op),
	}
}

// move applies an event of the state machine and commits it with its notification.
func (t *tick) move(ctx context.Context, ev Event) (time.Duration, bool, error) {
	to, err := Next(t.op, ev)
	if err != nil {
		return 0, false, err
	}
	if ev == EventFailed || ev == EventCancelled {
		t.op.FailedIn = t.op.State
	}
	t.op.Cancel = ""
	t.op.State, t.op.StateEntered, t.op.Waiting = to, t.Clock.Now(), ""
	switch {
	case to == sol.LcmOperationStateFailedTemp: // Phase shows where, and a retry goes on there
	case Running(to) && len(t.plan.phases(to)) > 0:
		t.op.Phase = t.plan.phases(to)[0].Name
		t.rec = &PhaseRecord{Name: t.op.Phase, State: PhaseRunning, Started: t.Clock.Now()}
	default:
		t.op.Phase = ""
	}
	m, err := stateMessage(t.op, t.Clock)
	if err != nil {
		return 0, false, err
	}
	if err := t.commit(ctx, m); err != nil {
		return 0, false, err
	}
	if !Running(to) && t.Observe != nil {
		t.Observe.OperationEnded(t.op.Type, to, t.op.StateEntered.Sub(t.op.Started))
	}
	t.Log.InfoContext(ctx, "operation state", "op_id", t.op.ID, "vnf_instance_id", t.op.InstanceID, "operation", string(t.op.Type), "state", string(to))
	return 0, false, nil
}

// commit stores everything that changed, fenced.
func (t *tick) commit(ctx context.Context, m ...Message) error {
	recs := t.ended
	if t.rec != nil {
		recs = append(slices.Clone(recs), *t.rec)
	}
	out := Tick{Op: t.op, Instance: t.instance, Phases: recs, Messages: m}
	if t.work != nil {
		out.Effects = t.work.effects
	}
	if err := t.Store.CommitTick(ctx, Claim{OperationID: t.op.ID, InstanceID: t.op.InstanceID, Epoch: t.op.Epoch}, out); err != nil {
		return err
	}
	t.ended = nil
	if t.work != nil {
		t.work.effects = Effects{}
	}
	return nil
}

// overdue is the failure of an operation that is not done by its deadline.
func (t *tick) overdue() error {
	what := t.op.Waiting
	if what == "" {
		what = "it was still working"
	}
	return Errorf(CodeTimeout, "the operation was not done by its deadline %s in phase %q; last: %s",
		t.op.Deadline.Format(time.RFC3339), t.op.Phase, what).
		WithHint(strings.TrimSuffix("look at the phase's steps and remove the cause; "+WaysOut(t.op), "; "))
}

// sleep waits for d and reports whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
