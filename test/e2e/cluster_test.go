package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
)

// withMachines starts a world whose servers have an inside.
func withMachines(t *testing.T, change func(*config.Config)) (*world, *machine.Fleet) {
	t.Helper()
	cloud, fleet := machines.StartTest(t, simcloud.Options{}, machine.Options{SSHPort: sshPort})
	return start(t, cloud, change), fleet
}

// What a node's script says when it fails is what the user reads, and a retry goes on where it failed: nothing that was
// done is done again.
func TestNodeThatFailsIsReportedWithItsTextAndRetried(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	fleet.Fail(
		"", machine.Failure{Command: "kubeadm join", Stderr: "error execution phase kubelet-start: the disk is full"},
	)
	op := w.instantiate(id, w.cluster("simple"))
	o := w.failed(op)
	require.Contains(t, o.Error.Detail, "the disk is full")
	require.Contains(t, o.Error.Detail, "workerNode-", "and which VNFC it is")
	require.NotEmpty(t, o.Error.Hint)
	p := w.progress(op)
	require.Equal(t, "grant infra inventory instantiate_end(FAILED)", phases(p.Phases))
	require.Equal(t, 3, done(p, "prepare node"))
	fleet.ClearFailures("")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	w.ready(id)
	i, err := w.api.Instance(t.Context(), id)
	require.NoError(t, err)
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		require.Equal(t, 1, fleet.Count(r.ID, "apt-mark hold"), "prepared once")
	}
	w.completed(w.terminate(id))
	w.gone()
}

// done counts the steps of a name that are done.
func done(p *gybeapi.Progress, name string) int {
	n := 0
	for _, s := range p.Steps {
		if s.Name == name && s.State == "DONE" {
			n++
		}
	}
	return n
}

// Rolling back a cluster that is half built leaves nothing: not in the cloud, not among the VIMs, not on the instance.
func TestHalfOfAClusterIsRolledBack(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	fleet.Fail("", machine.Failure{Command: "kubeadm init", Stderr: "error execution phase preflight: no"})
	op := w.instantiate(id, w.cluster("complex"))
	require.Contains(t, w.failed(op).Error.Detail, "error execution phase preflight: no")
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	w.gone()
	require.Empty(t, fleet.Snapshot())
	vims, err := w.api.Vims(t.Context())
	require.NoError(t, err)
	require.Empty(t, vims)
	fleet.ClearFailures("")
	w.completed(w.instantiate(id, w.cluster("complex")))
	w.ready(id)
	w.completed(w.terminate(id))
	w.gone()
}

// Nodes refuse the login: while the operation waits for them, its user sees what for.
func TestNodesThatRefuseTheLoginAreNamedWhileTheyAreWaitedFor(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	params := w.cluster("simple")
	at(t, params, "additionalParams", "k8s_cluster_installation_param", "worker_node")["username"] = "nobody"
	op := w.instantiate(id, params)
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(w.progress(op).Lines, func(l gybeapi.Line) bool {
			return strings.Contains(l.Text, "waits for SSH on nobody@") && strings.Contains(
				l.Text, "unable to authenticate",
			)
		})
	}, patience, 20*time.Millisecond)
}

// Users instantiate more than once from the same parameter file, which may name the cluster. Both clusters are there,
// under names that differ, and the end of one is not the end of the other.
func TestTwoClustersFromTheSameParameterFile(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	vnfd := w.onboard(clusterSource)
	ids := []string{w.create(vnfd), w.create(vnfd)}
	ops := []string{w.instantiate(ids[0], w.cluster("simple")), w.instantiate(ids[1], w.cluster("simple"))}
	for i := range ids {
		w.completed(ops[i])
		w.ready(ids[i])
	}
	vims, err := w.api.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, vims, 2)
	require.NotEqual(t, vims[0].Name, vims[1].Name)
	w.completed(w.terminate(ids[0]))
	w.ready(ids[1])
	vims, err = w.api.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, vims, 1)
	w.completed(w.terminate(ids[1]))
	w.gone()
}
