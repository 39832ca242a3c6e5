package conformance_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leaf is an attribute with values that are not objects.
type leaf struct {
	text   string // with the escapes of SOL013
	names  []string
	values []any // of all resources
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1", ",", "~a", "@", "~b")

// leaves are the attributes of resources that have values.
func leaves(of map[string]map[string]any) []leaf {
	found := map[string]*leaf{}
	var walk func(names []string, v any)
	walk = func(names []string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(append(slices.Clone(names), name), member)
			}
		case []any:
			for _, element := range v {
				walk(names, element)
			}
		case nil:
		default:
			parts := make([]string, len(names))
			for i, name := range names {
				parts[i] = escapes.Replace(name)
			}
			text := strings.Join(parts, "/")
			if found[text] == nil {
				found[text] = &leaf{text: text, names: names}
			}
			found[text].values = append(found[text].values, v)
		}
	}
	for _, d := range of {
		walk(nil, d)
	}
	var out []leaf
	for _, text := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[text])
	}
	return out
}

// at returns the values of an attribute of one resource.
func at(v any, names []string) []any {
	switch v := v.(type) {
	case []any:
		var out []any
		for _, element := range v {
			out = append(out, at(element, names)...)
		}
		return out
	case map[string]any:
		if len(names) == 0 {
			return nil
		}
		return at(v[names[0]], names[1:])
	case nil:
		return nil
	default:
		if len(names) > 0 {
			return nil
		}
		return []any{v}
	}
}

// compareValues orders a value of a resource and one of a filter.
func compareValues(value any, with string) int {
	switch v := value.(type) {
	case json.Number:
		a, errA := v.Float64()
		b, errB := strconv.ParseFloat(with, 64)
		if errA == nil && errB == nil {
			switch {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		}
		return strings.Compare(v.String(), with)
	case bool:
		return strings.Compare(strconv.FormatBool(v), with)
	case string:
		a, errA := time.Parse(time.RFC3339, v)
		b, errB := time.Parse(time.RFC3339, with)
		if errA == nil && errB == nil {
			return a.Compare(b)
		}
		return strings.Compare(v, with)
	}
	return 1
}

// operators say whether a value satisfies an expression with one value.
var operators = map[string]func(value any, with string) bool{
	"eq":  func(v any, w string) bool { return compareValues(v, w) == 0 },
	"neq": func(v any, w string) bool { return compareValues(v, w) != 0 },
	"gt":  func(v any, w string) bool { return compareValues(v, w) > 0 },
	"lt":  func(v any, w string) bool { return compareValues(v, w) < 0 },
	"gte": func(v any, w string) bool { return compareValues(v, w) >= 0 },
	"lte": func(v any, w string) bool { return compareValues(v, w) <= 0 },
	"in":  func(v any, w string) bool { return compareValues(v, w) == 0 },
	"nin": func(v any, w string) bool { return compareValues(v, w) != 0 },
	"cont": func(v any, w string) bool {
		s, ok := v.(string)
		return ok && strings.Contains(s, w)
	},
	"ncont": func(v any, w string) bool {
		s, ok := v.(string)
		return !ok || !strings.Contains(s, w)
	},
}

// applies says whether an operator is for values of a kind: booleans have no order, and only texts have parts.
func applies(op, kind string) bool {
	switch kind {
	case "bool":
		return op == "eq" || op == "neq" || op == "in" || op == "nin"
	case "number", "time":
		return op != "cont" && op != "ncont"
	default:
		return true
	}
}

// kindOf is the kind of a value.
func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "bool"
	case json.Number:
		return "number"
	default:
		return "text"
	}
}

// testFilters sends each operator for each attribute that a resource has, and compares the result with an evaluation
// here; then each operator for all other attributes of the type.
func (n *node) testFilters(t *testing.T, l list, whole map[string]map[string]any) {
	t.Helper()
	seen := map[string]bool{}
	typed := attributes(l.resource)
	for _, a := range leaves(whole) {
		seen[a.text] = true
		value := a.values[len(a.values)/2]
		with := text(value)
		if len(with) > 200 {
			continue
		}
		for _, op := range slices.Sorted(maps.Keys(operators)) {
			if !applies(op, cmp.Or(typed[a.text], kindOf(value))) {
				continue
			}
			filter := "(" + op + "," + a.text + ",'" + strings.ReplaceAll(with, "'", "''") + "')"
			got, err := n.search(t.Context(), l.path, url.Values{"filter": {filter}})
			require.NoError(t, err, "%s?filter=%s", l.path, filter)
			var want []string
			for id, d := range whole {
				if slices.ContainsFunc(at(d, a.names), func(v any) bool { return operators[op](v, with) }) {
					want = append(want, id)
				}
			}
			require.ElementsMatch(t, want, slices.Collect(maps.Keys(got)), "%s?filter=%s", l.path, filter)
		}
	}
	for path, kind := range typed {
		if seen[path] && kind == "text" {
			continue
		}
		for _, op := range slices.Sorted(maps.Keys(operators)) {
			for _, value := range []string{samples[kind], "text"} {
				if seen[path] && value == samples[kind] {
					continue // compared above
				}
				status := http.StatusOK
				if kind != "text" && value != samples[kind] || !applies(op, kind) {
					status = http.StatusBadRequest
				}
				filter := "(" + op + "," + path + "," + value + ")"
				require.Equal(t, status, n.statusOf(t, l.path, filter), "%s?filter=%s", l.path, filter)
			}
		}
	}
	for _, wrong := range []string{
		"(eq,wrong,x)", "(eq,id)", "(eq,id,a,b)", "(is,id,x)", "(eq,id,x", "eq,id,x", "(eq,id/x,y)", "(in,id)",
		"(eq,_links,x)", "(eq,,x)", "(eq,id,'x)", ";",
	} {
		require.Equal(t, http.StatusBadRequest, n.statusOf(t, l.path, wrong), "%s?filter=%s", l.path, wrong)
	}
}

// statusOf is the status of the first page of a filtered list.
func (n *node) statusOf(t *testing.T, path, filter string) int {
	t.Helper()
	a, err := n.send(t.Context(), message{
		method: http.MethodGet, path: path + "?" + url.Values{"filter": {filter}}.Encode(),
	})
	require.NoError(t, err)
	return a.status
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	panic(errors.New("a leaf has no other type"))
}

// samples are values of filters by the kind of an attribute.
var samples = map[string]string{"bool": "true", "number": "1", "time": "2026-01-02T03:04:05Z", "text": "some text"}

// attributes are the paths of the simple attributes of a type with fixed names, and their kinds.
func attributes(t reflect.Type) map[string]string {
	out := map[string]string{}
	var walk func(path string, t reflect.Type, depth int)
	walk = func(path string, t reflect.Type, depth int) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]() {
			t = t.Elem()
		}
		switch {
		case t == reflect.TypeFor[json.RawMessage](): // of any form
		case t == reflect.TypeFor[time.Time]():
			out[path] = "time"
		case t.Kind() == reflect.String:
			out[path] = "text"
		case t.Kind() == reflect.Bool:
			out[path] = "bool"
		case t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64:
			out[path] = "number"
		case t.Kind() == reflect.Struct && depth < 12:
			for f := range t.Fields() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" || name == "-" {
					continue
				}
				walk(strings.TrimPrefix(path+"/"+name, "/"), f.Type, depth+1)
			}
		}
	}
	walk("", t, 0)
	return out
}
