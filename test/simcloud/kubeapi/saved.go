package kubeapi

import (
	"maps"
	"time"
)

// Saved is the content of a cluster's etcd at one moment, with the keys that are on the disks of masters. It does not
// change.
type Saved struct {
	opts      Options
	pki       *pki
	line      *history
	rev       int64
	objs      map[string]map[string]Object
	appliedBy map[string][]byte
	nodePorts portRange
	members   map[string]Member
	leases    map[string]time.Time
	subnets   int
	cni       bool
}

// history is a sequence of changes. A cluster that goes on with saved data begins a new one.
type history struct {
	from    *Saved          // nil for the history that begins with kubeadm init
	entered map[string]bool // members that have taken part in it, of those that were saved
}

// Save copies what etcd holds now.
func (c *Cluster) Save() *Saved {
	s := &Saved{
		opts: c.opts, pki: c.pki, line: c.line, objs: map[string]map[string]Object{}, members: map[string]Member{},
		leases: c.leases(),
	}
	c.store.mu.RLock()
	s.rev, s.appliedBy = c.store.rev, maps.Clone(c.store.appliedBy)
	s.nodePorts = c.store.nodePorts
	for gr, of := range c.store.objs {
		s.objs[gr] = maps.Clone(of) // the objects themselves never change
	}
	c.store.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.subnets, s.cni = c.subnets, c.cni
	for name, m := range c.etcd {
		s.members[name] = *m
	}
	return s
}

// Restore makes a cluster that goes on with what was saved. Its members are down, and no kubelet has reported yet.
func (s *Saved) Restore() *Cluster {
	store := &Store{
		now: s.opts.Now, rev: s.rev, objs: map[string]map[string]Object{}, appliedBy: maps.Clone(s.appliedBy),
		changed: make(chan struct{}), nodePorts: s.nodePorts,
	}
	for gr, of := range s.objs {
		store.objs[gr] = maps.Clone(of)
	}
	c := &Cluster{
		opts: s.opts, now: s.opts.Now, pki: s.pki, store: store, done: make(chan struct{}),
		kubelets: map[string]kubelet{}, etcd: map[string]*Member{}, subnets: s.subnets, cni: s.cni,
		line: &history{from: s, entered: map[string]bool{}},
	}
	store.onCreate = c.admit
	for name, m := range s.members {
		m.Up = false
		c.etcd[name] = &m
	}
	for _, o := range c.list("Node", "") {
		c.kubelets[Name(o)] = kubelet{up: isReady(o), silent: true, renewed: s.leases[Name(o)]}
	}
	return c
}

// CAHash is that of the cluster.
func (s *Saved) CAHash() string { return s.pki.hash }

// Members is how many members etcd had.
func (s *Saved) Members() int { return len(s.members) }

// Covers says whether everything in another one is in this one, too: both are of the same history.
func (s *Saved) Covers(other *Saved) bool { return s.line == other.line && s.rev >= other.rev }

// Enter says whether a member with saved data can take part in the cluster, which it can once: the cluster goes on with
// data that cover the member's, and has heard nothing from it since.
func (c *Cluster) Enter(member string, data *Saved) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line.from == nil || !c.line.from.Covers(data) || c.line.entered[member] {
		return false
	}
	c.line.entered[member] = true
	return true
}
