package openstack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// canceled cancels an operation that is under way and waits until it stops.
func (w *world) canceled(op string, mode sol.CancelModeType) *sol.VnfLcmOpOcc {
	w.t.Helper()
	require.NoError(w.t, w.api.Cancel(w.t.Context(), op, mode))
	asked := time.Now()
	o := w.failed(op)
	w.t.Logf("%s cancel took %.1f s", mode, time.Since(asked).Seconds())
	return o
}

// A creation that is cancelled stops; a rollback leaves nothing, and a retry brings the instance up.
func TestInstantiateIsCancelled(t *testing.T) {
	w := start(t, 1)
	vnfd := w.vnfd("standard")
	for _, mode := range []sol.CancelModeType{sol.CancelModeGraceful, sol.CancelModeForceful} {
		for _, end := range []string{"rollback", "retry"} {
			t.Run(string(mode)+" "+end, func(t *testing.T) {
				w := w.in(t)
				id := w.create(vnfd)
				op := w.instantiate(id, w.standard("volumes"))
				w.until("Heat has begun", func() bool { return w.cloud.stack(t, id) != nil })
				pause(t.Context(), time.Second)
				w.canceled(op, mode)
				if end == "rollback" {
					w.rolledBack(op)
					w.discard(id)
					return
				}
				w.retried(op)
				require.Equal(t, map[string]int{"VDU1": 1, "VDU2": 1}, vnfcs(w.instance(id)))
				w.down(id)
			})
		}
	}
}

// A change that is cancelled stops; the instance can be brought back or forward.
func TestChangesAreCancelled(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	for _, tt := range []struct {
		name     string
		typ      sol.LcmOperationType
		body     any
		rollback bool
		want     map[string]int
	}{
		{"scale out, back", sol.LcmOperationScale, scale(sol.ScaleTypeOut, 2), true, map[string]int{
			"VDU1": 1, "VDU2": 1,
		}},
		{"scale out, forward", sol.LcmOperationScale, scale(sol.ScaleTypeOut, 2), false, map[string]int{
			"VDU1": 3, "VDU2": 1,
		}},
		{"heal, forward", sol.LcmOperationHeal, sol.HealVnfRequest{Cause: "test"}, false, map[string]int{
			"VDU1": 3, "VDU2": 1,
		}},
		{"scale in, forward", sol.LcmOperationScale, scale(sol.ScaleTypeIn, 2), false, map[string]int{
			"VDU1": 1, "VDU2": 1,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			before := machines(w.instance(id))
			op := w.begin(id, tt.typ, tt.body)
			pause(t.Context(), 1200*time.Millisecond)
			w.canceled(op, sol.CancelModeForceful)
			if tt.rollback {
				w.rolledBack(op)
				require.Equal(t, before, machines(w.instance(id)))
			} else {
				w.retried(op)
			}
			require.Equal(t, tt.want, vnfcs(w.instance(id)))
			w.servers(id, "ACTIVE")
		})
	}
	w.down(id)
}
