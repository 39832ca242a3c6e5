package preview

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Limits of what is rendered for a preview: a package of a few kilobytes can describe more than any node has.
const (
	maxElements    = 10_000 // as many as Gybe reads of a stack
	maxRenderDepth = 8
	maxWork        = 32 << 20 // about the bytes of all properties of all resources
)

// renderer reads templates as Heat does, as far as that is possible without making anything: parameters get their
// values, other functions stay as they are, groups become their members.
type renderer struct {
	files   map[string]string
	flavour *vnfd.Flavour
	parsed  map[string]*document // by text
	out     []element
	budget
}

// document is one template.
type document struct {
	names      []string // of the resources, in their order
	Parameters map[string]struct {
		Default any `yaml:"default"`
	} `yaml:"parameters"`
	Resources map[string]definition `yaml:"resources"`
}

type definition struct {
	Type       string         `yaml:"type"`
	Properties map[string]any `yaml:"properties"`
}

// ordinal is the place of a group's member.
type ordinal int

// template adds the resources of a template. path is where it is, the names of the resources around it; member is its
// place in the group around it.
func (r *renderer) template(text string, params map[string]any, path string, member *ordinal) error {
	doc, err := r.parse(text)
	if err != nil {
		return err
	}
	values := map[string]any{}
	r.spend(costOfTemplate + costOfValue*len(doc.Parameters))
	for name, p := range doc.Parameters {
		values[name] = p.Default
		if v, ok := params[name]; ok { // null is an empty value, whatever the default is
			values[name] = v
		}
	}
	if path == "" {
		values = params
	}
	var level []element
	for _, name := range doc.names {
		d := doc.Resources[name]
		r.spend(costOfTemplate)
		props, _ := r.resolve(d.Properties, values).(map[string]any)
		e := element{name: name, typ: d.Type, props: props, in: path}
		if r.exhausted() {
			return lcm.Errorf(lcm.CodeTooLarge, "the properties of the stack would have more than %d MiB", maxWork>>20)
		}
		nested, err := r.nested(e, path)
		if err != nil {
			return err
		}
		if !nested {
			level = append(level, e)
		}
		if len(r.out)+len(level) > maxElements {
			return lcm.Errorf(lcm.CodeTooLarge, "the stack would have more than %d resources", maxElements)
		}
	}
	r.out = append(r.out, r.placed(level, path, member)...)
	return nil
}

// parse reads a template, once for all of the places that it is used at.
func (r *renderer) parse(text string) (*document, error) {
	if doc := r.parsed[text]; doc != nil {
		return doc, nil
	}
	doc := &document{}
	if err := yaml.Unmarshal([]byte(text), doc); err != nil {
		return nil, fmt.Errorf("read a template of the stack: %w", err)
	}
	doc.names = slices.Sorted(maps.Keys(doc.Resources))
	r.parsed[text] = doc
	return doc, nil
}

// nested adds what is behind a resource that is a template or a group of them; false when it is neither.
func (r *renderer) nested(e element, path string) (bool, error) {
	within := strings.TrimPrefix(path+"/"+e.name, "/")
	if strings.Count(within, "/") >= maxRenderDepth {
		return false, nil
	}
	if text, ok := r.files[e.typ]; ok {
		return true, r.template(text, e.props, within, nil)
	}
	member, size := "", 0
	switch e.typ {
	case cloud.TypeScalingGroup:
		member, size = "resource", number(e.props["desired_capacity"], number(e.props["min_size"], 0))
	case cloud.TypeResourceGroup:
		member, size = "resource_def", number(e.props["count"], 1)
	}
	def, ok := e.props[member].(map[string]any)
	if !ok {
		return false, nil
	}
	typ, _ := def["type"].(string)
	for i := range min(size, maxElements) {
		props, _ := r.indexed(def["properties"], strconv.Itoa(i)).(map[string]any)
		m := element{name: e.name, typ: typ, props: props}
		if text, ok := r.files[typ]; ok {
			place := ordinal(i)
			if err := r.template(text, m.props, within+"/"+strconv.Itoa(i), &place); err != nil {
				return true, err
			}
			continue
		}
		m.in, m.vdu, m.index = within, e.name, i
		r.out = append(r.out, m)
	}
	return true, nil
}

// placed gives the resources of one template their VNFC.
func (r *renderer) placed(level []element, path string, member *ordinal) []element {
	vdu := onlyVDU(r.flavour, level)
	index, numbered := 0, false
	for around := range strings.SplitSeq(path, "/") {
		node, i, ok := userdata.SplitIndex(around)
		if ok && r.flavour.VDU(node) != nil && (vdu == "" || vdu == node) {
			vdu, index, numbered = node, i, true
		}
	}
	if member != nil {
		index, numbered = int(*member), false
	}
	for i := range level {
		e := &level[i]
		if node, i, ok := userdata.SplitIndex(e.name); ok && e.typ == cloud.TypeServer && r.flavour.VDU(node) != nil {
			e.vdu, e.index, e.numbered = node, i, true
			continue
		}
		switch {
		case vdu != "" && path != "":
			e.vdu = vdu
		case e.typ == cloud.TypeServer && r.flavour.VDU(e.name) != nil:
			e.vdu = e.name
		default:
			e.vdu = r.owner(e.name)
		}
		if e.vdu != "" {
			e.index, e.numbered = index, numbered
		}
	}
	return level
}

// owner is the VDU that a connection point or storage of the VNFD belongs to.
func (r *renderer) owner(name string) string {
	if cp := r.flavour.CP(name); cp != nil {
		return cp.VDU
	}
	for _, v := range r.flavour.VDUs {
		if slices.Contains(v.Storages, name) {
			return v.Name
		}
	}
	return ""
}

// number reads a value that may be written as a text.
func number(v any, otherwise int) int {
	switch n := v.(type) {
	case int:
		return n
	case float64:
		return int(n)
	case string:
		if i, err := strconv.Atoi(n); err == nil {
			return i
		}
	}
	return otherwise
}
