package heat

import (
	"errors"
	"regexp"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

const maxDepth = 5

// kindOf finds the kind of a resource type, looked up through the environment.
func (s *Service) kindOf(st *Stack, name, typ string) (*kind, string, error) {
	t := st.env.typeOf(name, typ)
	if isTemplate(t) {
		return s.templateKind(), t, nil
	}
	if k, ok := s.kinds[t]; ok {
		return k, t, nil
	}
	return nil, "", hot.Invalid("The Resource Type (%s) could not be found.", typ)
}

// validate checks a stack before anything is made: types, property names, nested templates, and the values that do
// not depend on resources. Values inside nested stacks are checked when those are made, as the real service does.
func (s *Service) validate(st *Stack, depth int, values bool) error {
	if depth > maxDepth {
		return rest.Errorf(400, "RequestLimitExceeded", "Request limit exceeded: Recursion depth exceeds %d.", maxDepth)
	}
	defs, err := s.wanted(st)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(defs) {
		if err := s.validateResource(st, defs[name], depth, values); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) validateResource(st *Stack, def *hot.Resource, depth int, values bool) error {
	k, typ, err := s.kindOf(st, def.Name, def.Type)
	if err != nil {
		return err
	}
	if err := k.checkNames(def.Name, def.Properties); err != nil {
		return err
	}
	p, err := s.resolve(st, def, true)
	if err != nil {
		return err
	}
	switch {
	case isTemplate(typ):
		return s.validateNested(st, def, typ, p, depth)
	case k.nested:
		if k.check != nil && values {
			if err := k.check(st.Caller, &Resource{Name: def.Name, kind: k}, p); err != nil {
				return err
			}
		}
		return s.validateGroup(st, def, depth)
	case !values:
		return nil
	}
	return s.checkValues(st.Caller, &Resource{Name: def.Name, kind: k}, p)
}

// validateNested checks the template behind a resource without its values.
func (s *Service) validateNested(st *Stack, def *hot.Resource, typ string, p props, depth int) error {
	tmpl, err := s.nestedTemplate(st, typ)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(def.Properties) {
		if tmpl.Parameters[name] == nil {
			return propError(def.Name, "", "Unknown Property %s", name)
		}
	}
	params := map[string]any{}
	for name, par := range tmpl.Parameters {
		_, given := def.Properties[name]
		v, known := p[name]
		switch {
		case known:
			params[name] = v
		case given: // null, or it depends on resources
			params[name] = empty(par.Type)
		case par.HasDefault:
			params[name] = par.Default
		case st.env.defaults[name] != nil:
			params[name] = st.env.defaults[name]
		default:
			return propError(def.Name, "", "Property %s not assigned", name)
		}
	}
	child := &Stack{Name: st.Name, Caller: st.Caller, tmpl: tmpl, files: st.files, env: st.env, params: params}
	if err := s.validate(child, depth+1, false); err != nil {
		const property = "Property error: resources."
		if h, ok := errors.AsType[*hot.Error](err); ok && strings.HasPrefix(h.Message, property) {
			path := property + def.Name + "<" + typ + ">.resources."
			return &hot.Error{Kind: h.Kind, Message: path + strings.TrimPrefix(h.Message, property)}
		}
		return hot.Invalid("Failed to validate: resources.%s: %v", def.Name, err)
	}
	return nil
}

func (s *Service) validateGroup(st *Stack, def *hot.Resource, depth int) error {
	member, _ := def.Properties["resource"].(map[string]any)
	if member == nil {
		member, _ = def.Properties["resource_def"].(map[string]any)
	}
	typ, _ := member["type"].(string)
	if typ == "" {
		return propError(def.Name, "", "Property resource_def not assigned")
	}
	own, _ := member["properties"].(map[string]any)
	inner := &hot.Resource{Name: def.Name, Type: typ, Properties: own}
	return s.validateResource(st, inner, depth+1, false)
}

// empty is the empty value of a type of parameters.
func empty(typ string) any {
	switch typ {
	case hot.TypeNumber:
		return 0
	case hot.TypeBoolean:
		return false
	case hot.TypeJSON:
		return map[string]any{}
	case hot.TypeList:
		return []any{}
	}
	return ""
}

// nestedTemplate finds and parses the file that a resource type names: by the name itself, or by the file:// name
// that clients give it.
func (s *Service) nestedTemplate(st *Stack, name string) (*hot.Template, error) {
	text, ok := st.files[name]
	if !ok {
		return nil, hot.Invalid("Could not fetch remote template %q: Invalid URL scheme ", name)
	}
	t, err := s.template(text)
	if err != nil {
		return nil, hot.Invalid("Error parsing template %s: %v", name, err)
	}
	return t, nil
}

// propertyForm is the start of a property error, which the API writes with more colons than the engine.
var propertyForm = regexp.MustCompile(`^Property error: (resources\.\S+): `)

// asAnswer turns an engine error into an HTTP answer.
func asAnswer(err error) error {
	if h, ok := errors.AsType[*hot.Error](err); ok {
		return rest.Errorf(400, h.Kind, "%s", propertyForm.ReplaceAllString(h.Message, "Property error: : $1: : "))
	}
	return err
}
