package kube

import (
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// nodeGrace is how long a node may be silent before its cluster takes it for lost: node-monitor-grace-period of the
// node controller. maxGrace is the same in real time, for whom the machines' clock is slow: tests and demonstrations
// shall see a dead node soon.
const (
	nodeGrace = 50 * time.Second
	maxGrace  = 4 * time.Second
)

// silence is one node that does not report.
type silence struct {
	cluster *kubeapi.Cluster
	node    string
}

// report tells a cluster whether a node's kubelet reports. A silent node becomes NotReady after a while only, and not
// at all while no API server can store that.
func (r *Registry) report(clock *process.Clock, c *kubeapi.Cluster, node string, yes bool) {
	key := silence{c, node}
	r.mu.Lock()
	if t := r.silent[key]; t != nil {
		t.Stop()
		delete(r.silent, key)
	}
	if !yes && r.clusters[c.CAHash()] == c {
		r.silent[key] = time.AfterFunc(min(clock.Real(nodeGrace), maxGrace), func() { r.giveUp(clock, key) })
	}
	r.mu.Unlock()
	if yes {
		c.SetNodeReady(node, true, "")
	}
}

func (r *Registry) giveUp(clock *process.Clock, key silence) {
	r.mu.Lock()
	_, waiting := r.silent[key]
	delete(r.silent, key)
	r.mu.Unlock()
	if !waiting {
		return
	}
	if key.cluster.Quorum() {
		key.cluster.SetNodeReady(key.node, false, "")
	} else {
		r.report(clock, key.cluster, key.node, false)
	}
}

// hush ends the waiting for the nodes of a cluster. The lock is held.
func (r *Registry) hush(c *kubeapi.Cluster) {
	for key, t := range r.silent {
		if key.cluster == c {
			t.Stop()
			delete(r.silent, key)
		}
	}
}
