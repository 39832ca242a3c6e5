package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// TestScaleThatFailedWithoutInventory: a scale out creates its VNFC, but Nova no longer lets Gybe read servers, so the
// operation fails and Gybe has not seen the new VNFC. It must belong to a scale level after all, whichever operation
// comes next: each level of VDU1 is one VNFC.
func TestScaleThatFailedWithoutInventory(t *testing.T) {
	t.Parallel()
	scale := func(typ sol.ScaleType) operation {
		return operation{typ: sol.LcmOperationScale, body: func(*world, *sol.VnfInstance) any {
			return sol.ScaleVnfRequest{Type: typ, AspectID: "VDU1_scale"}
		}}
	}
	operate := func(to sol.VnfOperationalState) operation {
		return operation{typ: sol.LcmOperationOperate, body: func(*world, *sol.VnfInstance) any {
			return sol.OperateVnfRequest{ChangeStateTo: to}
		}}
	}
	for _, tt := range []struct {
		name   string
		before bool // Nova lets Gybe read again before the operation is marked as failed
		next   []operation
		level  int
	}{
		{"readable at fail, then scale out", true, []operation{scale(sol.ScaleTypeOut)}, 2},
		{"readable after fail, then scale out", false, []operation{scale(sol.ScaleTypeOut)}, 2},
		{"then scale in", false, []operation{scale(sol.ScaleTypeIn)}, 0},
		{"then stop and start", false, []operation{
			operate(sol.VnfOperationalStateStopped), operate(sol.VnfOperationalStateStarted),
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := startStandard(t, nil)
			i := w.standard(operation{level: "smallest"})
			hang := w.cloud.AddFault(simcloud.Fault{
				Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: "create",
			})
			op := w.begin(scale(sol.ScaleTypeOut), i)
			require.Eventually(
				t, func() bool { r, _ := w.cloud.Faults().Get(hang); return r.Fired > 0 }, patience, interval,
			)
			w.cloud.AddFault(simcloud.Fault{Kind: fault.Status, Service: "nova", Status: http.StatusForbidden})
			w.cloud.Faults().Remove(hang)
			w.failed(op)
			require.Eventually(t, func() bool { return len(w.cloud.State()["servers"]) == 2 }, patience, interval)
			require.Equal(t, 1, counts(w.instance(i.ID))["VDU1"], "the inventory could not be read")

			if tt.before {
				w.cloud.Faults().Clear()
			}
			require.NoError(t, w.api.Fail(t.Context(), op))
			w.cloud.Faults().Clear()
			for _, next := range tt.next {
				w.completed(w.begin(next, w.instance(i.ID)))
				after := w.instance(i.ID)
				level := after.InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel
				require.Equal(t, 1+level, counts(after)["VDU1"], "one VNFC for each level")
				require.Len(t, w.cloud.State()["servers"], 1+level, "no server is outside of the scale levels")
			}
			require.Equal(t, tt.level, w.instance(i.ID).InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel)
			w.end(i.ID)
		})
	}
}
