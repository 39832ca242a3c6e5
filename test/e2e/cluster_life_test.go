package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// task starts a task of an instance.
func (w *world) task(id string, o sol.LcmOperationType, body map[string]any) string {
	w.t.Helper()
	op, err := w.api.Start(w.t.Context(), id, o, body)
	require.NoError(w.t, err)
	return op
}

// members checks that the cluster has just these many nodes, all Ready, and returns their names.
func (w *world) members(id string, masters, workers int) []string {
	w.t.Helper()
	var names []string
	list, err := nodes(w.t, w.ready(id))
	require.NoError(w.t, err)
	isMaster := func(n corev1.Node) bool { _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; return ok }
	have := 0
	for _, n := range list {
		names = append(names, n.Name)
		if isMaster(n) {
			have++
		}
		require.Contains(w.t, n.Labels, "CIS-node", n.Name)
	}
	require.Equal(w.t, masters, have, "%v", names)
	require.Len(w.t, names, masters+workers)
	return names
}

// starts starts a cluster that is stopped, and waits until all its nodes are Ready: the operation starts the machines,
// and does not wait for their kubelets.
func (w *world) starts(id string) {
	w.t.Helper()
	w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{"changeStateTo": "STARTED"}))
	raw, err := w.api.Kubeconfig(w.t.Context(), id)
	require.NoError(w.t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool {
		list, err := nodes(w.t, cfg)
		return err == nil && !slices.ContainsFunc(list, func(n corev1.Node) bool { return !isReady(n) })
	}, 5*time.Minute, 50*time.Millisecond)
}

// machineOf is the server of the n-th VNFC of a VDU, with its vnfcInfo id.
func (w *world) machineOf(id, vdu string, n int) (server, vnfc string) {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	var of []sol.VnfcInfo
	for _, c := range i.InstantiatedVnfInfo.VnfcInfo {
		if c.VduID == vdu {
			of = append(of, c)
		}
	}
	slices.Reverse(of)
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		if r.ID == of[n].VnfcResourceInfoID {
			return r.ComputeResource.ResourceID, of[n].ID
		}
	}
	w.t.Fatal("the VNFC has no server")
	return "", ""
}

// A cluster grows, shrinks and gets back what it loses, with parameters that are given once.
func TestClusterIsScaledAndHealed(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	params := w.cluster("complex")
	w.planShows(id, sol.LcmOperationInstantiate, params,
		"instantiate_end: Kubernetes 1.34 is installed by Scripts/install_k8s_cluster.sh on 3 masters and 2 workers",
		"instantiate_end: the masters share the address of vip_CP",
		"instantiate_end: the cluster is registered as the VIM kubernetes_vim_"+id)
	w.completed(w.instantiate(id, params))
	small := w.members(id, 3, 2)

	out := map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale", "numberOfSteps": 2}
	w.planShows(id, sol.LcmOperationScale, out,
		"scale_end: Kubernetes 1.34 is installed on 2 new workers, which join the cluster")
	w.completed(w.task(id, sol.LcmOperationScale, out))
	w.members(id, 3, 4)
	_, first := w.machineOf(id, "workerNode", 3)
	_, second := w.machineOf(id, "workerNode", 2)
	in := map[string]any{"type": "SCALE_IN", "aspectId": "workerNode_scale", "numberOfSteps": 2}
	w.planShows(id, sol.LcmOperationScale, in,
		"scale_start: the node of "+first+" is drained, for at most 5m0s, and leaves the cluster",
		"scale_start: the node of "+second+" is drained, for at most 5m0s, and leaves the cluster")
	w.completed(w.task(id, sol.LcmOperationScale, in))
	require.ElementsMatch(t, small, w.members(id, 3, 2))
	w.refusesWhileStopped(id, out)
	w.starts(id)
	require.ElementsMatch(t, small, w.members(id, 3, 2))

	dead, worker := w.machineOf(id, "workerNode", 0)
	fleet.PowerOff(dead)
	heal := map[string]any{"vnfcInstanceId": []string{worker}}
	w.planShows(id, sol.LcmOperationHeal, heal,
		"heal_start: the node of "+worker+" is drained, for at most 5m0s, if it answers, and leaves the cluster",
		"heal_end: the new machine of "+worker+" joins the cluster with Kubernetes 1.34")
	w.completed(w.task(id, sol.LcmOperationHeal, heal))
	w.members(id, 3, 2)

	for _, n := range []int{0, 2} { // the first is the one that everything went through
		dead, master := w.machineOf(id, "masterNode", n)
		fleet.PowerOff(dead)
		w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{master}}))
		w.members(id, 3, 2)
	}
	whole := map[string]any{"additionalParams": map[string]any{"all": true}}
	w.planShows(id, sol.LcmOperationHeal, whole,
		"heal_end: a new cluster of Kubernetes 1.34 is installed by Scripts/install_k8s_cluster.sh on 3 masters and "+
			"2 workers",
		"heal_end: the masters share the address of vip_CP",
		"heal_end: the cluster is registered as the VIM kubernetes_vim_"+id)
	w.completed(w.task(id, sol.LcmOperationHeal, whole))
	w.members(id, 3, 2)
	w.completed(w.terminate(id))
	w.gone()
}

