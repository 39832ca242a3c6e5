package crash_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/stack"
)

// harbour is a cluster in which the nodes of the VNFM die while they work on a CNF.
type harbour struct {
	*lane
	cluster *kubeapi.Cluster
	vnfd    string
	next    string // the vnfdId with another image
}

// cnfPackage is a sample package of a CNF: its source, the ids of its VNFD and of the changed one, the file with the
// image, and the driver.
type cnfPackage struct {
	source, id, nextID string
	image              [3]string // file, text, replacement
	vimType            string
	params             map[string]any // additionalParams of the instantiation
}

// newHarbour starts a cluster and a node, and uploads the package and the changed one.
func newHarbour(t *testing.T, p cnfPackage) (*harbour, sol.VimConnectionInfo) {
	t.Helper()
	sim, url := kubeapi.StartTest(t)
	sim.CNIInstalled(true)
	sim.AddNode(kubeapi.NodeSpec{Name: "worker1", IP: "10.0.0.2"})
	cred, err := sim.IssueClient("admin", "system:masters")
	require.NoError(t, err)
	access := kubernetes.Access{Endpoint: url, CA: sim.CAPEM(), Certificate: cred.Certificate, Key: cred.Key}.Vim()
	access.VimType = p.vimType

	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	h := &harbour{lane: &lane{world: w, node: spawn(t, database, w.data)}, cluster: sim}
	h.vnfd = w.onboard(h.node.api, p.source)
	s, err := stack.ReadSource(p.source)
	require.NoError(t, err)
	require.NoError(t, s.Edit(p.image[0], p.image[1], p.image[2]))
	require.NoError(t, s.Edit("Definitions/*.yaml", p.id, p.nextID))
	archive := filepath.Join(t.TempDir(), "next.zip")
	require.NoError(t, s.Build(t.Context(), archive))
	h.next, err = stack.Onboard(t.Context(), h.node.api, archive)
	require.NoError(t, err)
	return h, access
}

// pods are the pods of the cluster that are not being deleted.
func (h *harbour) pods() (out []kubeapi.Object) {
	all, _ := h.cluster.Store().List(kubeapi.Kind("Pod"), "default")
	return slices.DeleteFunc(all, func(o kubeapi.Object) bool { return kubeapi.Meta(o)["deletionTimestamp"] != nil })
}

// running are the uids of the pods of an instance, which are those of its VNFCs and those of the cluster.
func (h *harbour) running(id string) []string {
	h.t.Helper()
	i, err := h.node.api.Instance(h.t.Context(), id)
	require.NoError(h.t, err)
	var uids, known []string
	for _, p := range h.pods() {
		uids = append(uids, kubeapi.String(p, "metadata", "uid"))
	}
	info := i.InstantiatedVnfInfo
	if info == nil || info.VnfState == sol.VnfOperationalStateStopped {
		require.Empty(h.t, uids)
		return nil
	}
	for _, c := range info.VnfcInfo {
		n := slices.IndexFunc(info.VnfcResourceInfo, func(r sol.VnfcResourceInfo) bool {
			return r.ID == c.VnfcResourceInfoID
		})
		require.GreaterOrEqual(h.t, n, 0, c.ID)
		known = append(known, strings.TrimPrefix(info.VnfcResourceInfo[n].ID, c.VduID+"-")) // of a chart
	}
	require.ElementsMatch(h.t, uids, known)
	return uids
}

// asks is a request for an operation.
func (h *harbour) asks(typ sol.LcmOperationType, body any) *job {
	return &job{typ: typ, do: func(api *client.Client, instance string) (string, error) {
		return api.Start(h.t.Context(), instance, typ, body)
	}}
}

