// Package selector implements attribute selectors of SOL013 §5.3: which optional
// complex attributes of the resources of a list are returned. Complex attributes
// are objects, maps and lists of these. All others, and mandatory ones, are always
// returned.
//
// A selection works on the typed value before it is encoded, so that attributes
// that are not selected cost nothing.
package selector

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol/internal/wiretype"
)

// Names of the query parameters.
const (
	ParamAllFields      = "all_fields"
	ParamFields         = "fields"
	ParamExcludeFields  = "exclude_fields"
	ParamExcludeDefault = "exclude_default"
)

// Limits of a selector.
const (
	maxPaths = 128
	maxDepth = 16
)

// Error reports an invalid selector; the answer is 400.
type Error struct {
	// Param is the name of the query parameter.
	Param string
	// Reason is a sentence for the user.
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	return e.Param + ": " + e.Reason
}

// Spec knows the attributes of a resource type T, and which of them are excluded
// by default.
type Spec[T any] struct {
	defaults *tree
	names    []string
}

// New returns the Spec of a resource with the attributes that are excluded by
// default. It panics if T does not have such an attribute, because both are constants.
func New[T any](excludedByDefault ...string) Spec[T] {
	t := &tree{}
	for _, name := range excludedByDefault {
		path, err := parsePath(ParamExcludeDefault, name, reflect.TypeFor[T]())
		if err != nil {
			panic(err)
		}
		t.add(path)
	}
	return Spec[T]{defaults: t, names: excludedByDefault}
}

// ExcludedByDefault returns the attributes that are excluded by default.
func (s Spec[T]) ExcludedByDefault() []string { return slices.Clone(s.names) }

// Selection lists the attributes to keep of resources of type T. The zero value keeps
// everything.
type Selection[T any] struct {
	// keep lists complex attributes to keep besides simple and mandatory ones; nil keeps everything.
	keep *tree
	// alone lets simple and mandatory attributes go that keep does not list, in AppendJSON.
	alone bool
	// drop lists attributes to drop; nil drops nothing. keep takes precedence.
	drop *tree
}

// Parse parses the selector parameters of a query. Without any, attributes that
// are excluded by default are dropped. Allowed are one of the four parameters,
// or fields together with exclude_default. The error is an *Error.
func (s Spec[T]) Parse(query url.Values) (Selection[T], error) {
	all, err := flag(query, ParamAllFields)
	if err != nil {
		return Selection[T]{}, err
	}
	byDefault, err := flag(query, ParamExcludeDefault)
	if err != nil {
		return Selection[T]{}, err
	}
	fields, err := s.paths(query, ParamFields)
	if err != nil {
		return Selection[T]{}, err
	}
	exclude, err := s.paths(query, ParamExcludeFields)
	if err != nil {
		return Selection[T]{}, err
	}
	switch {
	case all && (byDefault || fields != nil || exclude != nil):
		return Selection[T]{}, &Error{ParamAllFields, "cannot be combined with another selector"}
	case exclude != nil && (byDefault || fields != nil):
		return Selection[T]{}, &Error{ParamExcludeFields, "cannot be combined with another selector"}
	case all:
		return Selection[T]{}, nil
	case exclude != nil:
		return Selection[T]{drop: exclude}, nil
	case fields != nil && byDefault:
		return Selection[T]{drop: s.defaults.without(fields)}, nil
	case fields != nil:
		return Selection[T]{keep: fields}, nil
	default:
		return Selection[T]{drop: s.defaults}, nil
	}
}

// Apply returns the resource with the selected attributes only. Simple and
// mandatory attributes are kept in any case. The given value is not changed, but
// the result shares parts with it.
func (sel Selection[T]) Apply(resource T) T {
	v := reflect.ValueOf(&resource).Elem()
	switch {
	case sel.keep != nil:
		keep(v, sel.keep)
	case sel.drop != nil:
		drop(v, sel.drop)
	}
	return resource
}

// Whole reports whether the selection keeps everything.
func (sel Selection[T]) Whole() bool { return sel.keep == nil && sel.drop == nil }

// IsDefault reports whether a selection drops what is excluded by default and nothing else.
func (s Spec[T]) IsDefault(sel Selection[T]) bool { return sel.keep == nil && sel.drop == s.defaults }

// Wants reports whether a top-level attribute can be part of the result, so that
// a store need not load attributes that will be dropped.
func (sel Selection[T]) Wants(attribute string) bool {
	if sel.keep != nil {
		return sel.keep.at(attribute) != nil
	}
	if sel.drop != nil {
		d := sel.drop.at(attribute)
		return d == nil || !d.leaf()
	}
	return true
}

func (s Spec[T]) paths(query url.Values, param string) (*tree, error) {
	values, given := query[param]
	if !given {
		return nil, nil // absent, which is not an empty set
	}
	t := &tree{}
	count := 0
	for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if count++; count > maxPaths {
			return nil, &Error{param, fmt.Sprintf("more than %d attributes", maxPaths)}
		}
		path, err := parsePath(param, name, reflect.TypeFor[T]())
		if err != nil {
			return nil, err
		}
		t.add(path)
	}
	return t, nil
}

// flag reads a parameter without a value. Clients send it bare or as a boolean.
func flag(query url.Values, param string) (bool, error) {
	values, given := query[param]
	if !given {
		return false, nil
	}
	for _, v := range values {
		if v != "" && !strings.EqualFold(v, "true") {
			return false, &Error{param, "the parameter takes no value"}
		}
	}
	return true, nil
}

var unescape = strings.NewReplacer("~0", "~", "~1", "/", "~a", ",", "~b", "@")

// parsePath reads an attribute path and checks it against the type.
func parsePath(param, text string, t reflect.Type) ([]string, error) {
	if text == "" {
		return nil, &Error{param, "an attribute name is empty"}
	}
	parts := strings.Split(text, "/")
	if len(parts) > maxDepth {
		return nil, &Error{param, fmt.Sprintf("an attribute path has more than %d parts", maxDepth)}
	}
	for i := range parts {
		parts[i] = unescape.Replace(parts[i])
		kind, elem := wiretype.Of(t)
		for kind == wiretype.KindList {
			kind, elem = wiretype.Of(elem.Elem())
		}
		switch kind {
		case wiretype.KindOpen:
			return parts, nil
		case wiretype.KindMap:
			t = elem.Elem()
		case wiretype.KindObject:
			field, ok := wiretype.Find(elem, parts[i])
			if !ok {
				return nil, &Error{param, fmt.Sprintf("%.60q is not an attribute; known here are %s",
					strings.Join(parts[:i+1], "/"), strings.Join(wiretype.Names(elem), ", "))}
			}
			t = field.Type
		default:
			return nil, &Error{param, fmt.Sprintf("%.60q has no parts", strings.Join(parts[:i], "/"))}
		}
	}
	return parts, nil
}
