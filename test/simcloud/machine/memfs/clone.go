package memfs

import (
	"io/fs"
	"maps"
)

// Clone copies the tree as it is now. The content of files is shared until one side writes, so a copy costs what its
// inodes cost. Devices and computed files are left out, because they are not on a disk, and so are advisory locks.
func (f *FS) Clone() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &FS{now: f.now, used: f.used, limit: f.limit}
	out.root = clone(f.root, map[*node]*node{})
	return out
}

// clone copies a node and what is below it. seen keeps the names of one file together. The lock is held.
func clone(n *node, seen map[*node]*node) *node {
	if c := seen[n]; c != nil {
		return c
	}
	n.shared = true
	c := &node{
		mode: n.mode, uid: n.uid, gid: n.gid, mtime: n.mtime, data: n.data, shared: true, target: n.target,
		nlink: n.nlink,
	}
	seen[n] = c
	c.children = maps.Clone(n.children)
	for name, child := range n.children {
		if child.synth != nil || child.mode&fs.ModeDevice != 0 {
			delete(c.children, name)
			continue
		}
		c.children[name] = clone(child, seen)
	}
	return c
}