// A node dies at a write of any operation of a CNF. The next one goes on: no pod is replaced that the operation does
// not replace, none is replaced twice, and each step is done once.
func TestDeathWhileContainersChange(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]cnfPackage{
		"manifests": {
			source: "../../vnf-packages/cnf-web", vimType: kubernetes.VimType,
			id: "6c1f1b0e-2f6f-4a83-9a3b-1c6e7d1f0a52", nextID: "6c1f1b0e-2f6f-4a83-9a3b-1c6e7d1f0a53",
			image: [3]string{"Files/kubernetes/deployment.yaml", "nginx:1.27", "nginx:1.28"},
		},
		"chart": {
			source: "../../vnf-packages/cnf-web-helm", vimType: helm.VimType,
			id: "2ad3f2c5-9b0c-4c8d-9b3f-8b9d8c2f6d41", nextID: "2ad3f2c5-9b0c-4c8d-9b3f-8b9d8c2f6d42",
			image: [3]string{"Files/charts/web/values.yaml", `tag: "1.27"`, `tag: "1.28"`},
			params: map[string]any{
				"namespace": "default", "helm_chart_path": "Files/charts/web",
				"helm_value_names": map[string]any{"VDU1": map[string]any{"replica": "replicaCount"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, access := newHarbour(t, p)
			for n, alive := 0, true; alive; n++ {
				alive = h.life(n, access, p.params)
			}
			t.Logf("%d deaths; the next node had finished %s later on average", h.deaths, avg(h.rest))
			require.Greater(t, h.deaths, 6, "the test has to kill")
		})
	}
}

// life is the life of one instance, in which nodes die in every operation at later and later writes; false when the
// death comes too late in all of them.
func (h *harbour) life(n int, access sol.VimConnectionInfo, params map[string]any) bool {
	h.t.Helper()
	id := h.create(h.node.api, h.vnfd)
	scale := func(to sol.ScaleType) *job {
		return h.asks(sol.LcmOperationScale, sol.ScaleVnfRequest{Type: to, AspectID: "web"})
	}
	operate := func(to sol.VnfOperationalState) *job {
		return h.asks(sol.LcmOperationOperate, sol.OperateVnfRequest{ChangeStateTo: to})
	}
	heal := func(api *client.Client, instance string) (string, error) {
		i, err := api.Instance(h.t.Context(), instance)
		require.NoError(h.t, err)
		return api.Start(h.t.Context(), instance, sol.LcmOperationHeal, sol.HealVnfRequest{
			VnfcInstanceID: []string{i.InstantiatedVnfInfo.VnfcInfo[1].ID},
		})
	}
	request := map[string]any{"flavourId": "simple", "vimConnectionInfo": map[string]any{"vim1": access}}
	if params != nil {
		request["additionalParams"] = params
	}
	all := []struct {
		*job
		pods, kept int // the pods after the operation, and how many of them were there before it
	}{
		{&job{typ: sol.LcmOperationInstantiate, do: h.instantiate(request)}, 2, 0},
		{scale(sol.ScaleTypeOut), 3, 2},
		{&job{typ: sol.LcmOperationHeal, do: heal}, 3, 2},
		{scale(sol.ScaleTypeIn), 2, 2},
		{operate(sol.VnfOperationalStateStopped), 0, 0},
		{operate(sol.VnfOperationalStateStarted), 2, 0},
		{h.asks(sol.LcmOperationChangeVnfpkg, sol.ChangeCurrentVnfPkgRequest{VnfdID: h.next}), 2, 0},
		{h.asks(sol.LcmOperationHeal, sol.HealVnfRequest{}), 2, 0},
		{&job{typ: sol.LcmOperationTerminate, do: h.terminate()}, 0, 0},
	}
	alive := false
	for scenario, j := range all {
		first, every := clusterStride(scenario)
		place := first + n*every
		before := h.running(id)
		j.phases = []string{"grant", "infra", "inventory"}
		if j.typ == sol.LcmOperationTerminate {
			j.phases = []string{"grant", "infra"}
		}
		h.run(j.job, id, death{Nth: (place + 1) / 2, After: place%2 == 0})
		alive = alive || !j.survived
		after := h.running(id)
		require.Len(h.t, after, j.pods, "%s", j.typ)
		kept := slices.DeleteFunc(after, func(uid string) bool { return !slices.Contains(before, uid) })
		require.Len(h.t, kept, j.kept, "%s", j.typ)
	}
	for _, kind := range []string{"Deployment", "ReplicaSet", "Service", "Secret"} {
		left, _ := h.cluster.Store().List(kubeapi.Kind(kind), "default")
		for _, o := range left {
			require.Contains(h.t, []string{"kubernetes"}, kubeapi.Name(o), kind)
		}
	}
	require.NoError(h.t, h.node.api.DeleteInstance(h.t.Context(), id))
	return alive
}
