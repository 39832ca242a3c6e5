package lcm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// blind is the error of a VIM that cannot be read.
var blind = lcm.Errorf(lcm.CodeUpstream, "the VIM answers 403")

// TestMissedInventoryIsRepeatedAtTheNextAdmission: a SCALE that succeeded in the VIM and failed for its inventory is
// found by the next request.
func TestMissedInventoryIsRepeatedAtTheNextAdmission(t *testing.T) {
	t.Parallel()
	w := running(t)
	require.Equal(t, 1, w.level("workers"))
	w.VIM.FailInventory(blind)
	op := w.failed(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`)
	require.Equal(t, op.ID, w.instance().Unobserved)
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)

	_, err = w.do(sol.LcmOperationOperate, `{"changeStateTo":"STOPPED"}`)
	require.ErrorContains(t, err, "ended without an inventory")
	require.ErrorContains(t, err, "403")
	w.done(sol.LcmOperationModifyInfo, `{"vnfInstanceName":"other"}`)
	require.Equal(t, op.ID, w.instance().Unobserved, "MODIFY_INFO takes no inventory")

	w.VIM.FailInventory(nil)
	w.done(sol.LcmOperationOperate, `{"changeStateTo":"STOPPED"}`)
	require.Empty(t, w.instance().Unobserved)
	require.Len(t, w.vnfcs("workerNode"), 3)
	require.Equal(t, 2, w.level("workers"), "the level that the SCALE has reached")

	w.done(sol.LcmOperationScale, `{"type":"SCALE_IN","aspectId":"workers","numberOfSteps":2}`)
	require.Len(t, w.vnfcs("workerNode"), 1)
	require.Equal(t, 0, w.level("workers"))
}

// TestMissedInventoryIsRepeatedByARetry: the operation itself clears the note.
func TestMissedInventoryIsRepeatedByARetry(t *testing.T) {
	t.Parallel()
	w := running(t)
	w.VIM.FailInventory(blind)
	op := w.failed(sol.LcmOperationScale, `{"type":"SCALE_IN","aspectId":"workers"}`)
	require.Equal(t, op.ID, w.instance().Unobserved)
	w.VIM.FailInventory(nil)
	w.steered(op, lcm.EventRetry, sol.LcmOperationStateCompleted)
	require.Empty(t, w.instance().Unobserved)
	require.Equal(t, 0, w.level("workers"))
}

// misplace sets the recorded scale level of the workers, as releases did that did not recompute it.
func (w *world) misplace(level int) {
	w.t.Helper()
	require.NoError(w.t, w.Store.UpdateInstance(w.t.Context(), w.id, func(i *lcm.Instance) ([]string, error) {
		i.Instantiated.ScaleStatus = []sol.ScaleInfo{{AspectID: "workers", ScaleLevel: level}}
		return nil, nil
	}))
}

// TestScaleLevelsFollowTheVNFCs: VNFCs outside of all scale levels are found by any operation's inventory, and go when
// the aspect is scaled.
func TestScaleLevelsFollowTheVNFCs(t *testing.T) {
	t.Parallel()
	t.Run("inventory of another operation", func(t *testing.T) {
		t.Parallel()
		w := running(t)
		w.misplace(0)
		w.done(sol.LcmOperationOperate, `{"changeStateTo":"STOPPED"}`)
		require.Equal(t, 1, w.level("workers"))
		require.Len(t, w.vnfcs("workerNode"), 2)
	})
	t.Run("scale out", func(t *testing.T) {
		t.Parallel()
		w := running(t)
		w.misplace(0)
		w.done(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`)
		require.Equal(t, 1, w.level("workers"))
		require.Len(t, w.vnfcs("workerNode"), 2)
	})
	t.Run("scale to level", func(t *testing.T) {
		t.Parallel()
		w := running(t)
		w.misplace(0)
		w.done(sol.LcmOperationScaleToLevel, `{"scaleInfo":[{"aspectId":"workers","scaleLevel":0}]}`)
		require.Equal(t, 0, w.level("workers"))
		require.Len(t, w.vnfcs("workerNode"), 1, "the surplus goes")
	})
}
