package userdata

import (
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

// Machines counts the servers of each VDU that the stack would have: those of its top template, of the nested templates
// that this names, and the members of groups. A server belongs to the VDU of its name, with or without an index.
// unknown are the VDUs of groups whose size is neither a number nor a parameter of the stack.
func (s *Stack) Machines(vdus []string) (counts map[string]int, unknown []string, err error) {
	top, err := hot.Parse("the template", []byte(s.Template))
	if err != nil {
		return nil, nil, err
	}
	counts = map[string]int{}
	for _, name := range top.Resources() {
		typ, props := top.Properties(name)
		n, member := 1, typ
		if key, ok := groupSize[typ]; ok {
			n, ok = s.number(props[key.size])
			inner, _ := props[key.member].(map[string]any)
			member, _ = inner["type"].(string)
			if !ok {
				n = -1
			}
		}
		inside, err := s.serversIn(name, member)
		if err != nil {
			return nil, nil, err
		}
		for _, server := range inside {
			vdu := server
			if base, _, indexed := SplitIndex(server); indexed && !slices.Contains(vdus, vdu) {
				vdu = base
			}
			switch {
			case !slices.Contains(vdus, vdu):
			case n < 0:
				unknown = append(unknown, vdu)
			default:
				counts[vdu] += n
			}
		}
	}
	return counts, unknown, nil
}

// groupSize says where a type of group keeps its members and their number.
var groupSize = map[string]struct{ member, size string }{
	"OS::Heat::AutoScalingGroup": {"resource", "desired_capacity"},
	"OS::Heat::ResourceGroup":    {"resource_def", "count"},
}

// serversIn are the names of the servers that a resource of a type is or has.
func (s *Stack) serversIn(name, typ string) ([]string, error) {
	if typ == "OS::Nova::Server" {
		return []string{name}, nil
	}
	text, nested := s.Files[typ]
	if !nested {
		return nil, nil
	}
	t, err := hot.Parse(typ, []byte(text))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range t.Resources() {
		if typ, _ := t.Properties(r); typ == "OS::Nova::Server" {
			out = append(out, r)
		}
	}
	return out, nil
}

// number is the value of a property that is a number, or a get_param of one.
func (s *Stack) number(v any) (int, bool) {
	if f, ok := v.(map[string]any); ok && len(f) == 1 {
		path, ok := f["get_param"].([]any)
		if !ok {
			path = []any{f["get_param"]}
		}
		v = any(s.Parameters())
		for _, step := range path {
			at, _ := v.(map[string]any)
			v = at[fmt.Sprint(step)]
		}
	}
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case uint64:
		return int(v), true
	case float64:
		return int(v), true
	}
	return 0, false
}
