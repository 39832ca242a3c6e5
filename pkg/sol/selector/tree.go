package selector

import "maps"

// tree is a set of attribute paths. A node without children means the whole
// attribute.
type tree struct {
	children map[string]*tree
}

func (t *tree) leaf() bool { return len(t.children) == 0 }

func (t *tree) at(name string) *tree {
	if t == nil {
		return nil
	}
	return t.children[name]
}

// add adds a path to the set. A path covers everything below it, so of a and a/b
// the set keeps a, independent of their order.
func (t *tree) add(path []string) {
	for i, name := range path {
		if i > 0 && t.leaf() {
			return // the set has a shorter path
		}
		if t.children == nil {
			t.children = map[string]*tree{}
		}
		next, known := t.children[name]
		if !known {
			next = chain(path[i+1:])
			t.children[name] = next
			return
		}
		t = next
	}
	t.children = nil
}

func chain(path []string) *tree {
	t := &tree{}
	if len(path) > 0 {
		t.children = map[string]*tree{path[0]: chain(path[1:])}
	}
	return t
}

// without returns the top-level attributes of the set that the other set does not
// contain. An attribute that the other set contains only in part is kept whole.
func (t *tree) without(other *tree) *tree {
	rest := &tree{children: maps.Clone(t.children)}
	for name := range other.children {
		delete(rest.children, name)
	}
	return rest
}
