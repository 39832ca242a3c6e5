package hot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// AddServerGroup adds a server group of Nova with one policy, as a resource of this name.
func (t *Template) AddServerGroup(name, policy string) {
	policies := &yaml.Node{
		Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: []*yaml.Node{scalar(policy)},
	}
	group := mapping("type", scalar("OS::Nova::ServerGroup"))
	group.Content = append(group.Content, scalar("properties"), mapping("policies", policies))
	res := t.section("resources")
	res.Content = append(res.Content, scalar(name), group)
}

// Joiner puts servers of a stack into server groups of Nova. A nested template may serve VNFCs that are in a group and
// others that are not, and the files of a bundle are shared; so the nested templates on the way to a server are copied,
// under names of their own.
type Joiner struct {
	// Files are those of the bundle and the copies.
	Files map[string]string

	top    *Template
	nested map[string]*Template // parsed, by file
	copies map[[2]string]joined // by file and VDU
}

// joined is the copy of a nested template in which the servers of one VDU are in a group; no file when it has none that
// could be.
type joined struct{ file, param string }

// Joiner prepares t, which was made from the bundle's template, for server groups.
func (b *Bundle) Joiner(t *Template) *Joiner {
	return &Joiner{Files: b.Files, top: t, nested: maps.Clone(b.nested), copies: map[[2]string]joined{}}
}

// Join puts the servers of a VDU into a server group, a resource of the top template: those that are the top-level
// resource, or are in it at any depth. A server is one of the VDU when it has its name, with an index or without, or is
// a member of a group that has. One whose template has scheduler_hints is left alone. It says whether there was any
// other.
func (j *Joiner) Join(resource, vdu, group string) (bool, error) {
	return j.join(
		resource, field(field(j.top.root, "resources"), resource), vdu, mapping("get_resource", scalar(group)), nil,
	)
}

// join does so for one resource, or for the definition of a group's members. group is how the resource's own template
// refers to the server group, within are the files around it.
func (j *Joiner) join(name string, resource *yaml.Node, vdu string, group *yaml.Node, within []string) (bool, error) {
	typ, props := text(field(resource, "type")), field(resource, "properties")
	if kind, ok := groupKinds[typ]; ok {
		return j.join(name, field(props, kind.member), vdu, group, within)
	}
	if typ == typeServer {
		if !isOf(name, vdu) || field(props, "scheduler_hints") != nil {
			return false, nil
		}
		setProperty(resource, "scheduler_hints", mapping("group", clone(group)))
		return true, nil
	}
	if j.nested[typ] == nil || slices.Contains(within, typ) { // Heat refuses templates that contain themselves
		return false, nil
	}
	c, err := j.copy(typ, vdu, within)
	if err != nil || c.file == "" {
		return false, err
	}
	setScalar(field(resource, "type"), c.file)
	setProperty(resource, c.param, clone(group))
	return true, nil
}

// copy makes the nested template in which the servers of a VDU are in the group that a parameter names.
func (j *Joiner) copy(file, vdu string, within []string) (joined, error) {
	key := [2]string{file, vdu}
	if c, ok := j.copies[key]; ok {
		return c, nil
	}
	t, param := j.nested[file].Clone(), vdu+"_server_group"
	for t.Declares(param) {
		param = "_" + param
	}
	some := false
	for name, r := range pairs(field(t.root, "resources")) {
		took, err := j.join(name.Value, r, vdu, mapping("get_param", scalar(param)), append(slices.Clone(within), file))
		if err != nil {
			return joined{}, err
		}
		some = some || took
	}
	if !some {
		j.copies[key] = joined{}
		return joined{}, nil
	}
	params := t.section("parameters")
	params.Content = append(params.Content, scalar(param), mapping("type", scalar("string")))
	content, err := t.Encode()
	if err != nil {
		return joined{}, fmt.Errorf("encode %s: %w", file, err)
	}
	c := joined{file: NameFor(file, content), param: param}
	j.Files = maps.Clone(j.Files)
	j.Files[c.file], j.nested[c.file], j.copies[key] = content, t, c
	return c, nil
}

// NameFor is the name for another version of a nested template: it follows from its content, so that every assembly
// gives this version the same name.
func NameFor(file, content string) string {
	sum := sha256.Sum256([]byte(content))
	ext := path.Ext(file)
	return strings.TrimSuffix(file, ext) + "." + hex.EncodeToString(sum[:6]) + ext
}

// isOf says whether a resource has the name of a VDU, with an index or without.
func isOf(name, vdu string) bool {
	rest, ok := strings.CutPrefix(name, vdu)
	if index, indexed := strings.CutPrefix(rest, "-"); ok && indexed {
		_, err := strconv.ParseUint(index, 10, 31)
		return err == nil
	}
	return ok && rest == ""
}

// setProperty adds a property to a resource that does not have it.
func setProperty(resource *yaml.Node, name string, value *yaml.Node) {
	props := field(resource, "properties")
	if props == nil || props.Kind != yaml.MappingNode {
		props = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if at := indexOf(resource, "properties"); at >= 0 { // it is null
			resource.Content[at+1] = props
		} else {
			resource.Content = append(resource.Content, scalar("properties"), props)
		}
	}
	props.Content = append(props.Content, scalar(name), value)
}

// mapping is a map with one member.
func mapping(name string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{scalar(name), value}}
}
