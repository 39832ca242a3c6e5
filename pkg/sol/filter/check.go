package filter

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol/internal/wiretype"
)

// AttributeError reports that a filter does not fit the resource it is used on; the
// answer is 400.
type AttributeError struct {
	// Path is the attribute as the user wrote it.
	Path string
	// Reason is a sentence for the user.
	Reason string
}

// Error implements error.
func (e *AttributeError) Error() string {
	return fmt.Sprintf("filter on %s: %s", e.Path, e.Reason)
}

// ParseFor parses a filter and checks it against the resource type T: every
// attribute exists and has a simple value, and every value of the filter has the
// attribute's type. Without this check a misspelled attribute would return an
// empty list. Errors are *SyntaxError or *AttributeError.
func ParseFor[T any](text string) (Filter, error) {
	f, err := Parse(text)
	if err != nil {
		return Filter{}, err
	}
	if err := f.Check(reflect.TypeFor[T]()); err != nil {
		return Filter{}, err
	}
	return f, nil
}

// Check compares the filter with a resource type; see ParseFor. Values of times in the form that OpenStack Tacker
// prints, 2026-01-02 03:04:05+00:00, become those of RFC 3339.
func (f Filter) Check(resource reflect.Type) error {
	for _, e := range f.Exprs {
		if err := f.checkExpr(e, resource); err != nil {
			return err
		}
	}
	return nil
}

func (f Filter) checkExpr(e Expr, t reflect.Type) error {
	kind, err := f.resolve(e, t)
	if err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return &AttributeError{Path: e.Path.String(), Reason: fmt.Sprintf(format, args...)}
	}
	if kind == wiretype.KindObject || kind == wiretype.KindMap {
		return fail("the attribute is an object; name one of its attributes")
	}
	if kind == wiretype.KindBool && e.Op.Ordered() {
		return fail("a boolean attribute cannot be compared with %s", e.Op)
	}
	if (e.Op == Cont || e.Op == Ncont) && kind != wiretype.KindString && kind != wiretype.KindOpen {
		return fail("%s is for text only", e.Op)
	}
	for n, v := range e.Values {
		if kind == wiretype.KindTime {
			v = joined(v)
		}
		if want := unreadable(kind, v); want != "" {
			return fail("%.40q is not %s", e.Values[n], want)
		}
		e.Values[n] = v
	}
	return nil
}

// unreadable returns the expected type of an invalid value, or "".
func unreadable(kind wiretype.Kind, value string) string {
	switch kind {
	case wiretype.KindBool:
		if value != "true" && value != "false" {
			return "true or false"
		}
	case wiretype.KindInteger, wiretype.KindNumber:
		if _, ok := parseNumber(value); !ok {
			return "a number"
		}
	case wiretype.KindTime:
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return "a time such as 2026-01-02T03:04:05Z"
		}
	default: // any text is valid
	}
	return ""
}

// joined returns a time of RFC 3339 with a space between date and time with a T there, and any other text as it is.
func joined(value string) string {
	const date = len(time.DateOnly)
	if len(value) > date && value[date] == ' ' {
		return value[:date] + "T" + value[date+1:]
	}
	return value
}

// resolve returns the kind of the attribute at the path.
func (f Filter) resolve(e Expr, t reflect.Type) (wiretype.Kind, error) {
	for i, seg := range e.Path {
		kind, elem := throughLists(t)
		if kind == wiretype.KindOpen {
			return wiretype.KindOpen, nil
		}
		if seg.Key {
			if kind != wiretype.KindMap {
				return 0, e.unknown(i, "@key is for maps only")
			}
			if i != len(e.Path)-1 {
				return 0, e.unknown(i, "nothing can follow @key")
			}
			return wiretype.KindString, nil
		}
		switch kind {
		case wiretype.KindMap:
			var err error
			if t, err = f.throughMap(e, i, elem); err != nil {
				return 0, err
			}
		case wiretype.KindObject:
			field, ok := wiretype.Find(elem, seg.Name)
			if !ok {
				return 0, e.unknown(i, "no such attribute; known here are "+strings.Join(wiretype.Names(elem), ", "))
			}
			t = field.Type
		default:
			return 0, e.unknown(i, "the attribute before it has no parts")
		}
	}
	kind, _ := throughLists(t)
	return kind, nil
}

// throughMap returns the type that a name after a map leads to: the name is the
// key of an entry, but next to an @key expression on the same map it is an
// attribute of the entry that @key selects.
func (f Filter) throughMap(e Expr, i int, m reflect.Type) (reflect.Type, error) {
	kind, entry := wiretype.Of(m.Elem())
	if kind != wiretype.KindObject || !f.hasKey(e.Path[:i]) {
		return m.Elem(), nil
	}
	field, ok := wiretype.Find(entry, e.Path[i].Name)
	if !ok {
		return nil, e.unknown(
			i, "no such attribute; next to @key, known here are "+strings.Join(wiretype.Names(entry), ", "),
		)
	}
	return field.Type, nil
}

// hasKey reports whether an expression selects entries of the map at prefix.
func (f Filter) hasKey(prefix Path) bool {
	return slices.ContainsFunc(f.Exprs, func(e Expr) bool {
		return len(e.Path) == len(prefix)+1 && e.Path[len(prefix)].Key && slices.Equal(e.Path[:len(prefix)], prefix)
	})
}

func (e Expr) unknown(i int, reason string) error {
	return &AttributeError{Path: e.Path[:i+1].String(), Reason: reason}
}

func throughLists(t reflect.Type) (wiretype.Kind, reflect.Type) {
	kind, elem := wiretype.Of(t)
	for kind == wiretype.KindList {
		kind, elem = wiretype.Of(elem.Elem())
	}
	return kind, elem
}
