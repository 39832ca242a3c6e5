package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

var operators = []filter.Op{
	filter.Eq, filter.Neq, filter.Gt, filter.Lt, filter.Gte, filter.Lte, filter.In, filter.Nin,
	filter.Cont, filter.Ncont,
}

// CheckFilters sends every operator for every attribute of T, and of the resources that a list has, and compares each
// answer with the evaluation of the filter on all resources.
func CheckFilters[T any](t *testing.T, s *Server, path string) {
	t.Helper()
	values := map[string][]string{} // by attribute
	typed := attributes(reflect.TypeFor[T](), "", 0)
	for _, a := range typed {
		values[a.path] = []string{a.value}
	}
	var all []any
	for _, raw := range follow(t, s, path+"?all_fields") {
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		var v any
		require.NoError(t, dec.Decode(&v))
		all = append(all, v)
		leaves(v, "", values)
	}
	require.NotEmpty(t, all)
	matched := 0
	for _, a := range slices.Sorted(maps.Keys(values)) {
		given := values[a]
		for n, op := range operators {
			v := []string{given[n%len(given)]}
			if op.Multi() {
				v = []string{given[0], given[(n+1)%len(given)]}
			}
			text := filter.Filter{Exprs: []filter.Expr{{Op: op, Path: pathOf(a), Values: v}}}.String()
			matched += checkFilter[T](t, s, path, text, all)
		}
	}
	require.Greater(t, matched, len(values))
}

// checkFilter compares one list.
func checkFilter[T any](t *testing.T, s *Server, path, text string, all []any) int {
	t.Helper()
	target := path + "?" + url.Values{"filter": {text}}.Encode()
	f, err := filter.ParseFor[T](text)
	if err != nil { // the operator is not for the type
		require.Equal(t, 400, s.Do(t, "GET", target, nil).Status, text)
		return 0
	}
	id := func(v any) any {
		object, _ := v.(map[string]any)
		return object["id"]
	}
	var want, got []any
	for _, v := range all {
		if f.Match(v) {
			want = append(want, id(v))
		}
	}
	for _, raw := range follow(t, s, target) {
		got = append(got, id(JSON[any](t, Answer{Body: raw})))
	}
	require.Equal(t, want, got, text)
	return len(got)
}

// follow reads all pages of a list.
func follow(t *testing.T, s *Server, target string) (out []json.RawMessage) {
	t.Helper()
	for target != "" {
		a := s.Do(t, "GET", target, nil)
		require.Equal(t, 200, a.Status, "%s: %s", target, a.Body)
		out = append(out, JSON[[]json.RawMessage](t, a)...)
		next, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"+PublicURL), ">")
		target = next
	}
	return out
}

type attributeOf struct{ path, value string }

// attributes lists the simple attributes of a type, with a value of their type. Maps have the key k.
func attributes(typ reflect.Type, prefix string, depth int) (out []attributeOf) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return []attributeOf{{prefix, "2026-01-02T03:04:05Z"}}
	case depth > 8:
		return nil
	case typ.Kind() == reflect.Struct:
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			out = append(out, attributes(field.Type, strings.TrimPrefix(prefix+"/"+name, "/"), depth+1)...)
		}
		return out
	case typ.Kind() == reflect.Map:
		out = []attributeOf{{prefix + "/@key", "k"}}
		return append(out, attributes(typ.Elem(), prefix+"/k", depth+1)...)
	case typ.Kind() == reflect.Bool:
		return []attributeOf{{prefix, "true"}}
	case typ.Kind() == reflect.Int:
		return []attributeOf{{prefix, "1"}}
	}
	return []attributeOf{{prefix, "x"}}
}

// leaves adds the simple values of a resource to those of its attributes.
func leaves(v any, prefix string, values map[string][]string) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, e := range v {
			leaves(e, prefix, values)
		}
	case map[string]any:
		for name, member := range v {
			escaped := strings.NewReplacer("~", "~0", "/", "~1", ",", "~a", "@", "~b").Replace(name)
			leaves(member, strings.TrimPrefix(prefix+"/"+escaped, "/"), values)
		}
	default:
		if text := fmt.Sprint(v); !slices.Contains(values[prefix], text) && len(text) < 1000 {
			values[prefix] = append(values[prefix], text)
		}
	}
}

func pathOf(text string) (out filter.Path) {
	for part := range strings.SplitSeq(text, "/") {
		if part == "@key" {
			out = append(out, filter.Segment{Key: true})
			continue
		}
		name := strings.NewReplacer("~0", "~", "~1", "/", "~a", ",", "~b", "@").Replace(part)
		out = append(out, filter.Segment{Name: name})
	}
	return out
}
