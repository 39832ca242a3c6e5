package heat

import (
	"errors"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
)

// scope is what the functions of a stack's template see. The world's lock must be held.
type scope struct {
	s  *Service
	st *Stack
	// static refuses to look at resources: used before any exists.
	static bool
}

var _ hot.Scope = scope{}

// errNotStatic says that a value depends on resources.
var errNotStatic = &hot.Error{Kind: "NotStatic", Message: "the value depends on resources"}

// Param implements hot.Scope.
func (sc scope) Param(name string) (any, bool) {
	switch name {
	case "OS::stack_name":
		return sc.st.Name, true
	case "OS::stack_id":
		return sc.st.ID, true
	case "OS::project_id":
		return sc.st.Caller.ProjectID, true
	}
	v, ok := sc.st.params[name]
	return v, ok
}

// Ref implements hot.Scope.
func (sc scope) Ref(name string) (any, error) {
	if sc.static {
		return nil, errNotStatic
	}
	r := sc.st.resources[name]
	if r == nil {
		return nil, nil
	}
	if r.kind.ref != nil {
		return r.kind.ref(r), nil
	}
	if r.ID == "" {
		return nil, nil
	}
	return r.ID, nil
}

// Attr implements hot.Scope.
func (sc scope) Attr(name, attr string, path []any) (any, []any, error) {
	if sc.static {
		return nil, nil, errNotStatic
	}
	r := sc.st.resources[name]
	if r == nil || r.ID == "" && !r.kind.nested && r.Status != statusComplete {
		return nil, nil, nil
	}
	return attribute(r, attr, path)
}

func attribute(r *Resource, attr string, path []any) (any, []any, error) {
	if attr == "show" && r.kind.show != nil {
		return plain(r.kind.show(r)), path, nil
	}
	if r.kind.attr != nil {
		if v, rest, ok := r.kind.attr(r, attr, path); ok {
			return plain(v), rest, nil
		}
	} else if r.kind.show != nil {
		if v, ok := r.kind.show(r)[attr]; ok {
			return plain(v), path, nil
		}
	}
	text := "The Referenced Attribute (" + r.Name + " " + attr + ") is incorrect."
	return nil, nil, &hot.Error{Kind: "InvalidTemplateAttribute", Message: text}
}

// plain turns a view into plain values.
func plain(v any) any {
	return hot.Map(v, func(v any) any {
		switch v := v.(type) {
		case []map[string]any:
			return plainList(v)
		case []string:
			return plainList(v)
		}
		return v
	})
}

func plainList[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = plain(v)
	}
	return out
}

// File implements hot.Scope.
func (sc scope) File(name string) (string, bool) {
	text, ok := sc.st.files[name]
	return text, ok
}

// Condition implements hot.Scope.
func (sc scope) Condition(name string) (bool, error) {
	if v, ok := sc.st.conditions[name]; ok {
		return v, nil
	}
	c, ok := sc.st.tmpl.Conditions[name]
	if !ok {
		return false, hot.Invalid("Invalid condition name %s", name)
	}
	v, err := hot.EvaluateCondition(c, sc)
	if err != nil {
		return false, err
	}
	if sc.st.conditions == nil {
		sc.st.conditions = map[string]bool{}
	}
	sc.st.conditions[name] = v
	return v, nil
}

// wanted returns the template's resources whose condition holds.
func (s *Service) wanted(st *Stack) (map[string]*hot.Resource, error) {
	out := make(map[string]*hot.Resource, len(st.tmpl.Resources))
	for name, def := range st.tmpl.Resources {
		ok, err := hot.EvaluateCondition(def.Condition, scope{s: s, st: st})
		if err != nil {
			return nil, err
		}
		if ok {
			out[name] = def
		}
	}
	return out, nil
}

// resolve gives the properties of a resource their values; null ones are left out.
func (s *Service) resolve(st *Stack, def *hot.Resource, static bool) (props, error) {
	out := make(props, len(def.Properties))
	for _, name := range slices.Sorted(maps.Keys(def.Properties)) {
		v, err := hot.Resolve(def.Properties[name], scope{s: s, st: st, static: static})
		if err != nil {
			if static && errors.Is(err, errNotStatic) {
				continue
			}
			return nil, err
		}
		if v != nil {
			out[name] = v
		}
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
