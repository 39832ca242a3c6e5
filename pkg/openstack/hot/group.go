package hot

import (
	"fmt"
	"maps"
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
	g.SetSize(count)
}

// SetSize sets the number of members, also where the template takes it from a parameter.
func (g *Group) SetSize(count int) {
	size := field(g.props, g.sizeName)
	if number(size) == count {
		return
	}
	n := integer(count)
	if size != nil {
		*size = *n
		return
	}
	g.props.Content = append(g.props.Content, scalar(g.sizeName), n)
}

// Members counts the members of a group.
type Members struct{ All, Failed int }

// Place is where a group is: in the top template or in any nested one, and its name there. Files of nested templates
// have other names in other packages, so that they do not tell groups apart.
type Place struct {
	Nested bool
	Group  string
}

// Renew makes Heat give all members of its scaling groups their definition again, by a word in the metadata of the
// definition. Without a difference from the last update that succeeded, Heat would leave members as an update that
// failed has changed them, and fail again. Heat gives the definition to one batch of members after the other, those
// that have failed first, and a member that keeps the definition of the failed update fails this one. So where more
// than one member may have it, all members of the group are one batch. there are the members by group; it may lack
// groups of which none has failed.
//
// Groups in nested templates are renewed too; Heat passes every update on to the stacks below. Nested templates in
// other formats than HOT stay as they are. It returns files with the changed templates, under the same names, and says
// whether there is a group. files is not changed.
func (t *Template) Renew(
	files map[string]string, word string, there map[Place]Members,
) (renewed map[string]string, some bool, err error) {
	renewed = maps.Clone(files)
	some = t.renew(false, word, there)
	seen := map[string]bool{}
	for next := t.nestedTypes(); len(next) > 0; {
		file := next[0]
		next = next[1:]
		source, ok := files[file]
		if !ok || seen[file] {
			continue
		}
		seen[file] = true
		nested, unknown := Parse(file, []byte(source))
		if unknown != nil {
			continue
		}
		next = append(next, nested.nestedTypes()...)
		if !nested.renew(true, word, there) {
			continue
		}
		some = true
		if renewed[file], err = nested.Encode(); err != nil {
			return nil, false, fmt.Errorf("encode %s: %w", file, err)
		}
	}
	return renewed, some, nil
}

// renew renews the groups of one template, and says whether it has some.
func (t *Template) renew(nested bool, word string, there map[Place]Members) bool {
	some := false
	for name, r := range pairs(field(t.root, "resources")) {
		if text(field(r, "type")) != "OS::Heat::AutoScalingGroup" {
			continue
		}
		member := field(field(r, "properties"), "resource")
		if member == nil || member.Kind != yaml.MappingNode {
			continue
		}
		some = true
		meta := field(member, "metadata")
		if meta == nil || meta.Kind != yaml.MappingNode {
			meta = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			member.Content = append(member.Content, scalar("metadata"), meta)
		}
		meta.Content = append(meta.Content, scalar("gybe.renewed"), scalar(word))
		if m := there[Place{nested, name.Value}]; m.Failed > 0 {
			setBatches(r, m)
		}
	}
	return some
}

// setBatches sets the batches of a group of which members have failed. It does not keep members in service by
// additional ones: these would be made instead of giving a member its definition.
func setBatches(group *yaml.Node, there Members) {
	policy := field(field(group, "properties"), "rolling_updates")
	batch := 1
	if size := field(policy, "max_batch_size"); there.Failed > 1 || size != nil && number(size) != 1 {
		batch = there.All
	}
	removeProperty(group, "rolling_updates")
	set := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
		scalar("min_in_service"), integer(0), scalar("max_batch_size"), integer(batch),
	}}
	if pause := field(policy, "pause_time"); pause != nil {
		set.Content = append(set.Content, scalar("pause_time"), pause)
	}
	setProperty(group, "rolling_updates", set)
}

func integer(n int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(n)}
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
