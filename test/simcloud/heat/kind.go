package heat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// kind is a resource type.
type kind struct {
	// props are the properties by name. A nil map takes any.
	props map[string]prop
	// create makes the resource and sets its id; it may wait, and takes the world's lock itself.
	create func(ctx context.Context, j job) error
	// remove deletes it; a resource that is gone already is not an error.
	remove func(ctx context.Context, j job) error
	// update changes it in place; only called when all changed properties allow it.
	update func(ctx context.Context, j job, changed []string) error
	// beforeReplace frees what the replacement needs from the old resource.
	beforeReplace func(ctx context.Context, j job)
	// ref is what get_resource gives; nil for the physical id. attr gives an attribute. Both with the lock held.
	ref  func(r *Resource) any
	attr func(r *Resource, name string, path []any) (value any, rest []any, ok bool)
	// show is all attributes, for the resource's page. With the lock held.
	show func(r *Resource) map[string]any
	// nested kinds are stacks; indexed ones number their members.
	nested, indexed bool
	// check refuses properties before anything is made. With the lock held.
	check func(c rest.Caller, r *Resource, p props) error
	// well tells whether what failed is well in its service all the same, so that it need not be replaced; nil for
	// never. With the lock held.
	well func(r *Resource) bool
	// ownTime kinds take their time inside another service.
	ownTime bool
}

// prop is one property: its type letter (s string, n number, b boolean, l list, m map, * any), whether it must be
// there, whether it can change in place, and what its value must name.
type prop struct {
	letter            byte
	required, mutable bool
	constraint        string
}

// schema reads "flavor:s!~=nova.flavor networks:l~": name, type letter, then ! for required, ~ for mutable,
// =constraint.
func schema(text string) map[string]prop {
	out := map[string]prop{}
	for f := range strings.FieldsSeq(text) {
		name, rest, _ := strings.Cut(f, ":")
		flags, constraint, _ := strings.Cut(rest, "=")
		out[name] = prop{
			letter: flags[0], required: strings.Contains(flags, "!"), mutable: strings.Contains(flags, "~"),
			constraint: constraint,
		}
	}
	return out
}

// job is one resource being worked on.
type job struct {
	s *Service
	c rest.Caller
	r *Resource
	p props
}

// props are resolved properties.
type props map[string]any

func (p props) text(name string) string { return hot.Text(p[name]) }

// first is the first of several spellings that is given.
func (p props) first(names ...string) string {
	for _, n := range names {
		if s := p.text(n); s != "" {
			return s
		}
	}
	return ""
}

func (p props) number(name string, def int) int {
	if n, err := hot.Number(p[name]); err == nil {
		return int(hot.Float(n))
	}
	return def
}

func (p props) flag(name string, def bool) bool {
	b, err := hot.Boolean(p[name])
	if p[name] == nil || err != nil {
		return def
	}
	return b == true
}

func (p props) list(name string) []any {
	l, _ := p[name].([]any)
	return l
}

func (p props) strings(name string) []string {
	var out []string
	for _, x := range p.list(name) {
		out = append(out, hot.Text(x))
	}
	return out
}

func (p props) maps(name string) []props {
	var out []props
	for _, x := range p.list(name) {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func (p props) mapping(name string) props {
	m, _ := p[name].(map[string]any)
	return m
}

// only returns the properties with these names that have a value.
func (p props) only(names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		if p.has(name) {
			out[name] = p[name]
		}
	}
	return out
}

// has tells whether a property has a value; null is none.
func (p props) has(name string) bool { return p[name] != nil }

// propError is a refused property, in the service's words.
func propError(resource, name, format string, args ...any) *hot.Error {
	where := "resources." + resource + ".properties"
	if name != "" {
		where += "." + name
	}
	return hot.Invalid("Property error: %s: %s", where, fmt.Sprintf(format, args...))
}

// checkNames refuses unknown and missing properties without looking at values.
func (k *kind) checkNames(resource string, given map[string]any) error {
	if k.props == nil {
		return nil
	}
	for _, name := range sortedKeys(given) {
		if _, ok := k.props[name]; !ok {
			return propError(resource, "", "Unknown Property %s", name)
		}
	}
	for _, name := range sortedKeys(k.props) {
		if v, ok := given[name]; k.props[name].required && (!ok || v == nil) {
			return propError(resource, "", "Property %s not assigned", name)
		}
	}
	return nil
}

// checkValues refuses values of the wrong type, and names of things that do not exist.
func (s *Service) checkValues(c rest.Caller, r *Resource, p props) error {
	for _, name := range sortedKeys(p) {
		v, spec := p[name], r.kind.props[name]
		if err := checkType(r.Name, name, spec.letter, v); err != nil {
			return err
		}
		if spec.constraint != "" {
			if err := s.constraint(c, spec.constraint, v); err != nil {
				return propError(r.Name, name, "Error validating value '%s': %v", hot.Text(v), err)
			}
		}
	}
	if r.kind.check != nil {
		return r.kind.check(c, r, p)
	}
	return nil
}

func checkType(resource, name string, letter byte, v any) error {
	_, isMap := v.(map[string]any)
	_, isList := v.([]any)
	switch letter {
	case 's':
		if isMap || isList {
			return propError(resource, name, "Value must be a string; got %s", hot.JSON(v))
		}
	case 'n':
		if _, err := hot.Number(v); err != nil {
			return propError(resource, name, "Value '%s' is not a number", hot.Text(v))
		}
	case 'b':
		if _, err := hot.Boolean(v); err != nil {
			return propError(resource, name, "%q is not a valid boolean", hot.Text(v))
		}
	case 'l':
		if !isList {
			return propError(resource, name, "%q is not a list", hot.Text(v))
		}
	case 'm':
		if !isMap {
			return propError(resource, name, "%q is not a map", hot.Text(v))
		}
	}
	return nil
}

// constraint checks that a value names something that exists.
func (s *Service) constraint(c rest.Caller, name string, v any) error {
	text := hot.Text(v)
	var err error
	switch name {
	case "nova.flavor":
		_, err = s.nova.FindFlavor(text)
	case "glance.image":
		_, err = s.glance.Find(c, text)
	case "neutron.network":
		_, err = s.neutron.FindNetwork(c, text)
	case "neutron.subnet":
		_, err = s.neutron.FindSubnet(c, text)
	case "neutron.port":
		_, err = s.neutron.FindPort(c, text)
	case "neutron.security_group":
		_, err = s.neutron.FindGroup(c, text)
	case "cinder.volume":
		_, err = s.cinder.Find(c, text)
	case "cinder.vtype":
		if !slices.Contains(s.cinder.Types, text) {
			err = &hot.Error{Kind: "EntityNotFound", Message: "The VolumeType (" + text + ") could not be found."}
		}
	case "nova.keypair": // users do not have key pairs
		err = &hot.Error{Kind: "EntityNotFound", Message: "The Key (" + text + ") could not be found."}
	case "nova.server":
		_, err = s.nova.Server(c, text)
	}
	return err
}

// changed lists the properties that differ, sorted.
func changed(a, b props) []string {
	var out []string
	for _, k := range sortedKeys(a) {
		if hot.JSON(a[k]) != hot.JSON(b[k]) {
			out = append(out, k)
		}
	}
	for _, k := range sortedKeys(b) {
		if _, ok := a[k]; !ok && b[k] != nil {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
