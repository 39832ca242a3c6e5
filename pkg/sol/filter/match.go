package filter

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Match reports whether a resource, as decoded JSON (map[string]any, []any,
// string, float64 or json.Number, bool, nil), satisfies all expressions.
//
// The resource MUST be what the client may see, without secrets; otherwise a
// client could find out a password one character at a time.
//
// An attribute that is absent or null satisfies no expression, not even neq. On
// an array, all expressions whose paths lead through it must hold for the same
// element. When expressions use @key on a map, they and the other expressions on
// the same map must hold for the same entry.
func (f Filter) Match(resource any) bool {
	terms := make([]term, 0, len(f.Exprs))
	for i := range f.Exprs {
		terms = append(terms, term{path: f.Exprs[i].Path, expr: &f.Exprs[i]})
	}
	return match(resource, terms)
}

// term is an expression with the rest of its path at a node.
type term struct {
	path Path
	expr *Expr
}

func match(node any, terms []term) bool {
	if len(terms) == 0 {
		return true
	}
	switch n := node.(type) {
	case nil:
		return false
	case []any:
		for _, element := range n {
			if match(element, terms) {
				return true
			}
		}
		return false
	case map[string]any:
		return matchObject(n, terms)
	}
	// Named map and slice types appear when a caller built the value itself.
	switch v := reflect.ValueOf(node); v.Kind() {
	case reflect.Map:
		object := reflect.TypeFor[map[string]any]()
		if !v.CanConvert(object) {
			return false
		}
		m, ok := reflect.TypeAssert[map[string]any](v.Convert(object))
		return ok && matchObject(m, terms)
	case reflect.Slice:
		for i := range v.Len() {
			if match(v.Index(i).Interface(), terms) {
				return true
			}
		}
		return false
	default:
		return matchScalar(node, terms)
	}
}

func matchScalar(value any, terms []term) bool {
	for _, t := range terms {
		if len(t.path) > 0 || !compare(value, t.expr) {
			return false
		}
	}
	return true
}

func matchObject(object map[string]any, terms []term) bool {
	byKey := false
	for _, t := range terms {
		if len(t.path) == 0 {
			return false // an object has no value to compare with
		}
		byKey = byKey || t.path[0].Key
	}
	if byKey {
		return matchEntry(object, terms)
	}
	// Expressions on the same member belong together, so that an
	// array below it is searched for one element that satisfies all of them.
	for i, t := range terms {
		name := t.path[0].Name
		if firstOf(terms, name) != i {
			continue
		}
		child, ok := object[name]
		if !ok || !match(child, below(terms, name)) {
			return false
		}
	}
	return true
}

func firstOf(terms []term, name string) int {
	for i, t := range terms {
		if t.path[0].Name == name {
			return i
		}
	}
	return -1
}

func below(terms []term, name string) []term {
	var out []term
	for _, t := range terms {
		if t.path[0].Name == name {
			out = append(out, term{path: t.path[1:], expr: t.expr})
		}
	}
	return out
}

// matchEntry looks for one entry of a map whose key satisfies the @key
// expressions and whose value satisfies the others.
func matchEntry(object map[string]any, terms []term) bool {
	for key, value := range object {
		if entryMatches(key, value, terms) {
			return true
		}
	}
	return false
}

func entryMatches(key string, value any, terms []term) bool {
	var rest []term
	for _, t := range terms {
		switch {
		case !t.path[0].Key:
			rest = append(rest, t)
		case len(t.path) > 1 || !compare(key, t.expr):
			return false
		}
	}
	return match(value, rest)
}

// compare applies an operator to a scalar; the type of the attribute's value
// decides how the filter's values are read.
func compare(have any, e *Expr) bool {
	switch e.Op {
	case Eq, In:
		return anyValue(e.Values, func(v string) bool { return equal(have, v) })
	case Neq, Nin:
		return !anyValue(e.Values, func(v string) bool { return equal(have, v) })
	case Cont:
		return contains(have, e.Values)
	case Ncont:
		_, text := have.(string)
		return text && !contains(have, e.Values)
	case Gt, Lt, Gte, Lte:
		c, ok := order(have, e.Values[0])
		if !ok {
			return false
		}
		return (e.Op == Gt && c > 0) || (e.Op == Lt && c < 0) || (e.Op == Gte && c >= 0) || (e.Op == Lte && c <= 0)
	default:
		return false
	}
}

func anyValue(values []string, is func(string) bool) bool {
	return slices.ContainsFunc(values, is)
}

func contains(have any, values []string) bool {
	text, ok := have.(string)
	return ok && anyValue(values, func(v string) bool { return strings.Contains(text, v) })
}

func equal(have any, value string) bool {
	switch h := have.(type) {
	case string:
		if h == value {
			return true
		}
		c, isTime := orderTimes(h, value)
		return isTime && c == 0
	case bool:
		return strconv.FormatBool(h) == value
	default:
		c, ok := order(have, value)
		return ok && c == 0
	}
}

func order(have any, value string) (int, bool) {
	switch h := have.(type) {
	case string:
		if c, ok := orderTimes(h, value); ok {
			return c, true
		}
		return strings.Compare(h, value), true
	case float64:
		return orderNumbers(strconv.FormatFloat(h, 'g', -1, 64), value)
	case json.Number:
		return orderNumbers(h.String(), value)
	case int:
		return orderNumbers(strconv.Itoa(h), value)
	case int64:
		return orderNumbers(strconv.FormatInt(h, 10), value)
	default:
		return 0, false
	}
}

// maxNumber limits the text of a number; more digits than this compare equal
// anyway at the precision used.
const maxNumber = 40

func orderNumbers(a, b string) (int, bool) {
	x, ok := parseNumber(a)
	if !ok {
		return 0, false
	}
	y, ok := parseNumber(b)
	if !ok {
		return 0, false
	}
	return x.Cmp(y), true
}

func parseNumber(s string) (*big.Float, bool) {
	if len(s) > maxNumber || strings.ContainsAny(s, "xXpP_iInN") {
		return nil, false
	}
	n, _, err := big.ParseFloat(s, 10, 128, big.ToNearestEven)
	return n, err == nil
}

// orderTimes compares two RFC 3339 times; ok is false when one is not a time.
func orderTimes(a, b string) (int, bool) {
	const shortest = len("2006-01-02T15:04:05Z")
	if len(a) < shortest || len(b) < shortest || a[4] != '-' || b[4] != '-' {
		return 0, false
	}
	x, err := time.Parse(time.RFC3339, a)
	if err != nil {
		return 0, false
	}
	y, err := time.Parse(time.RFC3339, b)
	if err != nil {
		return 0, false
	}
	return x.Compare(y), true
}
