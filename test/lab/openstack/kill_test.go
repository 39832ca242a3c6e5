package openstack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// killOwner kills the node that works on an operation as kill -9 does, some time after the operation began. What it
// asked of OpenStack goes on. The API of the world is that of a living node afterwards, and the killed one is started
// again.
func (w *world) killOwner(op string, after time.Duration) {
	w.t.Helper()
	began := time.Now()
	var owner string
	w.until("a node works on it", func() bool {
		require.NoError(
			w.t,
			w.pool.QueryRow(w.t.Context(), "SELECT coalesce(node, '') FROM vnf_lcm_op_occ WHERE id = $1",
				op).Scan(&owner),
		)
		return owner != "" || !busy(w.operation(op))
	})
	pause(w.t.Context(), after-time.Since(began))
	if !busy(w.operation(op)) {
		w.t.Log("it has ended before the kill")
		return
	}
	var dead *stack.Node
	for _, n := range w.nodes {
		if n.ID == owner {
			dead = n
		}
	}
	require.NotNil(w.t, dead, "node %s", owner)
	dead.Kill()
	w.t.Logf("%s killed %.1f s after the request", owner, time.Since(began).Seconds())
	for _, n := range w.nodes {
		if n != dead {
			var err error
			w.api, err = client.New(n.URL, w.subscriber.Client())
			require.NoError(w.t, err)
		}
	}
	require.NoError(w.t, dead.Start(w.t.Context()))
}

func busy(o *sol.VnfLcmOpOcc) bool {
	switch o.OperationState {
	case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
		return true
	default:
		return false
	}
}

// moments are when nodes are killed: when the stack is about to be made, while it is, and near the end.
var moments = []time.Duration{0, 400 * time.Millisecond, 2500 * time.Millisecond, 6 * time.Second}

// A node that dies during instantiation or termination leaves no second stack and no orphan, and no user has to
// do anything.
func TestInstantiateAndTerminateSurviveDeadNodes(t *testing.T) {
	w := start(t, 2)
	vnfd := w.vnfd("standard")
	for _, after := range moments {
		t.Run(after.String(), func(t *testing.T) {
			w := w.in(t)
			id := w.create(vnfd)
			op := w.instantiate(id, w.standard("volumes"))
			w.killOwner(op, after)
			w.completed(op)
			require.Equal(t, map[string]int{"VDU1": 1, "VDU2": 1}, vnfcs(w.instance(id)))
			stacks, err := list(t.Context(), w.cloud.heat, "stacks?name=vnf-"+id, "stacks")
			require.NoError(t, err)
			require.Len(t, stacks, 1)
			op = w.terminate(id)
			w.killOwner(op, after)
			w.completed(op)
			w.discard(id)
		})
	}
}

// Every operation on an instance survives the node that works on it.
func TestChangesSurviveDeadNodes(t *testing.T) {
	w := start(t, 2)
	next := w.vnfd("standard-2")
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	for _, tt := range []struct {
		name string
		typ  sol.LcmOperationType
		body func(w *world) any
		want map[string]int
	}{
		{"scale out", sol.LcmOperationScale, func(*world) any {
			return scale(sol.ScaleTypeOut, 1)
		}, map[string]int{"VDU1": 2, "VDU2": 1}},
		{"heal one", sol.LcmOperationHeal, func(w *world) any {
			return sol.HealVnfRequest{
				VnfcInstanceID:   []string{of(w.instance(id), "VDU2")[0].vnfc},
				AdditionalParams: sol.KeyValuePairs{"all": true},
			}
		}, map[string]int{"VDU1": 2, "VDU2": 1}},
		{"stop", sol.LcmOperationOperate, func(*world) any {
			return sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped}
		}, map[string]int{"VDU1": 2, "VDU2": 1}},
		{"start", sol.LcmOperationOperate, func(*world) any {
			return sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted}
		}, map[string]int{"VDU1": 2, "VDU2": 1}},
		{"other address", sol.LcmOperationChangeExtConn, func(w *world) any {
			return w.reconnected("10.10.1.78")
		}, map[string]int{"VDU1": 2, "VDU2": 1}},
		{"other package", sol.LcmOperationChangeVnfpkg, func(*world) any {
			return nextVersion(next)
		}, map[string]int{"VDU1": 2, "VDU2": 1}},
		{"level", sol.LcmOperationScaleToLevel, func(*world) any {
			return sol.ScaleVnfToLevelRequest{InstantiationLevelID: "smallest"}
		}, map[string]int{"VDU1": 1}},
		{"scale out again", sol.LcmOperationScale, func(*world) any {
			return scale(sol.ScaleTypeOut, 2)
		}, map[string]int{"VDU1": 3}},
		{"scale in", sol.LcmOperationScale, func(*world) any {
			return scale(sol.ScaleTypeIn, 2)
		}, map[string]int{"VDU1": 1}},
		{"heal all, recreated", sol.LcmOperationHeal, func(*world) any {
			return sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}}
		}, map[string]int{"VDU1": 1}},
		{"other flavour", sol.LcmOperationChangeFlavour, func(w *world) any {
			return w.largeFlavour()
		}, map[string]int{"VDU1": 1, "VDU3": 1}},
		{"name", sol.LcmOperationModifyInfo, func(*world) any {
			return map[string]any{"vnfInstanceName": "another"}
		}, map[string]int{"VDU1": 1, "VDU3": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := *w
			w.t = t
			op := w.begin(id, tt.typ, tt.body(&w))
			w.killOwner(op, 1500*time.Millisecond)
			w.completed(op)
			require.Equal(t, tt.want, vnfcs(w.instance(id)))
		})
	}
	w.down(id)
}

