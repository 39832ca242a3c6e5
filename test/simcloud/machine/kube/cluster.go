package kube

import (
	"time"
)

// end closes a cluster that nobody has any more.
func (c *cluster) end() {
	c.mu.Lock()
	for _, t := range c.silent {
		t.Stop()
	}
	clear(c.silent)
	close(c.closed)
	c.mu.Unlock()
	c.Close()
}

// join notes that a machine belongs to the cluster.
func (c *cluster) join(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[id] = true
}

// leave forgets a machine; true if it was the last one.
func (c *cluster) leave(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := c.hosts[id]
	delete(c.hosts, id)
	return had && len(c.hosts) == 0
}

// members tells the cluster which etcd members its majority can reach.
func (c *cluster) members() {
	c.mu.Lock()
	up := map[string]bool{}
	for name, h := range c.etcd {
		up[name] = !h.os.Net.IsCut()
	}
	c.mu.Unlock()
	for _, m := range c.Members() {
		if m.Up != up[m.Name] {
			c.SetMemberUp(m.Name, up[m.Name])
		}
	}
}

// runs notes that an etcd process or API server of a machine began or ended.
func (c *cluster) runs(set map[string]*host, name string, h *host, yes bool) {
	c.mu.Lock()
	if yes {
		set[name] = h
	} else if set[name] == h {
		delete(set, name)
	}
	c.mu.Unlock()
	c.members()
}

// reachable reports whether some API server answers and etcd has a majority.
func (c *cluster) reachable() bool {
	c.mu.Lock()
	up := false
	for _, h := range c.api {
		up = up || !h.os.Net.IsCut()
	}
	c.mu.Unlock()
	return up && c.Quorum()
}

// post takes note of whether a node's kubelet reports. A silent node is given up after a while.
func (c *cluster) post(w *World, node string, reports bool, reason string) {
	c.mu.Lock()
	if t := c.silent[node]; t != nil {
		if !reports {
			c.mu.Unlock()
			return
		}
		t.Stop()
		delete(c.silent, node)
	}
	if !reports {
		select {
		case <-c.closed:
			c.mu.Unlock()
			return
		default:
		}
		c.silent[node] = time.AfterFunc(w.clock.Real(w.grace), func() { c.giveUp(w, node) })
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.SetNodeReady(node, reason == "", reason)
}

// giveUp makes a silent node NotReady. Without a majority nobody can write that down: then later.
func (c *cluster) giveUp(w *World, node string) {
	c.mu.Lock()
	if c.silent[node] == nil {
		c.mu.Unlock()
		return
	}
	delete(c.silent, node)
	c.mu.Unlock()
	if c.reachable() {
		c.SetNodeReady(node, false, "")
		return
	}
	c.post(w, node, false, "")
}
