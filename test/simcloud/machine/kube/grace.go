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

// report tells a cluster whether a kubelet reports for a node: yes when one begins to, no when it stops. A kubelet may
// stop after its successor has begun. A silent node becomes NotReady after a while only, and not at all while no API
// server can store that.
func (r *Registry) report(clock *process.Clock, c *kubeapi.Cluster, node string, yes bool) {
	key := silence{c, node}
	r.mu.Lock()
	if yes {
		r.reporting[key]++
	} else {
		r.reporting[key]--
	}
	if t := r.silent[key]; t != nil {
		t.Stop()
		delete(r.silent, key)
	}
	if r.reporting[key] == 0 {
		delete(r.reporting, key)
		c.Silence(node)
		r.expect(clock, key)
	}
	r.mu.Unlock()
	if yes {
		c.SetNodeReady(node, true, "")
	}
}

// expect gives a silent node up later. The lock is held.
func (r *Registry) expect(clock *process.Clock, key silence) {
	if r.clusters[key.cluster.CAHash()] == key.cluster {
		r.silent[key] = time.AfterFunc(min(clock.Real(nodeGrace), maxGrace), func() { r.giveUp(clock, key) })
	}
}

func (r *Registry) giveUp(clock *process.Clock, key silence) {
	quorum := key.cluster.Quorum()
	r.mu.Lock()
	_, waiting := r.silent[key]
	delete(r.silent, key)
	if waiting && !quorum {
		r.expect(clock, key)
		waiting = false
	}
	r.mu.Unlock()
	if !waiting {
		return
	}
	key.cluster.SetNodeReady(key.node, false, "")
	r.mu.Lock()
	again := r.reporting[key] > 0
	r.mu.Unlock()
	if again { // a kubelet has begun since, and may have reported before this
		key.cluster.SetNodeReady(key.node, true, "")
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
