package hot

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// Graft puts a resource of another template into t, in the place of the one with the same name or at the end. What it
// refers to and t has not comes along: resources, parameters and conditions. It returns the names of the resources that
// came, none when from has no such resource.
func (t *Template) Graft(from *Template, resource string) []string {
	value := field(field(from.root, "resources"), resource)
	if value == nil {
		return nil
	}
	res := t.section("resources")
	if at := indexOf(res, resource); at >= 0 {
		res.Content[at+1] = clone(value)
	} else {
		res.Content = append(res.Content, scalar(resource), clone(value))
	}
	t.complete(from)
	came := []string{resource}
	for _, name := range references(value) {
		if !t.Has(name) {
			came = append(came, t.Graft(from, name)...)
		}
	}
	return came
}

// complete gives t what a resource of from may need beside resources: parameters and conditions that t has not, and a
// version that knows its functions. Versions are dates, then names in the order of the alphabet.
func (t *Template) complete(from *Template) {
	const version = "heat_template_version"
	if v := field(from.root, version); v != nil && v.Value > field(t.root, version).Value {
		t.root.Content[indexOf(t.root, version)+1] = clone(v)
	}
	for _, name := range []string{"parameters", "conditions"} {
		for k, v := range pairs(field(from.root, name)) {
			if s := t.section(name); indexOf(s, k.Value) < 0 {
				s.Content = append(s.Content, clone(k), clone(v))
			}
		}
	}
}

// section is a top-level mapping of the template, which is added when it is missing.
func (t *Template) section(name string) *yaml.Node {
	if s := field(t.root, name); s != nil && s.Kind == yaml.MappingNode {
		return s
	}
	s := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if at := indexOf(t.root, name); at >= 0 { // it is null
		t.root.Content[at+1] = s
	} else {
		t.root.Content = append(t.root.Content, scalar(name), s)
	}
	return s
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// references lists the resources that a resource refers to, each once.
func references(resource *yaml.Node) []string {
	var out []string
	add := func(n *yaml.Node) {
		if n != nil && n.Kind == yaml.ScalarNode && !slices.Contains(out, n.Value) {
			out = append(out, n.Value)
		}
	}
	walk(resource, func(n *yaml.Node) {
		add(function(n, "get_resource"))
		if arg := function(n, "get_attr"); arg != nil && len(arg.Content) > 0 {
			add(arg.Content[0])
		}
	})
	if d := field(resource, "depends_on"); d != nil {
		if d.Kind == yaml.ScalarNode {
			add(d)
		}
		for _, n := range d.Content {
			add(n)
		}
	}
	return out
}

// Split tells the paths below the parameter nfv (see Params) that these resources ask for from those that the rest of
// the template does.
func (t *Template) Split(resources []string) (inside, outside [][]any) {
	rest := t.Clone()
	in := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	res := field(rest.root, "resources")
	for _, name := range resources {
		if at := indexOf(res, name); at >= 0 {
			in.Content = append(in.Content, res.Content[at:at+2]...)
			res.Content = slices.Delete(res.Content, at, at+2)
		}
	}
	return params(in), rest.Params()
}

// Same says whether both templates have a resource of this name, defined alike.
func (t *Template) Same(other *Template, resource string) bool {
	a, b := field(field(t.root, "resources"), resource), field(field(other.root, "resources"), resource)
	return a != nil && b != nil && equal(a, b)
}

func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, equal)
}

// Uses lists the nested templates that a resource is made from: its own type, that of a group's members.
func (t *Template) Uses(resource string) []string {
	return nestedTypes(field(field(t.root, "resources"), resource))
}

// Nested lists the nested templates that the template refers to.
func (t *Template) Nested() []string { return t.nestedTypes() }

// RenameNested gives nested templates other names, wherever the template refers to them.
func (t *Template) RenameNested(names map[string]string) {
	walk(field(t.root, "resources"), func(n *yaml.Node) {
		v := field(n, "type")
		if v == nil || v.Kind != yaml.ScalarNode {
			return
		}
		if name, ok := names[v.Value]; ok {
			setScalar(v, name)
		}
	})
}
