package hot

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// AwaitSubnets makes resources that are stacks of their own (nested templates, groups) wait for the subnets of the
// template's networks that they refer to. Heat knows such a dependency only between resources of one stack: a port in a
// nested stack could be created before the subnet, and would have no address, and a subnet could be deleted while the
// port has an address of it.
func (t *Template) AwaitSubnets() {
	resources := field(t.root, "resources")
	for subnet, s := range pairs(resources) {
		if text(field(s, "type")) != "OS::Neutron::Subnet" {
			continue
		}
		props := field(s, "properties")
		networks := append(references(field(props, "network")), references(field(props, "network_id"))...)
		for name, r := range pairs(resources) {
			if !isStack(r) || slices.Contains(references(r), subnet.Value) || t.needs(subnet.Value, name.Value) {
				continue
			}
			used := references(field(r, "properties"))
			if slices.ContainsFunc(networks, func(n string) bool { return slices.Contains(used, n) }) {
				dependOn(r, subnet.Value)
			}
		}
	}
}

// isStack says whether a resource is a stack of its own.
func isStack(resource *yaml.Node) bool {
	_, group := groupKinds[text(field(resource, "type"))]
	return group || len(nestedTypes(resource)) > 0
}

// needs says whether a resource is created after another one, directly or through others.
func (t *Template) needs(resource, other string) bool {
	resources := field(t.root, "resources")
	seen := map[string]bool{}
	todo := []string{resource}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == other {
			return true
		}
		if !seen[name] {
			seen[name] = true
			todo = append(todo, references(field(resources, name))...)
		}
	}
	return false
}

// dependOn adds a resource to depends_on of another one.
func dependOn(resource *yaml.Node, name string) {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	at := indexOf(resource, "depends_on")
	if at < 0 {
		resource.Content = append(resource.Content, scalar("depends_on"), list)
	} else {
		switch on := resource.Content[at+1]; on.Kind {
		case yaml.SequenceNode:
			list.Content = slices.Clone(on.Content)
		case yaml.ScalarNode:
			if on.Tag != "!!null" {
				list.Content = []*yaml.Node{on}
			}
		default: // Heat rejects it
			return
		}
		resource.Content[at+1] = list
	}
	list.Content = append(list.Content, scalar(name))
}
