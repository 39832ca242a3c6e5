package selector

import "maps"

// tree is a set of attribute paths. A node without children stands for the
// whole attribute.
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

// add puts a path into the set. A path covers everything below it, so the
// shorter one of a and a/b wins, in whatever order they come.
func (t *tree) add(path []string) {
	for i, name := range path {
		if i > 0 && t.leaf() {
			return // a shorter path is there already
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

// without returns the set of top-level attributes that are not touched by the
// other set. An attribute that is asked for in part stays whole: a superset of
// what was asked for is better than half of it.
func (t *tree) without(other *tree) *tree {
	rest := &tree{children: maps.Clone(t.children)}
	for name := range other.children {
		delete(rest.children, name)
	}
	return rest
}
