package execution

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// failed decides on a failure: again after a backoff, or for good.
func (t *tick) failed(ctx context.Context, err error) (*pause, error) {
	e := lcm.AsError(err)
	t.Log.WarnContext(ctx, "phase failed", "op_id", t.op.ID, "vnf_instance_id", t.op.InstanceID, "phase", t.op.Phase,
		"class", string(e.Class), "error", t.hider.Hide(err.Error()))
	if e.Class != lcm.Transient || t.rec == nil || t.rec.Failing+1 >= t.tune.Retries {
		return t.end(ctx, lcm.EventFailed, err)
	}
	t.rec.Failing++
	t.rec.Attempts++
	t.rec.State, t.rec.Error = lcm.PhaseWaiting, t.failureOf(err, t.rec.Name)
	after := min(t.tune.RetryBase<<(t.rec.Failing-1), t.tune.RetryMax)
	after += time.Duration(rand.Int64N(int64(after)/4 + 1)) //nolint:gosec // jitter, not a secret
	after = max(after, min(e.RetryAfter, t.tune.RetryMax), e.Backoff)
	t.op.Waiting = fmt.Sprintf(
		"try %d of %d failed, next in %s: %s", t.rec.Failing, t.tune.Retries, after.Round(time.Millisecond),
		t.hider.Hide(e.Error()),
	)
	t.rec.Detail = t.op.Waiting
	return &pause{after, true}, t.commit(context.WithoutCancel(ctx))
}

// end gives the operation up: it failed for good, or has come to rest after a cancel.
func (t *tick) end(ctx context.Context, ev lcm.Event, err error) (*pause, error) {
	if err := t.observe(ctx); err != nil {
		return nil, err
	}
	t.op.Error = t.failureOf(err, t.op.Phase)
	if lcm.AsError(err).Class == lcm.Auth && t.op.State != sol.LcmOperationStateStarting {
		t.op.Error.Hint = strings.TrimPrefix(t.op.Error.Hint+"; "+sameLogins(t.op), "; ")
	}
	t.op.Waiting = ""
	if t.rec != nil {
		t.rec.State, t.rec.Finished, t.rec.Error, t.rec.Detail = lcm.PhaseFailed, t.Clock.Now(), t.op.Error, ""
		if ev == lcm.EventFailed {
			t.rec.Attempts++
		}
	}
	if t.op.State == sol.LcmOperationStateStarting {
		t.revertAdmission()
	}
	return t.move(context.WithoutCancel(ctx), ev)
}

// failureOf makes the durable failure of an error, without secrets.
func (t *tick) failureOf(err error, phase string) *lcm.Failure {
	return lcm.HideFailure(t.hider, lcm.FailureOf(err, phase))
}

// revertAdmission takes back what the admission did to the instance.
func (t *tick) revertAdmission() {
	if t.work != nil {
		t.work.ReleaseSnapshot()
	}
	switch before := t.op.Before; {
	case before != nil:
		t.instance.VimConnections = before.VimConnections
	case t.op.Kind().Instantiates() && !t.instance.HoldsResources:
		t.instance.VimConnections, t.instance.Params = nil, ""
	}
}

// observeTime bounds the inventory after a failure.
const observeTime = 20 * time.Second

// observe reads what is there after a failure: an operation that is given up may have done a part of its work. When
// that is not possible, the instance remembers the operation, and the next admission repeats the inventory. Only
// ErrFenced is returned.
func (t *tick) observe(ctx context.Context) error {
	if t.op.State == sol.LcmOperationStateStarting || t.op.Before == nil || t.op.Phase == "" || !t.op.Kind().VIM {
		return nil
	}
	if t.unchanged {
		return nil
	}
	t.instance.Unobserved = t.op.ID // until an inventory succeeds
	looked := t.op.Phase == lcm.PhaseInventory || t.op.Phase == lcm.PhaseRollbackInventory
	stopping := ctx.Err() != nil && !errors.Is(context.Cause(ctx), lcm.ErrTickBudget)
	if t.plan == nil || looked || stopping || t.silent {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), observeTime)
	defer cancel()
	err := t.call(ctx, lcm.Phase{Name: t.op.Phase, Run: t.plan.observe})
	if err == nil || errors.Is(err, lcm.ErrFenced) {
		return err
	}
	t.Log.InfoContext(
		ctx, "no inventory after the failure", "op_id", t.op.ID, "vnf_instance_id", t.op.InstanceID, "error",
		t.hider.Hide(err.Error()),
	)
	return nil
}

// sameLogins says what to do when credentials were refused: retry and rollback use the same ones.
func sameLogins(op *lcm.Operation) string {
	if op.Kind().Instantiates() {
		return "a retry of the operation logs in with the same ones: if the request has them wrong, " + lcm.WaysOut(op,
			lcm.EventRetry) + ", and send another"
	}
	return "retry and rollback log in with the same ones: if the VNF has them wrong, mark the operation failed, then " +
		"modify the VNF's vimConnectionInfo, or name other logins of nodes in the next request"
}
