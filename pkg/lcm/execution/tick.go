package execution

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// tick is one node's work on one claimed operation.
type tick struct {
	*Runner
	tune     Tuning
	op       *lcm.Operation
	instance *lcm.Instance
	work     *lcm.Execution
	plan     *plan
	// clusterGone is that of lcm.Claimed.
	clusterGone string
	// rec is the record of the phase under way; ended holds records that the next commit stores too.
	rec   *lcm.PhaseRecord
	ended []lcm.PhaseRecord
	// hider hides the secrets of the request in texts.
	hider  redact.Hider
	stored lcm.PhaseRecord // rec as it was last committed
	told   time.Time       // when a wait was last committed, or the phase began
	// Of a cancelled operation: unchanged says that it has changed nothing in the VIM, silent that the VIM does not
	// answer.
	unchanged, silent bool
	// share is the VimKey for which the node has fetched the job.
	share string
}

// pause is how a tick ends: the job comes back after a time, or not at all.
type pause struct {
	after time.Duration
	again bool
}

// run works until the operation waits for long, ends, or the budget is used up.
func (t *tick) run(ctx context.Context) (pause, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.tune.TickBudget, lcm.ErrTickBudget)
	defer cancel()
	p, err := t.prepare(ctx)
	for p == nil && err == nil {
		p, err = t.advance(ctx)
	}
	if p == nil {
		return pause{}, err
	}
	return *p, err
}

// prepare makes the work and the plan. A nil pause and no error mean that the tick goes on.
func (t *tick) prepare(ctx context.Context) (*pause, error) {
	var err error
	t.hider = lcm.NewHider(t.op, t.instance)
	t.work, err = lcm.NewExecution(ctx, lcm.ExecutionInput{
		Op: t.op, Instance: t.instance, Packages: t.Packages, Clock: t.Clock, Journal: t.Store,
		Log:    t.Log.With("op_id", t.op.ID, "vnf_instance_id", t.op.InstanceID, "operation", string(t.op.Type)),
		Claim:  t.claim(),
		Commit: func(ctx context.Context) error { return t.commit(ctx) }, ClusterGone: t.clusterGone,
	})
	if err == nil {
		t.plan, err = t.Planner.plan(t.work)
	}
	if err != nil {
		// the database or the content store is away: that does not fail an operation
		if lcm.AsError(err).Class == lcm.Transient {
			return nil, err
		}
		return t.failed(ctx, err)
	}
	if t.rec != nil && t.rec.State == lcm.PhaseFailed { // the user retries
		t.rec.State, t.rec.Finished, t.rec.Failing = lcm.PhaseRunning, time.Time{}, 0
	}
	return nil, nil
}

// advance calls the current phase once. A nil pause and no error mean that the tick goes on.
func (t *tick) advance(ctx context.Context) (*pause, error) {
	if now := t.Clock.Now(); !t.op.Deadline.IsZero() && now.After(t.op.Deadline) {
		return t.end(ctx, lcm.EventFailed, t.overdue())
	}
	phases := t.plan.of(t.op.State)
	at := 0
	if t.op.Phase != "" {
		at = slices.IndexFunc(phases, func(p lcm.Phase) bool { return p.Name == t.op.Phase })
	}
	if at < 0 {
		return t.end(ctx, lcm.EventFailed,
			lcm.Errorf(
				lcm.CodeInternal, "the operation stands at phase %q, which this version does not know", t.op.Phase,
			))
	}
	if len(phases) == 0 {
		return t.leave(ctx)
	}
	if t.rec == nil || t.rec.Name != phases[at].Name {
		if err := t.enter(ctx, phases[at]); err != nil {
			return nil, err
		}
	}
	run := phases[at].Run
	if t.op.Cancel != "" {
		run = t.halt
	}
	return t.conclude(ctx, t.call(ctx, lcm.Phase{Name: phases[at].Name, Run: run}), phases[at+1:])
}

