package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// cancelled brings an operation to its middle and cancels it there.
func (w *world) cancelled(o operation, mode sol.CancelModeType) (before *sol.VnfInstance, op string) {
	w.t.Helper()
	before = w.standard(o)
	action := "create"
	if o.typ == sol.LcmOperationChangeVnfpkg {
		action = "update"
	}
	rule := w.cloud.AddFault(simcloud.Fault{Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: action})
	op = w.begin(o, before)
	require.Eventually(w.t, func() bool { r, _ := w.cloud.Faults().Get(rule); return r.Fired > 0 }, patience, interval)
	require.NoError(w.t, w.api.Cancel(w.t.Context(), op, mode))
	w.cloud.Faults().Clear() // the VIM goes on after the cancel, however late that came
	occ := w.failed(op)
	require.Contains(w.t, occ.Error.Detail, "ancelled")
	for _, s := range w.progress(op).Steps {
		require.NotEqual(w.t, string(lcm.StepOpen), s.State, "%s %s: no node works on a step of an operation at rest",
			s.Name, s.Target)
	}
	return before, op
}

// A cancel stops an operation in its middle, and its user decides where it goes on: forward, with the same result as if
// nothing had been, or back to what was there.
func TestCancelledOperationGoesOnOrBack(t *testing.T) {
	t.Parallel()
	for _, o := range standardOperations() {
		switch o.name {
		case "scale out", "change of the flavour", "heal of a VNFC", "heal with everything recreated",
			"change of the package":
		default:
			continue
		}
		for _, mode := range []sol.CancelModeType{sol.CancelModeGraceful, sol.CancelModeForceful} {
			t.Run(o.name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				w := startStandard(t, nil)
				before, op := w.cancelled(o, mode)
				require.NoError(t, w.api.Retry(t.Context(), op))
				occ := w.completed(op)
				after := w.instance(before.ID)
				o.want(t, before, after)
				w.whole(after)
				require.Equal(t, o.changes, changes(occ))
				w.end(before.ID)
			})
			if !o.back {
				continue
			}
			t.Run(o.name+" "+string(mode)+" back", func(t *testing.T) {
				t.Parallel()
				w := startStandard(t, nil)
				before, op := w.cancelled(o, mode)
				require.NoError(t, w.api.Rollback(t.Context(), op))
				occ := w.resting(op)
				require.Equal(t, sol.LcmOperationStateRolledBack, occ.OperationState, "%+v", occ.Error)
				after := w.instance(before.ID)
				was, is := look(before), look(after)
				if o.typ == sol.LcmOperationChangeFlavour { // VDU2 may be gone already, and is recreated
					delete(was, "vnfcs")
					delete(is, "vnfcs")
				}
				require.Equal(t, was, is)
				w.whole(after)
				w.end(before.ID)
			})
		}
	}
}

// A change that hangs in the VIM ends by its deadline; when the VIM comes on again, a retry completes it.
func TestDeadlineEndsAChangeThatHangs(t *testing.T) {
	t.Parallel()
	w := startStandard(t, nil)
	o := standardOperations()[0]
	before := w.standard(o)
	w.cloud.AddFault(simcloud.Fault{Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: "create"})
	op := w.begin(o, before)
	w.passDeadline(op, "UPDATE_IN_PROGRESS")
	occ := w.failed(op)
	require.Equal(t, 504, occ.Error.Status)
	require.Contains(t, occ.Error.Detail, "UPDATE_IN_PROGRESS", "it says what it was waiting for")
	w.cloud.Faults().Clear()
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	o.want(t, before, w.instance(before.ID))
	w.end(before.ID)
}
