package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestStepsOfAnOperationAtRestAreUnfinishedNotOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n1")
	done, err := b.BeginStep(t.Context(), cl, "infra", "upload image", "")
	require.NoError(t, err)
	require.NoError(t, b.EndStep(t.Context(), cl, done.ID, lcm.StepDone, "", nil))
	step, err := b.BeginStep(t.Context(), cl, "infra", "create stack", "")
	require.NoError(t, err)
	require.NoError(t, b.EndStep(t.Context(), cl, step.ID, lcm.StepOpen, "CREATE_IN_PROGRESS", nil))
	_, other := b.claim(t, b.admitID(t), "n1")
	_, err = b.BeginStep(t.Context(), other, "infra", "create stack", "")
	require.NoError(t, err)

	steps := func(opID string) []lcm.StepRecord {
		_, steps, err := b.Progress(t.Context(), opID)
		require.NoError(t, err)
		return steps
	}
	// Cancelled.
	c.Op.State = sol.LcmOperationStateFailedTemp
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op}))
	got := steps(op.ID)
	require.Equal(t, lcm.StepDone, got[0].State)
	require.Equal(t, lcm.StepUnfinished, got[1].State)
	require.False(t, got[1].Finished.IsZero())
	require.Equal(t, "CREATE_IN_PROGRESS", got[1].Detail)
	require.Equal(t, lcm.StepOpen, steps(other.OperationID)[0].State, "of another operation")
	require.Equal(t, 1, b.count(
		t, "SELECT count(*) FROM event WHERE op_id = $1 AND kind = 'op.step' AND body->>'state' = 'UNFINISHED'", op.ID,
	))

	// A retry goes on with the same attempt.
	steer := func(to sol.LcmOperationStateType) {
		_, err := b.Steer(t.Context(), op.ID, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
			o.State = to
			return nil, nil
		})
		require.NoError(t, err)
	}
	steer(sol.LcmOperationStateProcessing)
	_, cl = b.claim(t, op.ID, "n1")
	again, err := b.BeginStep(t.Context(), cl, "infra", "create stack", "")
	require.NoError(t, err)
	require.Equal(t, step.ID, again.ID)
	require.Equal(t, lcm.StepOpen, again.State)
	require.Equal(t, 1, again.Attempts)
	require.True(t, again.Finished.IsZero())

	// A node of an earlier release has left the step open.
	_, err = b.pool.Exec(t.Context(), "UPDATE vnf_lcm_op_occ SET state = 'FAILED_TEMP' WHERE id = $1", op.ID)
	require.NoError(t, err)
	steer(sol.LcmOperationStateFailed)
	require.Equal(t, lcm.StepUnfinished, steps(op.ID)[1].State)
}
