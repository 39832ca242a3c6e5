package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// change admits an operation that has everything that an admission can decide.
func (b *bundle) change(tb testing.TB, newPkg string) (*lcm.Instance, *lcm.Operation) {
	tb.Helper()
	i := b.newInstance(tb)
	op := newOperation(i.ID)
	op.Type, op.Try = sol.LcmOperationChangeVnfpkg, 1
	require.NoError(tb, b.Admit(tb.Context(), op, []lcm.Message{message(i.ID, op.ID)},
		func(locked *lcm.Instance) error {
			before := *locked
			op.Before, op.VnfPkgID = &before, newPkg
			op.Scope = &lcm.Scope{
				Flavour: "simple", Counts: map[string]int{"workerNode": 3},
				Add: map[string]int{"workerNode": 1}, Remove: []string{"x"}, VNFCs: []string{"y"}, Whole: true,
			}
			locked.VimConnections = nil
			return nil
		}))
	return i, op
}

func TestClaimReturnsTheScopeOfTheAdmission(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.change(t, "")
	for _, node := range []string{"a", "b"} {
		c, cl := b.claim(t, op.ID, node)
		require.Equal(t, op.Scope, c.Op.Scope)
		require.Equal(t, i, c.Op.Before, "as it was before the admission changed it")
		require.Nil(t, c.Instance.VimConnections)
		require.Equal(t, 1, c.Op.Try)
		c.Op.Waiting = node
		c.Instance.Params, c.Instance.PreviousVims = sol.RawPairs(`{"by":"`+node+`"}`), map[string]sol.VimConnectionInfo{
			node: connection(),
		}
		require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	}
	written, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"by":"b"}`, string(written.Params), "a change of nothing else is a change")
	require.Contains(t, written.PreviousVims, "b")
	got, err := b.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	require.Nil(t, got.Before, "credentials are nobody's business but the worker's")
	require.Equal(t, op.Scope, got.Scope)
	list, err := b.Operations(t.Context(), lcm.Query{Brief: true})
	require.NoError(t, err)
	require.Equal(t, op.Scope, list[0].Scope, "what can be done with it depends on it")

	_, err = b.Steer(t.Context(), op.ID, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
		o.Cancel, o.Try = sol.CancelModeForceful, 2
		return nil, nil
	})
	require.NoError(t, err)
	c, cl := b.claim(t, op.ID, "c")
	require.Equal(t, sol.CancelModeForceful, c.Op.Cancel)
	require.Equal(t, 2, c.Op.Try)
	c.Op.Cancel = ""
	c.Op.ChangedExtConnectivity = []sol.ExtVirtualLinkInfo{{ID: "l"}}
	c.Op.Modifications = &sol.ModificationsTriggeredByVnfPkgChange{
		VnfdVersion: "2", Extensions: sol.KeyValuePairs{"e": password},
	}
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	got, err = b.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	require.Empty(t, got.Cancel)
	require.Equal(t, c.Op.ChangedExtConnectivity, got.ChangedExtConnectivity)
	require.Equal(t, c.Op.Modifications, got.Modifications)
}

func TestWhatAnEndedOperationHeldIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const held = "SELECT count(*) FROM vnf_lcm_op_occ WHERE before IS NOT NULL OR new_pkg_id IS NOT NULL OR " +
		"old_pkg_id IS NOT NULL"
	for _, end := range []sol.LcmOperationStateType{sol.LcmOperationStateCompleted, sol.LcmOperationStateRolledBack} {
		_, op := b.change(t, b.newPackage(t))
		for _, s := range []sol.LcmOperationStateType{
			sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack,
		} {
			c, cl := b.claim(t, op.ID, "n")
			c.Op.State = s
			require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
			require.Equal(t, 1, b.count(t, held))
		}
		c, cl := b.claim(t, op.ID, "n")
		c.Op.State = end
		require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
		require.Zero(t, b.count(t, held))
	}
	_, op := b.change(t, b.newPackage(t))
	c, cl := b.claim(t, op.ID, "n")
	c.Op.State = sol.LcmOperationStateFailedTemp
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	require.Equal(t, 1, b.count(t, held))
	_, err := b.Steer(t.Context(), op.ID, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
		o.State = sol.LcmOperationStateFailed
		return nil, nil
	})
	require.NoError(t, err)
	require.Zero(t, b.count(t, held))
}

func TestAPackageThatAnOperationNeedsCannotBeDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	next := b.newPackage(t)
	i, op := b.change(t, next)
	c, cl := b.claim(t, op.ID, "n")
	require.Equal(t, next, c.Op.VnfPkgID)
	c.Instance.VnfPkgID = next // a modification has been applied, and can still be taken back
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	anything := func(*vnfpkg.Package) error { return nil }
	for _, id := range []string{next, i.VnfPkgID} {
		p, err := b.packages().Package(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, sol.PackageUsageStateInUse, p.UsageState)
		_, err = b.packages().DeletePackage(t.Context(), id, anything)
		requireCode(t, lcm.CodeConflict, err)
	}
	c, cl = b.claim(t, op.ID, "n")
	c.Op.State = sol.LcmOperationStateCompleted
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	_, err := b.packages().DeletePackage(t.Context(), i.VnfPkgID, anything)
	require.NoError(t, err)

	gone := b.newInstance(t)
	op = newOperation(gone.ID)
	err = b.Admit(t.Context(), op, nil, func(*lcm.Instance) error {
		op.VnfPkgID = uuid.NewString()
		return nil
	})
	requireCode(t, lcm.CodeUnprocessable, err)
}

func TestAnInstanceThatIsHeldTakesNoOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	operationID := uuid.NewString()
	inside, admitted := make(chan struct{}), make(chan error, 1)
	go func() {
		<-inside
		admitted <- b.Admit(t.Context(), newOperation(i.ID), nil, ok)
	}()
	require.NoError(t, b.UpdateInstance(t.Context(), i.ID, func(locked *lcm.Instance) ([]string, error) {
		close(inside)
		select {
		case err := <-admitted:
			t.Errorf("admitted before the other one ended: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		locked.HoldsResources, locked.Unobserved = true, operationID
		return []string{"vnfc-1"}, nil
	}))
	require.NoError(t, <-admitted)
	got, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.True(t, got.HoldsResources)
	require.Equal(t, operationID, got.Unobserved)
	same := func(*lcm.Instance) ([]string, error) { return nil, nil }
	requireCode(t, lcm.CodeConflict, b.UpdateInstance(t.Context(), i.ID, same))
	requireCode(t, lcm.CodeNotFound, b.UpdateInstance(t.Context(), uuid.NewString(), same))
	requireCode(t, lcm.CodeNotFound, b.UpdateInstance(t.Context(), "x", same))
}
