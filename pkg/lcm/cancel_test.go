package lcm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

type refusing struct{}

// Grant implements lcm.Grantor.
func (refusing) Grant(context.Context, *lcm.Execution) (*lcm.Grant, error) {
	return nil, lcm.Errorf(lcm.CodeForbidden, "not now")
}

// held sends a task and works on it until it waits for the VIM.
func (w *world) held(t sol.LcmOperationType, body string) *lcm.Operation {
	w.t.Helper()
	w.VIM.Hold(true)
	op, err := w.do(t, body)
	require.NoError(w.t, err)
	w.tick(op.ID)
	return w.operation(op.ID)
}

// tick works until the operation waits for something; on a slow machine that takes more than one tick.
func (w *world) tick(id string) {
	w.t.Helper()
	w.Runner.Tuning.TickBudget = 500 * time.Millisecond
	require.Eventually(w.t, func() bool {
		_, again, err := w.Runner.Advance(w.t.Context(), id)
		if err != nil { // the time was over in the middle of a transaction, and the engine would come back
			require.Equal(w.t, lcm.Transient, lcm.AsError(err).Class)
			return false
		}
		require.True(w.t, again)
		return w.operation(id).Waiting != ""
	}, time.Minute, time.Millisecond)
}

func (w *world) cancel(op *lcm.Operation, mode sol.CancelModeType) *lcm.Operation {
	w.t.Helper()
	_, err := w.Service.Cancel(w.t.Context(), op.ID, mode)
	require.NoError(w.t, err)
	return w.operation(op.ID)
}

func TestACancelledOperationComesToRestAndCanBeTakenBack(t *testing.T) {
	t.Parallel()
	w := running(t)
	op := w.held(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	require.Equal(t, sol.LcmOperationStateProcessing, op.State)
	w.VIM.HoldHalt(true)
	messages := w.messages(op.ID)
	entered := op.StateEntered
	op = w.cancel(op, sol.CancelModeGraceful)
	require.Equal(t, sol.CancelModeGraceful, op.Cancel)
	require.Equal(t, sol.LcmOperationStateProcessing, op.State)
	require.Equal(t, entered, op.StateEntered)
	require.Equal(t, messages, w.messages(op.ID), "no state was left")
	w.tick(op.ID)
	require.Contains(t, w.operation(op.ID).Waiting, "finishes")

	op = w.cancel(op, sol.CancelModeForceful) // it takes too long
	_, err := w.Service.Cancel(t.Context(), op.ID, sol.CancelModeGraceful)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	w.VIM.HoldHalt(false)
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.Work(t, op.ID))
	op = w.operation(op.ID)
	require.Contains(t, op.Error.Detail, "Cancelled by the user (FORCEFUL)")
	require.Equal(t, "infra", op.Phase)
	require.Empty(t, op.Cancel)
	require.Equal(t, sol.LcmOperationStateProcessing, op.FailedIn)
	require.Equal(t, messages+1, w.messages(op.ID))
	require.Subset(t, w.VIM.Calls(), []string{"halt GRACEFUL", "halt FORCEFUL"})
	require.Equal(t, "inventory", w.VIM.Calls()[len(w.VIM.Calls())-1], "what is there is looked at")

	w.VIM.Hold(false)
	w.steered(op, lcm.EventRetry, sol.LcmOperationStateCompleted)
	require.Len(t, w.vnfcs("workerNode"), 3)
}

func (w *world) messages(op string) int {
	w.t.Helper()
	var n int
	require.NoError(w.t, w.Pool.QueryRow(w.t.Context(), "SELECT count(*) FROM outbox WHERE op_id = $1", op).Scan(&n))
	return n
}

func TestBeforeAnythingIsMadeACancelEndsTheOperation(t *testing.T) {
	t.Parallel()
	w := running(t)
	op, err := w.do(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	require.NoError(t, err)
	calls := len(w.VIM.Calls())
	w.cancel(op, sol.CancelModeGraceful)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.Work(t, op.ID))
	require.Len(t, w.VIM.Calls(), calls, "the VIM is not bothered")
	require.Contains(t, w.operation(op.ID).Error.Detail, "Cancelled")
	require.Zero(t, beforeOf(t, w, op.ID))
	w.done(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
}

func TestARollbackCanBeCancelledToo(t *testing.T) {
	t.Parallel()
	w := running(t)
	w.VIM.FailHalfway(boom)
	op := w.failed(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	w.VIM.Fail(nil)
	w.VIM.Hold(true)
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventRollback)
	require.NoError(t, err)
	w.tick(op.ID)
	w.cancel(op, sol.CancelModeForceful)
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.Work(t, op.ID))
	op = w.operation(op.ID)
	require.Equal(t, sol.LcmOperationStateRollingBack, op.FailedIn)
	w.VIM.Hold(false)
	w.steered(op, lcm.EventRollback, sol.LcmOperationStateRolledBack)
	require.Len(t, w.vnfcs("workerNode"), 2)
}