// refusesWhileStopped stops a cluster and requires that a scaling and its plan are refused with the remedy,
// and that the list of nodes gives the reason.
func (w *world) refusesWhileStopped(id string, scale map[string]any) {
	w.t.Helper()
	w.completed(w.task(id, sol.LcmOperationOperate, map[string]any{"changeStateTo": "STOPPED"}))
	_, err := w.api.Plan(w.t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationScale, Params: encode(w.t, scale),
	})
	status(w.t, err, http.StatusConflict)
	_, err = w.api.Start(w.t.Context(), id, sol.LcmOperationScale, scale)
	status(w.t, err, http.StatusConflict)
	require.ErrorContains(w.t, err, "start the VNF first")
	stdout, stderr, code := w.gybe("vnf", "nodes", id)
	require.Equal(w.t, cli.ExitUnreachable, code)
	require.Contains(w.t, stderr, "the VNF is STOPPED")
	require.Equal(w.t, 5, strings.Count(stdout, "the machine is STOPPED"), stdout)
}

// planShows requires that a plan describes the mgmt driver's work so, hook by hook.
func (w *world) planShows(id string, o sol.LcmOperationType, body map[string]any, want ...string) {
	w.t.Helper()
	p, err := w.api.Plan(w.t.Context(), gybeapi.PlanRequest{VnfInstanceID: id, Operation: o, Params: encode(w.t, body)})
	require.NoError(w.t, err)
	var said []string
	for _, l := range p.Work {
		require.Equal(w.t, "mgmt-drivers-kubernetes", l.Driver)
		said = append(said, l.Hook+": "+l.Detail)
	}
	require.Equal(w.t, want, said)
}

// A scaling out that fails half-way is rolled back: no node is left in the cluster whose machine is gone.
func TestClusterForgetsNodesWhoseMachinesAreRolledBack(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	names := w.members(id, 1, 2)
	fleet.Fail(
		"", machine.Failure{Command: "kubeadm join", Stderr: "error execution phase kubelet-start: the disk is full"},
	)
	op := w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale"})
	require.Contains(t, w.failed(op).Error.Detail, "the disk is full")
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	fleet.ClearFailures("")
	require.ElementsMatch(t, names, w.members(id, 1, 2))
	w.completed(w.terminate(id))
	w.gone()
}

// Machines that had become nodes already when the scaling out failed are nodes no more when it is rolled back, and
// their pods are elsewhere.
func TestNodesThatHadJoinedLeaveWhenTheirMachinesAreRolledBack(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	names, cfg := w.members(id, 1, 2), w.ready(id)
	had := fleet.Snapshot()
	fleet.SetDelays(map[string]time.Duration{"boot": 2 * time.Second}) // a new machine is found before it can join
	op := w.task(id, sol.LcmOperationScale, map[string]any{
		"type": "SCALE_OUT", "aspectId": "workerNode_scale", "numberOfSteps": 2,
	})
	unlucky := ""
	require.Eventually(t, func() bool {
		for server := range fleet.Snapshot() {
			if _, old := had[server]; !old {
				unlucky = server
			}
		}
		return unlucky != ""
	}, patience, time.Millisecond)
	joined := make(chan struct{})
	release := sync.OnceFunc(func() { close(joined) })
	t.Cleanup(release)
	fleet.Fail(unlucky, machine.Failure{
		Command: "kubeadm join", Stderr: "error execution phase kubelet-start: the disk is full",
		Notify: func() { <-joined },
	})
	require.Eventually(t, func() bool {
		list, err := nodes(t, cfg)
		return err == nil && len(list) == 4
	}, patience, 20*time.Millisecond, "the other has joined")
	release()
	require.Contains(t, w.failed(op).Error.Detail, "the disk is full")
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	require.True(t, slices.ContainsFunc(w.progress(op).Steps, func(s gybeapi.Step) bool {
		return s.Name == "drain node" && strings.HasSuffix(s.Detail, " is empty")
	}),
		"who is Ready is drained first")
	require.ElementsMatch(t, names, w.members(id, 1, 2))
	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale"}))
	w.members(id, 1, 3)
	w.completed(w.terminate(id))
	w.gone()
}
