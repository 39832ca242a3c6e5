package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// snapshot takes a snapshot of an instance and returns its id.
func (w *world) snapshot(id string) string {
	w.t.Helper()
	s, err := w.api.CreateSnapshot(w.t.Context())
	require.NoError(w.t, err)
	w.completed(w.task(id, sol.LcmOperationCreateSnapshot, map[string]any{"vnfSnapshotInfoId": s.ID}))
	return s.ID
}

// keeps stores something in the cluster of an instance.
func (w *world) keeps(id, name string) {
	w.t.Helper()
	_, err := w.kube(id).CoreV1().ConfigMaps("default").Create(
		w.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// has says whether the cluster has it.
func (w *world) has(id, name string) bool {
	w.t.Helper()
	_, err := w.kube(id).CoreV1().ConfigMaps("default").Get(w.t.Context(), name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(w.t, err)
	}
	return err == nil
}

// revertBody is the body of a revert_to_snapshot.
func revertBody(snapshot string) map[string]any { return map[string]any{"vnfSnapshotInfoId": snapshot} }

// refused requires that a task is refused with 409 and words.
func (w *world) refused(id string, o sol.LcmOperationType, body map[string]any, words string) {
	w.t.Helper()
	_, err := w.api.Start(w.t.Context(), id, o, body)
	status(w.t, err, http.StatusConflict)
	require.ErrorContains(w.t, err, words)
}

// A cluster goes back to its snapshot: with what was stored in it and the nodes of that time. The VNFCs must be
// those of the snapshot.
func TestClusterIsReverted(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	nodes := w.members(id, 1, 2)
	w.keeps(id, "before")
	s := w.snapshot(id)
	w.keeps(id, "after")

	scale := func(way sol.ScaleType) {
		t.Helper()
		w.completed(w.task(id, sol.LcmOperationScale, map[string]any{
			"type": way, "aspectId": "workerNode_scale", "numberOfSteps": 1,
		}))
	}
	scale(sol.ScaleTypeOut)
	w.refused(id, sol.LcmOperationRevertToSnapshot, revertBody(s), "the snapshot does not have workerNode-2")
	scale(sol.ScaleTypeIn)
	w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{"changeStateTo": "STOPPED"}))
	w.refused(id, sol.LcmOperationRevertToSnapshot, revertBody(s), "start the VNF first")
	w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{"changeStateTo": "STARTED"}))

	w.planShows(id, sol.LcmOperationRevertToSnapshot, revertBody(s),
		"revert_to_snapshot_end: the cluster has to answer and its nodes to become Ready with the disks of the "+
			"snapshot, and is registered again with the credentials of that time")
	op := w.task(id, sol.LcmOperationRevertToSnapshot, revertBody(s))
	w.completed(op)
	require.Equal(t, 1, done(w.progress(op), "wait for API server"))
	require.Equal(t, 1, done(w.progress(op), "wait for nodes"))
	require.ElementsMatch(t, nodes, w.members(id, 1, 2))
	require.True(t, w.has(id, "before"))
	require.False(t, w.has(id, "after"))

	// The same again, from other machines that have lost everything.
	w.completed(w.task(id, sol.LcmOperationRevertToSnapshot, revertBody(s)))
	require.ElementsMatch(t, nodes, w.members(id, 1, 2))
	require.True(t, w.has(id, "before"))
	scale(sol.ScaleTypeOut)
	w.members(id, 1, 3)
	scale(sol.ScaleTypeIn)

	// A heal recreates machines with the disks of the snapshot, on which nodes of the cluster are.
	_, worker := w.machineOf(id, "workerNode", 0)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{worker}}))
	w.members(id, 1, 2)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}))
	w.members(id, 1, 2)
	w.completed(w.terminate(id))
	require.NoError(t, w.api.DeleteSnapshot(t.Context(), s))
	w.gone()
}

// The disks of several masters must be of one moment. Their balancers are part of the disks.
func TestClusterOfSeveralMastersIsReverted(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("complex")))
	nodes := w.members(id, 3, 2)
	w.keeps(id, "before")
	s, err := w.api.CreateSnapshot(t.Context())
	require.NoError(t, err)
	w.refused(id, sol.LcmOperationCreateSnapshot, revertBody(s.ID),
		"stop the VNF, take the snapshot, and start the VNF")
	w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{"changeStateTo": "STOPPED"}))
	w.completed(w.task(id, sol.LcmOperationCreateSnapshot, revertBody(s.ID)))
	w.starts(id)
	w.members(id, 3, 2)
	w.keeps(id, "after")
	w.completed(w.task(id, sol.LcmOperationRevertToSnapshot, revertBody(s.ID)))
	require.ElementsMatch(t, nodes, w.members(id, 3, 2))
	require.True(t, w.has(id, "before"))
	require.False(t, w.has(id, "after"))
	w.balanced(id, fleet)
	_, master := w.machineOf(id, "masterNode", 1)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{master}}))
	w.members(id, 3, 2)
	w.completed(w.terminate(id))
	require.NoError(t, w.api.DeleteSnapshot(t.Context(), s.ID))
	w.gone()
}
