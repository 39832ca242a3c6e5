package cnf_test

import (
	"strings"
	"testing"
	"testing/fstest"

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