// conclude decides on the outcome of a call of the current phase; rest are the phases after it.
func (t *tick) conclude(ctx context.Context, err error, rest []lcm.Phase) (*pause, error) {
	if t.op.Cancel != "" && errors.Is(err, lcm.ErrUnchanged) {
		t.unchanged, err = true, nil
	}
	switch after, why, waiting := lcm.Waiting(ctx, err); {
	case errors.Is(err, lcm.ErrFenced):
		return nil, err
	case t.op.Cancel == sol.CancelModeForceful && errors.Is(err, lcm.ErrVimUnavailable):
		t.silent = true
		return t.end(ctx, lcm.EventCancelled, t.abandoned(ctx, err))
	case waiting:
		if !lcm.IsBlocked(err) {
			t.rec.Failing = 0
		}
		return t.wait(ctx, after, why)
	case err != nil:
		p, err := t.failed(ctx, err)
		if err != nil || !p.again || p.after > t.tune.InlineWait || !sleep(ctx, p.after) {
			return p, err
		}
		return nil, nil
	case t.op.Cancel != "":
		return t.end(ctx, lcm.EventCancelled, t.cancelled())
	}
	t.finish()
	if len(rest) > 0 {
		t.op.Phase = rest[0].Name
		return nil, nil // enter commits both records together
	}
	return t.leave(ctx)
}

// call runs the phase once; a panic becomes a failure of the operation, not of the node.
func (t *tick) call(ctx context.Context, p lcm.Phase) (err error) {
	t.work.EnterPhase(p.Name)
	defer func() {
		if v := recover(); v != nil {
			t.Log.ErrorContext(
				ctx, "phase panicked", "op_id", t.op.ID, "phase", p.Name, "panic", v, "stack", string(debug.Stack()),
			)
			err = lcm.Errorf(lcm.CodeInternal, "internal error in phase %s: %v", p.Name, v)
		}
	}()
	return p.Run(ctx, t.work)
}

// enter records that a phase starts, together with the end of the previous one. The start of a phase without effects is
// stored with the next commit: if the node dies before, the previous phase is called again, as if it had died at the
// end of that one.
func (t *tick) enter(ctx context.Context, p lcm.Phase) error {
	t.op.Phase, t.op.Waiting = p.Name, ""
	t.begin(p.Name)
	if p.ReadOnly {
		return nil
	}
	return t.commit(ctx)
}

// finish closes the record of the phase under way.
func (t *tick) finish() {
	t.rec.State, t.rec.Finished, t.rec.Failing, t.rec.Detail = lcm.PhaseDone, t.Clock.Now(), 0, ""
	t.rec.Error = nil
	t.op.Waiting = ""
	t.ended = append(t.ended, *t.rec)
	if t.Observe != nil {
		t.Observe.PhaseEnded(t.op.Type, t.rec.Name, false, t.rec.Finished.Sub(t.rec.Started))
	}
	t.rec = nil
}

// begin starts the record of a phase. What the phase waits for is stored when it has waited for some time.
func (t *tick) begin(name string) {
	t.told = t.Clock.Now()
	t.rec = &lcm.PhaseRecord{Name: name, State: lcm.PhaseRunning, Started: t.told}
}

// leave moves the operation out of a state whose phases are all done. A nil pause means that the operation goes on in
// the next state.
func (t *tick) leave(ctx context.Context) (*pause, error) {
	switch t.op.State {
	case sol.LcmOperationStateStarting:
		// The grant may have brought VIM connections, and with them other drivers and more secrets to hide.
		if t.op.GrantHref != "" || len(t.plan.Processing) == 0 {
			if p, err := t.prepare(ctx); p != nil || err != nil {
				return p, err
			}
		}
		_, err := t.move(ctx, lcm.EventGranted)
		if t.op.VimKey != t.share { // the job comes back when there is room for the VIM that the grant has brought
			return &pause{again: true}, err
		}
		return nil, err
	case sol.LcmOperationStateProcessing:
		if done := t.plan.Completed; done != nil {
			if err := done(t.work); err != nil {
				return t.end(ctx, lcm.EventFailed, err)
			}
		}
		t.op.Error = nil
		return t.move(ctx, lcm.EventCompleted)
	case sol.LcmOperationStateRollingBack:
		if done := t.plan.RolledBack; done != nil {
			if err := done(t.work); err != nil {
				return t.end(ctx, lcm.EventFailed, err)
			}
		}
		return t.move(ctx, lcm.EventRolledBack)
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed,
		sol.LcmOperationStateRolledBack:
	}
	return &pause{}, nil
}

