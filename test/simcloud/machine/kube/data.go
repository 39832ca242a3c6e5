package kube

import (
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Data is what a member of etcd has stored at one moment.
type Data struct {
	saved *kubeapi.Saved
	// of is the cluster whose member it was.
	of *kubeapi.Cluster
	// stopped says that the member has stored everything that it has confirmed, because it did not run any more.
	stopped bool
}

// Data copies what etcd has stored on this machine; nil without a member of etcd. A member that lags behind is not
// simulated: each has stored what the cluster has.
func (n *Node) Data() *Data {
	n.mu.Lock()
	d, runs := n.data, n.control["etcd"] != nil
	n.mu.Unlock()
	if d != nil || n.member() == "" {
		return d
	}
	c := n.cluster()
	if c == nil {
		return nil
	}
	return &Data{saved: c.Save(), of: c, stopped: !runs}
}

// member is the name of the member of etcd on this machine, "" without one.
func (n *Node) member() string { return strings.TrimSpace(string(n.read(etcdDir + "/member/name"))) }

// Load gives a machine that has not been switched on what etcd had stored on its disk.
func (n *Node) Load(d *Data) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.data = d
}

// present is the cluster whose control plane can start on this machine now, nil if there is none (yet). A member with
// data from a copy of its disk decides with the others on the data of the cluster.
func (n *Node) present() *kubeapi.Cluster {
	name := n.member()
	n.mu.Lock()
	if name == "" {
		n.data = nil // kubeadm reset
	}
	d := n.data
	n.mu.Unlock()
	if d == nil {
		return n.cluster()
	}
	c := n.reg.rejoin(n, name, d)
	if c != nil {
		n.Load(nil)
	}
	return c
}

// rejoin is the start of a member of etcd with older data. It returns the cluster that the member belongs to, or nil
// while the member has to wait or cannot start:
//
//   - A member that was stopped before its disk was copied goes on in the cluster as it is.
//   - While the members that have stayed are a majority, the others have confirmed more than this member knows. The
//     real one ends with "tocommit is out of range" then, and kubelet starts it again and again.
//   - When a majority has data of a copy, the cluster goes on with the newest of them.
//   - A member whose data is newer than that on which the others have agreed cannot start any more: the real one ends
//     because an entry "conflicts with committed entry".
func (r *Registry) rejoin(n *Node, member string, d *Data) *kubeapi.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := d.saved.CAHash()
	now := r.clusters[h]
	if now != nil && (d.stopped && now == d.of || now.Enter(member, d.saved)) {
		r.keep(h, n)
		return now
	}
	if r.waiting[h] == nil {
		r.waiting[h] = map[*Node]*kubeapi.Saved{}
	}
	r.waiting[h][n] = d.saved
	newest := d.saved
	for _, s := range r.waiting[h] {
		if s.Covers(newest) {
			newest = s
		}
	}
	if now != nil && now.Quorum() || len(r.waiting[h]) <= newest.Members()/2 {
		return nil
	}
	r.restore(h, newest, n.os.Sys.Clock)
	r.clusters[h].Enter(member, d.saved)
	r.keep(h, n)
	return r.clusters[h]
}

// restore replaces a cluster by one with saved data. The lock is held.
func (r *Registry) restore(hash string, data *kubeapi.Saved, clock *process.Clock) {
	if old := r.clusters[hash]; old != nil {
		r.hush(old)
		old.Close()
	}
	c := data.Restore()
	r.clusters[hash] = c
	delete(r.masters, hash)
	delete(r.waiting, hash)
	for _, name := range c.Nodes() { // their kubelets have to report again
		r.expect(clock, silence{c, name})
	}
	for n := range r.nodes {
		n.Changed()
	}
}
