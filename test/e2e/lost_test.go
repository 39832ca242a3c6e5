package e2e_test

import (
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// deleteStack deletes the instance's stack behind Gybe's back.
func (w *world) deleteStack(id string) {
	w.t.Helper()
	provider, err := simcloud.Login(w.t.Context(), w.cloud.AuthOptions())
	require.NoError(w.t, err)
	defer provider.HTTPClient.CloseIdleConnections()
	heat, err := openstack.NewOrchestrationV1(provider, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(w.t, err)
	for _, s := range stacksOf(w.cloud.State(), id) {
		require.NoError(w.t, stacks.Delete(w.t.Context(), heat, s.Name, s.ID).ExtractErr())
	}
	require.Eventually(
		w.t, func() bool { return len(stacksOf(w.cloud.State(), id)) == 0 }, patience, 10*time.Millisecond,
	)
}

// TestHealAllRebuildsALostStack: after an operation that failed because the stack is gone, the remedy in its hint
// works.
func TestHealAllRebuildsALostStack(t *testing.T) {
	t.Parallel()
	healed := sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}}
	for _, tt := range []struct {
		name, level string
		typ         sol.LcmOperationType
		body        any
	}{
		{"heal", "volumes", sol.LcmOperationHeal, sol.HealVnfRequest{}},
		{"scale out", "smallest", sol.LcmOperationScale, sol.ScaleVnfRequest{
			Type: sol.ScaleTypeOut, AspectID: "VDU1_scale",
		}},
		{"scale in", "largest", sol.LcmOperationScale, sol.ScaleVnfRequest{
			Type: sol.ScaleTypeIn, AspectID: "VDU1_scale",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := startStandard(t, nil)
			before := w.standard(operation{level: tt.level})
			w.deleteStack(before.ID)

			op, err := w.api.Start(t.Context(), before.ID, tt.typ, tt.body)
			require.NoError(t, err)
			o := w.failed(op)
			require.Contains(t, o.Error.Hint, "additionalParams.all")
			require.NoError(t, w.api.Fail(t.Context(), op))

			lost := w.instance(before.ID)
			require.Equal(t, counts(before), counts(lost), "lost VNFCs stay in the instance")
			require.Equal(t, before.InstantiatedVnfInfo.ScaleStatus, lost.InstantiatedVnfInfo.ScaleStatus)
			require.Equal(t, before.InstantiatedVnfInfo.ExtVirtualLinkInfo, lost.InstantiatedVnfInfo.ExtVirtualLinkInfo)
			require.Equal(t, sol.VnfOperationalStateStopped, lost.InstantiatedVnfInfo.VnfState)

			op, err = w.api.Start(t.Context(), before.ID, sol.LcmOperationHeal, healed)
			require.NoError(t, err)
			w.completed(op)
			after := w.instance(before.ID)
			require.Equal(t, counts(before), counts(after))
			require.Equal(t, before.InstantiatedVnfInfo.ScaleStatus, after.InstantiatedVnfInfo.ScaleStatus)
			require.Equal(t, sol.VnfOperationalStateStarted, after.InstantiatedVnfInfo.VnfState)
			w.whole(after)
			w.end(before.ID)
		})
	}
}
