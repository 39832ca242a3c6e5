package openstack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// signals returns the last texts of the steps that signal scaling policies, by policy.
func (w *world) signals(op string) map[string]string {
	w.t.Helper()
	p, err := w.api.Progress(w.t.Context(), op, "", 0)
	require.NoError(w.t, err)
	out := map[string]string{}
	for _, s := range p.Steps {
		if s.Name == "signal scaling policy" {
			out[s.Target] = s.Detail
		}
	}
	return out
}

// A group with policies is scaled by signals that Heat obeys; whatever happens in between, nothing is made or taken
// twice, and what is there is what the instance says.
func TestScaleBySignals(t *testing.T) {
	w := start(t, 2)
	id := w.up(w.vnfd("groups"), w.groups("policies", "smallest"))
	has := func(t *testing.T, n int) {
		t.Helper()
		require.Equal(t, map[string]int{"VDU1": n, "VDU2": 1}, vnfcs(w.instance(id)))
		w.servers(id, "ACTIVE")
	}
	first := of(w.instance(id), "VDU1")

	op := w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 2))
	w.completed(op)
	require.Equal(t, map[string]string{"VDU1_scale_out": "group VDU1_scale_group has 3 of 3 members"}, w.signals(op))
	has(t, 3)
	op = w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeIn, 1))
	w.completed(op)
	require.Equal(t, map[string]string{"VDU1_scale_in": "group VDU1_scale_group has 2 of 2 members"}, w.signals(op))
	has(t, 2)
	require.NotContains(t, of(w.instance(id), "VDU1"), first[0], "Heat takes the oldest")
	w.run(id, sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: []string{of(w.instance(id), "VDU1")[0].vnfc}})
	has(t, 2)

	for _, after := range []time.Duration{0, 300 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second} {
		t.Run("killed after "+after.String(), func(t *testing.T) {
			w := *w
			w.t = t
			stay := of(w.instance(id), "VDU1")
			op := w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
			w.killOwner(op, after)
			w.completed(op)
			t.Log(w.signals(op))
			has(t, 3)
			require.Subset(t, of(w.instance(id), "VDU1"), stay)
			stay = of(w.instance(id), "VDU1")[1:]
			op = w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeIn, 1))
			w.killOwner(op, after)
			w.completed(op)
			t.Log(w.signals(op))
			has(t, 2)
			require.ElementsMatch(t, stay, of(w.instance(id), "VDU1"))
		})
	}
	for _, mode := range []sol.CancelModeType{sol.CancelModeForceful, sol.CancelModeGraceful} {
		t.Run("cancelled "+string(mode), func(t *testing.T) {
			w := *w
			w.t = t
			stay := of(w.instance(id), "VDU1")
			op := w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
			w.until("Heat is signalled", func() bool { return len(w.signals(op)) > 0 })
			w.canceled(op, mode)
			w.rolledBack(op)
			has(t, 2)
			require.ElementsMatch(t, stay, of(w.instance(id), "VDU1"))
		})
	}
	w.down(id)
}
