package hot

import (
	"iter"

	"go.yaml.in/yaml/v4"
)

// field returns the value of a mapping's member, or nil.
func field(m *yaml.Node, name string) *yaml.Node {
	for k, v := range pairs(m) {
		if k.Value == name {
			return v
		}
	}
	return nil
}

// pairs ranges over the members of a mapping; anything else, nil too, has none.
func pairs(m *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		if m == nil || m.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if !yield(m.Content[i], m.Content[i+1]) {
				return
			}
		}
	}
}

// function returns the argument of an intrinsic function: of a mapping whose only member is name.
func function(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[0].Value != name {
		return nil
	}
	return n.Content[1]
}

// walk calls visit for n and everything below it, parents first; visit may change the node it is given.
func walk(n *yaml.Node, visit func(*yaml.Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, c := range n.Content {
		walk(c, visit)
	}
}

// setScalar turns n into a plain string.
func setScalar(n *yaml.Node, value string) {
	*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: n.Line, Column: n.Column}
}
