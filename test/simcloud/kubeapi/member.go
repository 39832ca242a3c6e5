package kubeapi

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

func (c *Cluster) addMember(name string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.etcd[name] = &Member{Name: name, ID: fmt.Sprintf("%016x", h.Sum64()), Up: true}
}

func (c *Cluster) removeMember(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.etcd[name]
	delete(c.etcd, name)
	return ok
}

func (c *Cluster) setMemberUp(name string, up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.etcd[name]; m != nil {
		m.Up = up
	}
}

func (c *Cluster) members() []Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Member, 0, len(c.etcd))
	for _, m := range c.etcd {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (c *Cluster) quorum() bool {
	_, ok := c.etcdState()
	return ok
}

// etcdState says how many members are up, and whether that is a majority.
func (c *Cluster) etcdState() (up int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.etcd {
		if m.Up {
			up++
		}
	}
	return up, len(c.etcd) == 0 || up > len(c.etcd)/2
}