// After the death of a node during a rollback nothing is left behind.
func TestRollbackSurvivesADeadNode(t *testing.T) {
	w := start(t, 2)
	id := w.create(w.vnfd("standard"))
	op := w.instantiate(id, nfv(w.standard("volumes"), "VDU1-0", map[string]any{"computeFlavourId": "m1.huge"}))
	w.failed(op, "No valid host")
	require.NoError(t, w.api.Rollback(t.Context(), op))
	w.killOwner(op, 500*time.Millisecond)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	w.discard(id)
}

// killHeat ends Heat's engine as a crash does and starts it again.
func (w *world) killHeat() {
	w.t.Helper()
	w.t.Cleanup(func() { w.lab.service(w.t, nil, "start", "heat-engine") })
	w.lab.service(w.t, nil, "kill", "heat-engine")
	pause(w.t.Context(), 2*time.Second)
	w.lab.service(w.t, nil, "start", "heat-engine")
}

// forgotten sees an operation through on which Heat may not work any more: an engine that was killed leaves its stacks
// IN_PROGRESS, and none takes them over. A user who does not want to wait for the stack's timeout cancels the
// operation and retries it.
func (w *world) forgotten(op string) {
	w.t.Helper()
	const heatsChance = 30 * time.Second
	for began := time.Now(); time.Since(began) < heatsChance && busy(w.operation(op)); pause(
		w.t.Context(), time.Second,
	) {
	}
	if busy(w.operation(op)) {
		w.canceled(op, sol.CancelModeForceful)
	}
	if w.resting(op).OperationState == sol.LcmOperationStateFailedTemp {
		w.retried(op)
	}
	w.completed(op)
}

// If Heat is killed during a creation, the work does not start from nothing.
func TestHeatKilledWhileItCreates(t *testing.T) {
	w := start(t, 1)
	id := w.create(w.vnfd("standard"))
	op := w.instantiate(id, w.standard("volumes"))
	w.until("Heat has begun", func() bool { return w.cloud.stack(t, id) != nil })
	pause(t.Context(), time.Second)
	w.killHeat()
	w.forgotten(op)
	require.Equal(t, map[string]int{"VDU1": 1, "VDU2": 1}, vnfcs(w.instance(id)))
	w.servers(id, "ACTIVE")
	w.completed(w.terminate(id))
	w.discardLeftovers(id)
}

// discardLeftovers deletes an instance after what Heat has lost: something that it had just asked for when it was
// killed is in no stack.
func (w *world) discardLeftovers(id string) {
	w.t.Helper()
	l, err := w.api.RemoveLeftovers(w.t.Context(), id)
	require.NoError(w.t, err)
	require.Empty(w.t, l.Left)
	w.t.Logf("leftovers removed: %s", encode(w.t, l.Removed))
	w.discard(id)
}

// Nor does one that is killed while it changes or deletes a stack leave the VNF half changed or half deleted.
func TestHeatKilledWhileItChangesAndDeletes(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	op := w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 2))
	w.until("Heat has begun", func() bool { return w.cloud.stack(t, id).text("stack_status") == "UPDATE_IN_PROGRESS" })
	pause(t.Context(), time.Second)
	w.killHeat()
	w.forgotten(op)
	require.Equal(t, map[string]int{"VDU1": 3, "VDU2": 1}, vnfcs(w.instance(id)))
	w.servers(id, "ACTIVE")

	op = w.terminate(id)
	w.until("Heat has begun", func() bool {
		s := w.cloud.stack(t, id)
		return s == nil || s.text("stack_status") == "DELETE_IN_PROGRESS"
	})
	w.killHeat()
	w.forgotten(op)
	w.discardLeftovers(id)
}

// Tokens that are good for a shorter time than an operation takes are renewed in the middle of it. Heat passes tokens
// on to other services, too: much shorter, and it is Heat that fails.
func TestTokenThatExpiresInTheMiddleIsRenewed(t *testing.T) {
	const seconds = 20
	w := start(t, 1)
	vnfd := w.vnfd("plain")
	w.lab.service(t, []string{fmt.Sprintf("GYBE_LAB_TOKEN_SECONDS=%d", seconds)}, "restart", "keystone")
	long := func() { w.lab.service(t, nil, "restart", "keystone") }
	t.Cleanup(long)
	id := w.up(vnfd, w.plain())
	op, err := w.api.Terminate(t.Context(), id, sol.TerminateVnfRequest{
		TerminationType: sol.TerminationTypeGraceful, GracefulTerminationTimeout: seconds + 5,
	})
	require.NoError(t, err)
	w.completed(op)
	long()
	w.discard(id)
}