// wait spends a short wait here, or records a long one and gives the job back.
func (t *tick) wait(ctx context.Context, after time.Duration, why string) (*pause, error) {
	why = t.hider.Hide(why)
	inline := ctx.Err() == nil && after <= t.tune.InlineWait
	now := t.Clock.Now()
	if changed := why != t.op.Waiting; !inline || changed && now.Sub(t.told) > 500*time.Millisecond {
		t.told = now
		t.op.Waiting = why
		t.rec.Detail, t.rec.State = why, lcm.PhaseWaiting
		if err := t.commit(context.WithoutCancel(ctx)); err != nil {
			return &pause{again: true}, err
		}
	}
	if inline && sleep(ctx, max(after, time.Millisecond)) {
		return nil, t.Store.CheckClaim(context.WithoutCancel(ctx), t.claim())
	}
	return &pause{after, true}, nil
}

// halt takes the place of the phase of an operation that is to be cancelled. Before PROCESSING there is nothing to end.
func (t *tick) halt(ctx context.Context, w *lcm.Execution) error {
	if t.op.State == sol.LcmOperationStateStarting || t.plan.halt == nil {
		return nil
	}
	return t.plan.halt(ctx, w)
}

// move applies an event of the state machine and commits it with its notification.
func (t *tick) move(ctx context.Context, ev lcm.Event) (*pause, error) {
	to, err := lcm.Next(t.op, ev)
	if err != nil {
		return nil, err
	}
	if ev == lcm.EventFailed || ev == lcm.EventCancelled {
		t.op.FailedIn = t.op.State
	}
	t.op.Cancel = ""
	t.op.State, t.op.StateEntered, t.op.Waiting = to, t.Clock.Now(), ""
	switch {
	case to == sol.LcmOperationStateFailedTemp: // Phase shows where, and a retry goes on there
	case lcm.Running(to) && len(t.plan.of(to)) > 0:
		t.op.Phase = t.plan.of(to)[0].Name
		t.begin(t.op.Phase)
	default:
		t.op.Phase = ""
	}
	m, err := lcm.StateMessage(t.op, t.Clock)
	if err != nil {
		return nil, err
	}
	if err := t.commit(ctx, m); err != nil {
		return nil, err
	}
	if !lcm.Running(to) && t.Observe != nil {
		t.Observe.OperationEnded(t.op.Type, to, t.op.StateEntered.Sub(t.op.Started))
	}
	t.Log.InfoContext(ctx, "operation state", "op_id", t.op.ID, "vnf_instance_id", t.op.InstanceID, "operation",
		string(t.op.Type), "state", string(to))
	return &pause{}, nil
}

// claim is the right under which this tick writes.
func (t *tick) claim() lcm.Claim {
	return lcm.Claim{OperationID: t.op.ID, InstanceID: t.op.InstanceID, Epoch: t.op.Epoch}
}

// commit stores everything that changed, fenced.
func (t *tick) commit(ctx context.Context, m ...lcm.Message) error {
	recs := t.ended
	if t.rec != nil && *t.rec != t.stored {
		recs = append(slices.Clone(recs), *t.rec)
	}
	out := lcm.Tick{Op: t.op, Instance: t.instance, Phases: recs, Messages: m}
	if t.work != nil {
		out.Effects = t.work.Effects()
	}
	if err := t.Store.CommitTick(ctx, t.claim(), out); err != nil {
		return err
	}
	t.ended = nil
	if t.rec != nil {
		t.stored = *t.rec
	}
	if t.work != nil {
		t.work.ClearEffects()
	}
	return nil
}

// overdue is the failure of an operation that is not done by its deadline.
func (t *tick) overdue() error {
	what := t.op.Waiting
	if what == "" {
		what = "it was still working"
	}
	hint := "look at the phase's steps and remove the cause"
	if ways := lcm.WaysOut(t.op); ways != "" {
		hint += "; " + ways
	}
	return lcm.Errorf(lcm.CodeTimeout, "the operation was not done by its deadline %s in phase %q; last: %s",
		t.op.Deadline.Format(time.RFC3339), t.op.Phase, what).WithHint(hint)
}

// cancelled is the reason of a cancelled operation.
func (t *tick) cancelled() *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeConflict, Title: "Cancelled",
		Detail: fmt.Sprintf("Cancelled by the user (%s) in phase %q", t.op.Cancel, t.op.Phase),
		Hint:   lcm.WaysOut(t.op),
	}
}

// abandoned is the reason of an operation that was cancelled forcefully while its VIM does not answer.
func (t *tick) abandoned(ctx context.Context, cause error) error {
	e := t.cancelled()
	_, why, waiting := lcm.Waiting(context.WithoutCancel(ctx), cause)
	if !waiting {
		why = lcm.AsError(cause).Error()
	}
	e.Detail += "; the VIM cannot be stopped, and may still work on it: " + why
	return e
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
