package k8scluster

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// requireWholeCluster returns CodeConflict for a revert of some machines of a cluster: a member of etcd with an old disk
// has lost what the others believe that it has confirmed, and workers would have certificates and pods of another time.
// All machines together are a cluster of the time of the snapshot.
func requireWholeCluster(r lcm.Request) error {
	if r.Scope == nil || r.Instance.Instantiated == nil ||
		len(r.Scope.VNFCs) == len(r.Instance.Instantiated.VnfcInfo) {
		return nil
	}
	return lcm.Errorf(lcm.CodeConflict, "VNF instance %s is a Kubernetes cluster: single nodes cannot be reverted, because "+
		"etcd would have members of different times", r.Instance.ID).
		WithHint("revert the whole cluster, without vnfcSnapshotInfoId, or heal the node")
}
