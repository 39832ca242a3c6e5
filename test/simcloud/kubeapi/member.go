package kubeapi

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

// Member is one etcd member.
type Member struct {
	Name string
	ID   string // 16 hexadecimal digits
	Up   bool
}

// AddMember adds an etcd member that is up. Adding one that exists brings it up.
func (c *Cluster) AddMember(name string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.etcd[name] = &Member{Name: name, ID: fmt.Sprintf("%016x", h.Sum64()), Up: true}
}

// RemoveMember removes an etcd member. False when there is none of that name.
func (c *Cluster) RemoveMember(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.etcd[name]
	delete(c.etcd, name)
	return ok
}

// SetMemberUp says whether an etcd member runs.
func (c *Cluster) SetMemberUp(name string, up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.etcd[name]; m != nil {
		m.Up = up
	}
}

// Members lists the etcd members by name.
func (c *Cluster) Members() []Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Member, 0, len(c.etcd))
	for _, m := range c.etcd {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Quorum says whether a majority of the etcd members is up.
func (c *Cluster) Quorum() bool {
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