func TestCancelOfAnOperationAtRestIsRejected(t *testing.T) {
	t.Parallel()
	w := running(t)
	op := w.done(sol.LcmOperationHeal, `{}`)
	_, err := w.Service.Cancel(t.Context(), op.ID, sol.CancelModeForceful)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	w.VIM.Fail(boom)
	op = w.failed(sol.LcmOperationHeal, `{}`)
	_, err = w.Service.Cancel(t.Context(), op.ID, sol.CancelModeForceful)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	_, err = w.Service.Cancel(t.Context(), op.ID, "SOON")
	require.Equal(t, []string{"/cancelMode"}, pointers(err))
}

// TestACancelStopsTheNodeThatIsWorking: a tick is in the middle of its work when the user cancels; what it brings is
// not written any more.
func TestACancelStopsTheNodeThatIsWorking(t *testing.T) {
	t.Parallel()
	w := running(t)
	op := w.held(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	w.VIM.Hold(false)
	entered, leave := make(chan struct{}), make(chan struct{})
	other := *w.Runner
	other.Planner = &execution.Planner{
		Infras: slow{w.VIM, entered, leave}, Mgmt: w.Runner.Planner.Mgmt, Grantor: w.Runner.Planner.Grantor,
	}
	done := make(chan error)
	go func() {
		_, _, err := other.Advance(t.Context(), op.ID)
		done <- err
	}()
	<-entered
	w.cancel(op, sol.CancelModeForceful)
	close(leave)
	require.NoError(t, <-done)
	require.Equal(t, sol.LcmOperationStateProcessing, w.operation(op.ID).State, "the tick's success came too late")
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.Work(t, op.ID))
	require.Len(t, w.vnfcs("workerNode"), 3, "but the instance says what it has done")
}

// slow is an Infra whose Change can be held in its middle.
type slow struct {
	*apitest.VIM
	entered, leave chan struct{}
}

// Infra implements lcm.Infras.
func (s slow) Infra(string) (lcm.Infra, bool) { return s, true }

// Change implements lcm.Infra.
func (s slow) Change(ctx context.Context, w *lcm.Execution) error {
	close(s.entered)
	<-s.leave
	return s.VIM.Change(ctx, w)
}

func TestACancelThatDoesNotComeToRestEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	w := running(t)
	op := w.held(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	w.VIM.HoldHalt(true)
	_, err := w.Service.Cancel(t.Context(), op.ID, sol.CancelModeForceful)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), w.operation(op.ID).Deadline, time.Minute)
	w.Runner.Clock = ahead(11 * time.Minute)
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.Work(t, op.ID))
	op = w.operation(op.ID)
	require.Equal(t, 504, op.Error.Status)
	require.Empty(t, op.Cancel)
}

// ahead is a clock that goes before the others.
type ahead time.Duration

// Now implements lcm.Clock.
func (a ahead) Now() time.Time { return lcm.SystemClock{}.Now().Add(time.Duration(a)) }

func TestAModificationCanBeCancelledWithoutTheVIM(t *testing.T) {
	t.Parallel()
	w := running(t)
	before := w.instance()
	op, err := w.do(
		sol.LcmOperationModifyInfo, `{"vnfInstanceName":"x","vimConnectionInfo":{"vim2":{"vimType":"OTHER"}}}`,
	)
	require.NoError(t, err)
	w.cancel(op, sol.CancelModeForceful)
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.Work(t, op.ID))
	require.NotContains(t, w.VIM.Calls(), "halt FORCEFUL")
	w.steered(op, lcm.EventRollback, sol.LcmOperationStateRolledBack)
	require.Equal(t, before.VimConnections, w.instance().VimConnections)
	require.Equal(t, "n", w.instance().Name)
}
