package hot

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Expand replaces the resource vdu by count copies vdu-0, vdu-1, …, in its place. In every property whose value is
// {get_param: [nfv, <kind>, <name>, …]} the name gets the same index; other values, deeper ones too, are left alone.
// Resources that depended on the resource depend on all copies. It does nothing when there is no such resource.
func (t *Template) Expand(vdu string, count int) {
	res := field(t.root, "resources")
	at := indexOf(res, vdu)
	if at < 0 {
		return
	}
	key, value := res.Content[at], res.Content[at+1]
	names := make([]string, count)
	var copies []*yaml.Node
	for i := range count {
		names[i] = indexed(vdu, i)
		k := clone(key)
		k.Value = names[i]
		if i > 0 {
			k.HeadComment, k.FootComment, k.LineComment = "", "", ""
		}
		v := clone(value)
		indexProperties(v, i)
		copies = append(copies, k, v)
	}
	res.Content = slices.Replace(res.Content, at, at+2, copies...)
	t.replaceDependency(vdu, names)
}

func indexed(name string, i int) string { return name + "-" + strconv.Itoa(i) }

func indexProperties(resource *yaml.Node, i int) {
	for _, p := range pairs(field(resource, "properties")) {
		arg := function(p, "get_param")
		if arg == nil || arg.Kind != yaml.SequenceNode || len(arg.Content) < 4 || arg.Content[0].Value != "nfv" {
			continue
		}
		if name := arg.Content[2]; name.Kind == yaml.ScalarNode {
			name.Value = indexed(name.Value, i)
		}
	}
}

// replaceDependency rewrites depends_on of all resources: name becomes names.
func (t *Template) replaceDependency(name string, names []string) {
	for _, r := range pairs(field(t.root, "resources")) {
		d := field(r, "depends_on")
		if d == nil {
			continue
		}
		var on []string
		if d.Kind == yaml.ScalarNode {
			on = []string{d.Value}
		}
		for _, c := range d.Content {
			on = append(on, c.Value)
		}
		at := slices.Index(on, name)
		if at < 0 {
			continue
		}
		on = slices.Replace(on, at, at+1, names...)
		list := yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, o := range on {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: o})
		}
		*d = list
	}
}

// UseNetwork replaces the network that the template would make as resource vl by an existing one: the resource and its
// subnets go, and references to it become id. It reports whether there was such a resource.
func (t *Template) UseNetwork(vl, id string) bool {
	if !t.Has(vl) {
		return false
	}
	gone := []string{vl}
	for name, r := range pairs(field(t.root, "resources")) {
		if refersTo(field(field(r, "properties"), "network"), vl) || refersTo(
			field(field(r, "properties"), "network_id"), vl,
		) {
			if typ := field(r, "type"); typ != nil && typ.Value == "OS::Neutron::Subnet" {
				gone = append(gone, name.Value)
			}
		}
	}
	res := field(t.root, "resources")
	for _, name := range gone {
		at := indexOf(res, name)
		res.Content = slices.Delete(res.Content, at, at+2)
		t.replaceDependency(name, nil)
	}
	walk(t.root, func(n *yaml.Node) {
		if refersTo(n, vl) {
			setScalar(n, id)
		}
	})
	return true
}

func refersTo(n *yaml.Node, resource string) bool {
	arg := function(n, "get_resource")
	return arg != nil && arg.Kind == yaml.ScalarNode && arg.Value == resource
}

// Dangling lists the resources that get_resource or get_attr refers to and that are not there, each once.
func (t *Template) Dangling() []string {
	have := t.Resources()
	var out []string
	walk(t.root, func(n *yaml.Node) {
		name := function(n, "get_resource")
		if arg := function(n, "get_attr"); arg != nil && arg.Kind == yaml.SequenceNode && len(arg.Content) > 0 {
			name = arg.Content[0]
		}
		if name == nil || name.Kind != yaml.ScalarNode || slices.Contains(have, name.Value) ||
			slices.Contains(out, name.Value) {
			return
		}
		out = append(out, name.Value)
	})
	return out
}

func indexOf(m *yaml.Node, name string) int {
	if m != nil && m.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if m.Content[i].Value == name {
				return i
			}
		}
	}
	return -1
}
