package openapi_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// Every selector of every attribute gives a resource that the published schemas allow, loses no simple attribute, and
// has, or does not have, the attribute that it is about.
func TestSelectionsFollowTheStandard(t *testing.T) {
	t.Parallel()
	checkSelections(
		t, selector.VnfInstances, "/vnf_instances/{vnfInstanceId}", oracle.Lifecycle331, oracle.Lifecycle371,
	)
	checkSelections(
		t, selector.VnfLcmOpOccs, "/vnf_lcm_op_occs/{vnfLcmOpOccId}", oracle.Lifecycle331, oracle.Lifecycle371,
	)
	checkSelections(t, selector.VnfPkgInfos, "/vnf_packages/{vnfPkgId}", oracle.Packages005)
}

func checkSelections[T any](t *testing.T, spec selector.Spec[T], path string, documents ...string) {
	t.Helper()
	var schemas []*openapi3.Schema
	for _, file := range documents {
		item := oracle.Original(t, file).Paths.Value(path)
		require.NotNil(t, item, "%s of %s", path, file)
		s := jsonSchema(item.Get.Responses.Value("200").Value.Content)
		require.NotNil(t, s)
		delete(s.Properties, "compatibleSpecificationVersions") // a text there, a list in the standard's text
		dropAlternatives(s, map[*openapi3.Schema]bool{})
		schemas = append(schemas, s)
	}
	name := reflect.TypeFor[T]().Name()
	whole, ok := reflect.TypeAssert[T](parseSol(t).sample(reflect.TypeFor[T](), ""))
	require.True(t, ok)
	raw, err := json.Marshal(whole)
	require.NoError(t, err)
	all := decode(t, raw)
	for n, s := range schemas {
		require.NoError(t, s.VisitJSON(all), "the sample of %s must match %s", name, documents[n])
	}
	queries := []url.Values{nil, {"exclude_default": {""}}, {"all_fields": {""}}}
	for _, p := range paths(all, "") {
		queries = append(
			queries, url.Values{"fields": {p}}, url.Values{"exclude_fields": {p}},
			url.Values{"fields": {p}, "exclude_default": {""}},
		)
	}
	for _, q := range queries {
		sel, err := spec.Parse(q)
		require.NoError(t, err)
		text, err := sel.AppendJSON(nil, raw)
		require.NoError(t, err)
		got := decode(t, text)
		for n, s := range schemas {
			require.NoError(t, s.VisitJSON(got), "%s?%s does not match %s: %s", name, q.Encode(), documents[n], text)
		}
		at := name + "?" + q.Encode()
		requireComplexRemoved(t, at, all, got)
		if p := q.Get("fields"); p != "" {
			require.Contains(t, paths(got, ""), p, at)
		}
		if p := q.Get("exclude_fields"); p != "" && isRemovable(schemas, all, p) {
			require.NotContains(t, paths(got, ""), p, at)
		}
	}
}

func decode(t *testing.T, raw []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &v), "%s", raw)
	return v
}

// requireComplexRemoved fails if a value that is neither an object nor a list of objects was removed from an object
// with fixed names. The objects with free names have the only member k.
func requireComplexRemoved(t *testing.T, at string, whole, part any) {
	t.Helper()
	switch w := whole.(type) {
	case []any:
		p, ok := part.([]any)
		require.True(t, ok, at)
		require.Len(t, p, len(w), at)
		for n := range w {
			requireComplexRemoved(t, at, w[n], p[n])
		}
	case map[string]any:
		p, ok := part.(map[string]any)
		require.True(t, ok, at)
		for name, member := range w {
			if _, there := p[name]; there {
				requireComplexRemoved(t, at+" "+name, member, p[name])
			} else if name != "a" && name != "b" { // of an object with free names
				require.True(t, isObject(member), "%s: %s is simple and was removed", at, name)
			}
		}
	default:
		require.Equal(t, whole, part, at)
	}
}

func isObject(v any) bool {
	if list, ok := v.([]any); ok && len(list) > 0 {
		return isObject(list[0])
	}
	_, object := v.(map[string]any)
	return object
}

// isRemovable says whether an attribute is complex, and the published schemas do not require it.
func isRemovable(schemas []*openapi3.Schema, whole any, path string) bool {
	for _, s := range schemas {
		if !isRemovableFrom(s, whole, strings.Split(path, "/")) {
			return false
		}
	}
	return true
}

func isRemovableFrom(s *openapi3.Schema, v any, path []string) bool {
	if list, ok := v.([]any); ok {
		return isRemovableFrom(flatten(s).items, list[0], path)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return false
	}
	f := flatten(s)
	next := f.properties[path[0]]
	switch {
	case next == nil:
		return false // an object with free names, or an attribute of ours
	case len(path) == 1:
		return isObject(object[path[0]]) && !f.required[path[0]] && path[0] != "_links"
	}
	return isRemovableFrom(next, object[path[0]], path[1:])
}

// dropAlternatives removes those alternatives that only require attributes and contradict the standard's text: both
// documents let each operation change either information or a package, and some alternatives of an object belong to
// one below it.
func dropAlternatives(s *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	known := flatten(s).properties
	s.OneOf = slices.DeleteFunc(s.OneOf, func(r *openapi3.SchemaRef) bool { return onlyRequired(r.Value) })
	s.AnyOf = slices.DeleteFunc(s.AnyOf, func(r *openapi3.SchemaRef) bool {
		return slices.ContainsFunc(r.Value.Required, func(name string) bool { return known[name] == nil })
	})
	below := slices.Concat(s.AllOf, s.OneOf, s.AnyOf, openapi3.SchemaRefs{s.Items, s.AdditionalProperties.Schema})
	for _, p := range s.Properties {
		below = append(below, p)
	}
	for _, ref := range below {
		if ref != nil && !onlyRequired(ref.Value) {
			dropAlternatives(ref.Value, seen)
		}
	}
}
