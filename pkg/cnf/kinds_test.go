package cnf_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/infratest"
)

// harness is that of the contract, with another manifest of the workload.
func harness(workload string) infratest.Harness {
	all := files()
	all["Files/kubernetes/deployment.yaml"] = &fstest.MapFile{Data: []byte(workload)}
	return infratest.Harness{
		VNFD: model(), Files: all, Request: request(), Aspect: "web", NoSnapshots: true, Own: own,
		New: func(t *testing.T) infratest.VIM { t.Helper(); return newCluster(t) },
	}
}

// TestStatefulSet: the VNFCs of a VDU are the pods of a StatefulSet, which keep their names.
func TestStatefulSet(t *testing.T) {
	t.Parallel()
	h := harness(strings.Replace(deployment, "kind: Deployment", "kind: StatefulSet", 1))
	h.KeepsIDs = true
	infratest.Life(t, h)
}

// TestReplicaSet: the VNFCs of a VDU are the pods of a ReplicaSet.
func TestReplicaSet(t *testing.T) {
	t.Parallel()
	infratest.Life(t, harness(strings.Replace(deployment, "kind: Deployment", "kind: ReplicaSet", 1)))
}

const custom = `---
apiVersion: example.com/v1
kind: Site
metadata:
  name: north
spec: {size: 2}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: sites.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: sites, singular: site, kind: Site}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestCustomResource: a package has a definition of a kind and an object of it, in any order.
func TestCustomResource(t *testing.T) {
	t.Parallel()
	infratest.Life(t, harness(deployment+custom))
}

// single is the harness of a workload with one VNFC, whose number a request cannot change.
func single(workload, refusal string) infratest.Harness {
	h := harness(workload)
	h.Fixed = refusal
	f := &h.VNFD.Flavours[0]
	f.VDUs[0].InitialInstances, f.Levels[0].VDUs["VDU1"] = 1, 1
	return h
}

// TestDaemonSet: the VNFCs of a VDU are the pods of a DaemonSet, of which each node has one.
func TestDaemonSet(t *testing.T) {
	t.Parallel()
	workload := strings.Replace(deployment, "kind: Deployment", "kind: DaemonSet", 1)
	infratest.Life(t, single(strings.Replace(workload, "  replicas: 7\n", "", 1), "the nodes of the cluster decide"))
}

const pod = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
  - name: web
    image: registry.test/web:1
`

// TestPod: the VNFC of a VDU is a Pod without a controller, which a heal creates again.
func TestPod(t *testing.T) {
	t.Parallel()
	h := single(pod, "is one Pod")
	h.KeepsIDs = true
	infratest.Life(t, h)
}

// TestPodsWithReferences: a Pod needs a class and an account that the manifests have besides. The plan says so, and is
// possible.
func TestPodsWithReferences(t *testing.T) {
	t.Parallel()
	const more = `  priorityClassName: vital
  serviceAccountName: reader
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: vital}
value: 7
`
	h := single(pod+more, "is one Pod")
	h.KeepsIDs = true
	infratest.Life(t, h)
	c := newCluster(t)
	all, _ := h.Files.(fstest.MapFS)
	r := validation(request().AdditionalParams, all)
	r.Instance.VimConnections = c.Connections()
	p, err := c.Infra(nil).Preview(t.Context(), r)
	require.NoError(t, err)
	require.True(t, p.Possible, "%+v", p.Checks)
	require.Len(t, p.Checks, 1)
	require.Equal(t, lcm.CheckWarning, p.Checks[0].State)
	require.Contains(t, p.Checks[0].Detail, "no PriorityClass with name vital was found")
}

// TestJobIsNoVDU: the pods of a Job end, so it cannot be a VDU.
func TestJobIsNoVDU(t *testing.T) {
	t.Parallel()
	for kind, version := range map[string]string{"Job": "batch/v1", "CronJob": "batch/v1"} {
		all := files()
		manifest := strings.NewReplacer("kind: Deployment", "kind: "+kind, "apps/v1", version).Replace(deployment)
		all["Files/kubernetes/deployment.yaml"] = &fstest.MapFile{Data: []byte(manifest)}
		e := lcm.AsError(newDriver(t).Validate(t.Context(), validation(request().AdditionalParams, all)))
		require.NotNil(t, e)
		require.Equal(t, "/additionalParams/lcm-kubernetes-def-files", e.Params[0].Pointer)
		require.Contains(t, e.Params[0].Detail, "the VDU VDU1 is the "+kind+" web, whose pods end")
	}
}
