package k8scluster

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// requireWholeCluster refuses a revert of some machines of a cluster: a member of etcd with an old disk has lost what
// the others believe that it has confirmed, and workers would have certificates and pods of another time. All machines
// together are a cluster of the time of the snapshot.
func requireWholeCluster(r lcm.Request) error {
	if r.Scope == nil || r.Instance.Instantiated == nil ||
		len(r.Scope.VNFCs) == len(r.Instance.Instantiated.VnfcInfo) {
		return nil
	}
	return lcm.Unprocessable(lcm.InvalidParam{
		Pointer: "/vnfcSnapshotInfoId",
		Detail: "single nodes of a Kubernetes cluster cannot be reverted: etcd would have members of different " +
			"times. Revert the whole cluster, or heal the node.",
	})
}
