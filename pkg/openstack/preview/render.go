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

// Limits of what is rendered for a preview.
const (
	maxElements    = 20_000
	maxRenderDepth = 8
)

// renderer reads templates as Heat does, as far as that is possible without making anything: parameters get their
// values, other functions stay as they are, groups become their members.
type renderer struct {
	files   map[string]string
	flavour *vnfd.Flavour
	out     []element
}

// document is one template.
type document struct {
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
	var doc document
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return fmt.Errorf("read a template of the stack: %w", err)
	}
	values := map[string]any{}
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
	for _, name := range slices.Sorted(maps.Keys(doc.Resources)) {
		d := doc.Resources[name]
		props, _ := resolve(d.Properties, values).(map[string]any)
		e := element{name: name, typ: d.Type, props: props, in: path}
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
		props, _ := indexed(def["properties"], strconv.Itoa(i)).(map[string]any)
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

// indexed puts a member's number in the place of %index%.
func indexed(v any, i string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "%index%", i)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = indexed(e, i)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, e := range v {
			out[n] = indexed(e, i)
		}
		return out
	}
	return v
}

// resolve replaces get_param by values; texts that are put together from known ones are known, too.
func resolve(v any, params map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		if arg, ok := v["get_param"]; ok && len(v) == 1 {
			return getParam(resolve(arg, params), params)
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = resolve(e, params)
		}
		if s, ok := joined(out); ok {
			return s
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = resolve(e, params)
		}
		return out
	case map[any]any: // keys that are no texts
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[fmt.Sprint(k)] = resolve(e, params)
		}
		return out
	}
	return v
}

// getParam follows the path of a get_param; nil when it leads nowhere.
func getParam(arg any, params map[string]any) any {
	path, ok := arg.([]any)
	if !ok {
		path = []any{arg}
	}
	var at any = params
	for _, step := range path {
		switch v := at.(type) {
		case map[string]any:
			at = v[fmt.Sprint(step)]
		case []any:
			i := number(step, -1)
			if i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// joined is the text of a list_join or str_replace whose parts are known.
func joined(f map[string]any) (string, bool) {
	if args, ok := f["list_join"].([]any); ok && len(f) == 1 && len(args) == 2 {
		sep, isText := args[0].(string)
		list, isList := args[1].([]any)
		var words []string
		for _, w := range list {
			s, known := w.(string)
			isText = isText && known
			words = append(words, s)
		}
		return strings.Join(words, sep), isText && isList
	}
	args, ok := f["str_replace"].(map[string]any)
	if !ok || len(f) != 1 {
		return "", false
	}
	text, known := args["template"].(string)
	params, _ := args["params"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(params)) {
		s, isText := params[k].(string)
		known = known && isText
		text = strings.ReplaceAll(text, k, s)
	}
	return text, known
}
