package k8s_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Masters, workers and the storage server are the VDUs of the sample package.
const (
	masters = "masterNode"
	workers = "workerNode"
	server  = "storage_server"
)

// TestSimple: a small cluster has all its nodes, scales out and in, and a heal replaces a worker. The facts on which
// the simulated Kubernetes API is built hold for its API.
func TestSimple(t *testing.T) {
	w := start(t, "simple")
	id := w.up()
	w.run("env", "CONTRACT_KUBECONFIG="+w.kubeconfig(id), "go", "test", "-count=1", "../../simcloud/kubeapi/contract")
	w.scale(id, sol.ScaleTypeOut, 1)
	w.scale(id, sol.ScaleTypeIn, 1)
	w.heal(id, w.vnfcs(id, workers)[0])
	w.down(id)
}

// TestComplex: a cluster with three masters answers at one address, also after the loss of a master. A heal restores
// nodes, and the whole cluster.
func TestComplex(t *testing.T) {
	w := start(t, "complex")
	id := w.up()
	w.etcd(id)
	w.scale(id, sol.ScaleTypeOut, 1)
	w.scale(id, sol.ScaleTypeIn, 1)
	w.scale(id, sol.ScaleTypeOut, 2)
	w.scale(id, sol.ScaleTypeIn, 2)

	w.heal(id, w.vnfcs(id, workers)[0])
	dead := w.vnfcs(id, workers)[0]
	w.run(hosts, "off", dead.server)
	w.heal(id, dead)

	holder := w.holder(id)
	w.run(hosts, "off", holder.server)
	w.answers(id, "the API after the loss of the master with the address")
	w.heal(id, holder)
	w.etcd(id)

	old := w.kubeconfigText(id)
	w.healAll(id)
	require.NotEqual(t, old, w.kubeconfigText(id), "a new cluster has credentials of its own")
	w.etcd(id)
	w.down(id)
}

// TestOlderLayout: a package of the older layout, with groups of Heat, gives the same cluster with its own parameter
// files. A heal restores nodes.
func TestOlderLayout(t *testing.T) {
	w := startOlder(t, "complex")
	id := w.up()
	w.etcd(id)
	w.scale(id, sol.ScaleTypeOut, 1)
	w.scale(id, sol.ScaleTypeIn, 1)
	w.heal(id, w.vnfcs(id, workers)[0])
	holder := w.holder(id)
	w.run(hosts, "off", holder.server)
	w.answers(id, "older layout: the API after the loss of the master with the address")
	w.heal(id, holder)
	w.etcd(id)
	w.down(id)
}

// TestScaleOutByTen: adding ten workers does not take ten times as long as adding one. The printed times contain both.
func TestScaleOutByTen(t *testing.T) {
	w := start(t, "simple")
	w.vnfd = w.variant("d34ac189-5376-493f-828f-224dd5fe7395", "max_scale_level: 2", "max_scale_level: 11",
		"max_number_of_instances: 4", "max_number_of_instances: 13")
	id := w.up()
	w.scale(id, sol.ScaleTypeOut, 1)
	w.scale(id, sol.ScaleTypeOut, 10)
	w.scale(id, sol.ScaleTypeIn, 10)
	w.down(id)
}

// TestPodAffinity: labels of the nodes show compute host and zone after every operation, so that pods can be spread.
// The machines have no known password.
func TestPodAffinity(t *testing.T) {
	w := start(t, "podaffinity")
	w.keys = true
	id := w.up()
	w.placed(id)
	w.scale(id, sol.ScaleTypeOut, 1)
	w.placed(id)
	w.heal(id, w.vnfcs(id, workers)[0])
	w.placed(id)
	w.down(id)
}

// up makes the cluster, with the least that its flavour allows.
func (w *world) up() string {
	w.t.Helper()
	i, err := w.api.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: w.vnfd, VnfInstanceName: w.t.Name()})
	require.NoError(w.t, err)
	op, err := w.api.Instantiate(w.t.Context(), i.ID, w.request())
	w.completed("instantiate", op, err)
	w.ready(i.ID)
	return i.ID
}

func (w *world) down(id string) {
	w.t.Helper()
	op, err := w.api.Terminate(w.t.Context(), id, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
	w.completed("terminate", op, err)
	require.NoError(w.t, w.api.DeleteInstance(w.t.Context(), id))
	require.Empty(w.t, w.run(hosts, "list"), "hosts are left over")
}

func (w *world) scale(id string, kind sol.ScaleType, by int) {
	w.t.Helper()
	op, err := w.api.Scale(w.t.Context(), id, sol.ScaleVnfRequest{Type: kind, AspectID: w.workers, NumberOfSteps: by})
	title := "scale out by "
	if kind == sol.ScaleTypeIn {
		title = "scale in by "
	}
	w.completed(title+strconv.Itoa(by), op, err)
	w.ready(id)
}

// heal replaces one VNFC, which is another machine afterwards.
func (w *world) heal(id string, c vnfc) {
	w.t.Helper()
	op, err := w.api.Heal(w.t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{c.id}})
	w.completed("heal a "+c.vdu, op, err)
	require.NotContains(w.t, w.vnfcs(id, c.vdu), c)
	w.ready(id)
}

func (w *world) healAll(id string) {
	w.t.Helper()
	op, err := w.api.Heal(w.t.Context(), id, sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}})
	w.completed("heal all", op, err)
	w.ready(id)
}

// vnfc is a VNFC with its server. resource is the identifier of its entry in vnfcResourceInfo.
type vnfc struct{ id, vdu, resource, server string }

// vnfcs lists an instance's VNFCs of a VDU.
func (w *world) vnfcs(id, vdu string) []vnfc {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	info := i.InstantiatedVnfInfo
	var out []vnfc
	for _, c := range info.VnfcInfo {
		if c.VduID != vdu {
			continue
		}
		at := slices.IndexFunc(
			info.VnfcResourceInfo, func(r sol.VnfcResourceInfo) bool { return r.ID == c.VnfcResourceInfoID },
		)
		require.GreaterOrEqual(w.t, at, 0)
		out = append(out, vnfc{
			id: c.ID, vdu: vdu, resource: c.VnfcResourceInfoID,
			server: info.VnfcResourceInfo[at].ComputeResource.ResourceID,
		})
	}
	require.NotEmpty(w.t, out, vdu)
	return out
}
