package cnf_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Ids of the VNFD of vnf-packages/cnf-nodeport and of its successor.
const (
	thisVNFD = "babb0ce7-ebca-4fa7-95ed-4840d70a1177"
	nextVNFD = "babb0ce7-ebca-4fa7-95ed-4840d70a1178"
)

const template = `
  selector: { matchLabels: { app: webserver } }
  template:
    metadata: { labels: { app: webserver } }
    spec: { containers: [ { name: nginx, image: nginx } ] }
`

// workloads are the manifests of the VDU by kind. fixed says that requests cannot change the number of its pods.
var workloads = map[string]struct {
	manifest string
	fixed    bool
}{
	"StatefulSet": {manifest: `apiVersion: apps/v1
kind: StatefulSet
metadata: { name: vdu1 }
spec:
  serviceName: vdu1
  replicas: 1` + template},
	"ReplicaSet": {manifest: `apiVersion: apps/v1
kind: ReplicaSet
metadata: { name: vdu1 }
spec:
  replicas: 1` + template},
	"DaemonSet": {fixed: true, manifest: `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: vdu1 }
spec:` + template},
	// The first Pod of a namespace needs the account that the cluster makes with the namespace.
	"Pod": {fixed: true, manifest: `apiVersion: v1
kind: Pod
metadata: { name: vdu1, namespace: gybe-lab }
spec:
  priorityClassName: gybe-lab-vital
  containers: [ { name: nginx, image: nginx } ]
---
apiVersion: v1
kind: Namespace
metadata: { name: gybe-lab }
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: gybe-lab-vital }
value: 1000
`},
}

// TestWorkloads: a VDU is a workload of each kind that it can be. Its VNFCs keep their ids, and a change of the package
// reaches their pods.
func TestWorkloads(t *testing.T) {
	w := start(t)
	for _, kind := range slices.Sorted(maps.Keys(workloads)) {
		t.Run(kind, func(t *testing.T) {
			here := *w
			here.t = t
			here.workload(workloads[kind].manifest, workloads[kind].fixed)
		})
	}
}

func (w *world) workload(manifest string, fixed bool) {
	w.t.Helper()
	const file = "Files/kubernetes/deployment.yaml"
	of := func(manifest string) string {
		dir := manifests(w.t, thisVNFD, uuid.NewString())
		require.NoError(w.t, os.WriteFile(filepath.Join(dir, file), []byte(manifest), 0o600))
		return dir
	}
	id := w.create(of(manifest))
	request := w.encode(sol.InstantiateVnfRequest{
		FlavourID: "simple", VimConnectionInfo: w.vim(kubernetes.VimType),
		AdditionalParams: sol.KeyValuePairs{"lcm-kubernetes-def-files": []string{file}},
	})
	w.possible(id, sol.LcmOperationInstantiate, request)
	op, err := w.api.Instantiate(w.t.Context(), id, request)
	w.completed("instantiate", op, err)
	vnfcs := slices.Sorted(maps.Keys(w.pods(id)))
	require.NotEmpty(w.t, vnfcs)
	if !fixed {
		op, err = w.api.Scale(w.t.Context(), id, sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "vdu1_aspect"})
		w.completed("scale out", op, err)
		require.Len(w.t, w.pods(id), 2)
		vnfcs = slices.Sorted(maps.Keys(w.pods(id)))
	}
	before := w.uids(id)
	op, err = w.api.Heal(w.t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: vnfcs[:1]})
	w.completed("heal a VNFC", op, err)
	require.Equal(w.t, vnfcs, slices.Sorted(maps.Keys(w.pods(id))))
	require.NotEqual(w.t, before[vnfcs[0]], w.uids(id)[vnfcs[0]])

	// A Pod keeps its image in the manifest of the API server, which allows the image to change.
	next := w.onboard(of(strings.ReplaceAll(manifest, "image: nginx", "image: nginx:2")))
	op, err = w.api.ChangePackage(w.t.Context(), id, sol.ChangeCurrentVnfPkgRequest{VnfdID: next})
	w.completed("change the package", op, err)
	require.Equal(w.t, vnfcs, slices.Sorted(maps.Keys(w.pods(id))))
	w.requireImage(id, "nginx:2")
	before = w.uids(id)
	op, err = w.api.Heal(w.t.Context(), id, sol.HealVnfRequest{})
	w.completed("heal the CNF", op, err)
	require.Equal(w.t, vnfcs, slices.Sorted(maps.Keys(w.pods(id))))
	for vnfc, uid := range w.uids(id) {
		require.NotEqual(w.t, before[vnfc], uid)
	}
	w.terminate(id)
}

// possible wants the plan of an operation to say that it is possible.
func (w *world) possible(id string, operation sol.LcmOperationType, request []byte) *gybeapi.Preview {
	w.t.Helper()
	plan, err := w.api.Plan(w.t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: operation, Params: request,
	})
	require.NoError(w.t, err)
	require.True(w.t, plan.Possible, "%+v", plan.Checks)
	return plan
}

// uids are the uids of the pods of an instance's VNFCs, by VNFC.
func (w *world) uids(id string) map[string]string {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	out := map[string]string{}
	for _, c := range i.InstantiatedVnfInfo.VnfcInfo {
		out[c.ID] = c.VnfcResourceInfoID
	}
	return out
}

// requireImage wants all pods of an instance's VNFCs to be of an image.
func (w *world) requireImage(id, image string) {
	w.t.Helper()
	all, err := w.cluster.List(w.t.Context(), []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}, "", "")
	require.NoError(w.t, err)
	uids := slices.Collect(maps.Values(w.uids(id)))
	found := 0
	for _, pod := range all {
		if slices.ContainsFunc(uids, func(uid string) bool { return strings.HasSuffix(uid, string(pod.GetUID())) }) {
			found++
			require.Contains(w.t, string(w.encode(pod.Object["spec"])), `"image":"`+image+`"`)
		}
	}
	require.Len(w.t, uids, found)
}
