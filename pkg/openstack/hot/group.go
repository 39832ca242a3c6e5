package hot

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// groupKinds says where a type of group keeps the definition of its members and their number.
var groupKinds = map[string]struct{ member, size string }{
	"OS::Heat::AutoScalingGroup": {"resource", "desired_capacity"},
	"OS::Heat::ResourceGroup":    {"resource_def", "count"},
}

// Group is a resource of a template that has any number of equal members.
type Group struct {
	Name string
	// Min and Max bound its size; -1 where the template sets no number.
	Min, Max int

	props    *yaml.Node
	sizeName string
}

// Group finds the group whose members are the VNFCs of a VDU: their template, one of b.Files, has a server of the VDU's
// name. nil when there is none.
func (b *Bundle) Group(t *Template, vdu string) *Group {
	for name, r := range pairs(field(t.root, "resources")) {
		kind, ok := groupKinds[text(field(r, "type"))]
		if !ok {
			continue
		}
		props := field(r, "properties")
		if !slices.Contains(serversOf(b.nested[text(field(field(props, kind.member), "type"))]), vdu) {
			continue
		}
		return &Group{
			Name: name.Value, Min: number(field(props, "min_size")), Max: number(field(props, "max_size")),
			props: props, sizeName: kind.size,
		}
	}
	return nil
}

// Resize sets the number of members, unless the template takes it from nfv, where the assembly of the parameters sets
// it.
func (g *Group) Resize(count int) {
	size := field(g.props, g.sizeName)
	if arg := function(size, "get_param"); arg != nil && len(arg.Content) > 1 && arg.Content[0].Value == "nfv" {
		return
	}
	if number(size) == count {
		return
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(count)}
	if size != nil {
		*size = n
		return
	}
	g.props.Content = append(g.props.Content, scalar(g.sizeName), &n)
}

// Renew makes Heat give all members of its scaling groups their definition again, by a word in the metadata of the
// definition. Without a difference from the last update that succeeded Heat would leave members as an update that
// failed has made them.
func (t *Template) Renew(word string) {
	for _, r := range pairs(field(t.root, "resources")) {
		if text(field(r, "type")) != "OS::Heat::AutoScalingGroup" {
			continue
		}
		member := field(field(r, "properties"), "resource")
		if member == nil || member.Kind != yaml.MappingNode {
			continue
		}
		meta := field(member, "metadata")
		if meta == nil || meta.Kind != yaml.MappingNode {
			meta = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			member.Content = append(member.Content, scalar("metadata"), meta)
		}
		meta.Content = append(meta.Content, scalar("gybe.renewed"), scalar(word))
	}
}

func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func number(n *yaml.Node) int {
	if i, err := strconv.Atoi(text(n)); err == nil {
		return i
	}
	return -1
}

const typeServer = "OS::Nova::Server"

// serversOf lists the servers of a template by name; nil has none.
func serversOf(t *Template) []string {
	if t == nil {
		return nil
	}
	var out []string
	for name, r := range pairs(field(t.root, "resources")) {
		if text(field(r, "type")) == typeServer {
			out = append(out, name.Value)
		}
	}
	return out
}
