package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
)

// list is a container of resources of a type.
type list struct {
	path     string
	resource reflect.Type
}

var servedLists = []list{
	{"/vnflcm/v2/vnf_instances", reflect.TypeFor[sol.VnfInstance]()},
	{"/vnflcm/v2/vnf_lcm_op_occs", reflect.TypeFor[sol.VnfLcmOpOcc]()},
	{"/vnflcm/v2/vnf_snapshots", reflect.TypeFor[sol.VnfSnapshotInfo]()},
	{"/vnflcm/v2/subscriptions", reflect.TypeFor[sol.LccnSubscription]()},
	{"/vnflcm/v1/vnf_instances", reflect.TypeFor[v1.VnfInstance]()},
	{"/vnflcm/v1/vnf_lcm_op_occs", reflect.TypeFor[v1.VnfLcmOpOcc]()},
	{"/vnflcm/v1/subscriptions", reflect.TypeFor[v1.LccnSubscription]()},
	{"/vnfpkgm/v1/subscriptions", reflect.TypeFor[sol.PkgmSubscription]()},
	{"/vnfpkgm/v2/subscriptions", reflect.TypeFor[sol.PkgmSubscription]()},
	{"/vnfpkgm/v1/onboarded_vnf_packages", reflect.TypeFor[sol.VnfPkgInfo]()},
	{"/vnfpkgm/v1/vnf_packages", reflect.TypeFor[sol.VnfPkgInfo]()},
	{"/vnfpkgm/v2/vnf_packages", reflect.TypeFor[sol.VnfPkgInfo]()},
	{"/vnfpkgm/v2/onboarded_vnf_packages", reflect.TypeFor[sol.VnfPkgInfo]()},
}

// TestLists makes cases from the attributes of the resources of lists.
func TestLists(t *testing.T) {
	n := startNode(t, nil)
	ctx := t.Context()
	_, err := n.instances(ctx)
	require.NoError(t, err)
	_, err = n.packages(ctx)
	require.NoError(t, err)
	_, err = n.instantiatedWithVolumes(ctx)
	require.NoError(t, err)
	_, err = n.operationFailedTemp(ctx)
	require.NoError(t, err)
	_, err = n.snapshots(ctx)
	require.NoError(t, err)
	_, err = n.subscriptions(ctx)
	require.NoError(t, err)
	_, err = n.packageSubscriptions(ctx)
	require.NoError(t, err)
	t.Run("complete", func(t *testing.T) { n.testListsAreComplete(t) })
	for _, l := range servedLists {
		t.Run(strings.Trim(l.path, "/"), func(t *testing.T) {
			t.Parallel()
			whole := n.documents(t, l.path, url.Values{"all_fields": {""}})
			require.Greater(t, len(whole), pageSize)
			t.Run("filters", func(t *testing.T) { n.testFilters(t, l, whole) })
			t.Run("selectors", func(t *testing.T) { n.testSelectors(t, l, whole) })
		})
	}
}

// testListsAreComplete wants servedLists to have each route with filters, and these to have all selectors.
func (n *node) testListsAreComplete(t *testing.T) {
	t.Helper()
	var served, found []string
	for _, l := range servedLists {
		served = append(served, l.path)
	}
	for _, r := range n.routes() {
		if r.method != http.MethodGet {
			continue
		}
		parameters := described(t, r).Parameters
		has := func(name string) bool { return parameters.GetByInAndName(openapi3.ParameterInQuery, name) != nil }
		for _, name := range []string{"all_fields", "fields", "exclude_fields", "exclude_default"} {
			require.Equal(t, has("filter"), has(name), "%s of %s", name, r.path)
		}
		if has("filter") {
			found = append(found, r.path)
		}
	}
	require.ElementsMatch(t, served, found)
}

// documents reads the elements of a list, from all pages, as decoded JSON by id.
func (n *node) documents(t *testing.T, path string, query url.Values) map[string]map[string]any {
	t.Helper()
	out, err := n.search(t.Context(), path, query)
	require.NoError(t, err, "%s?%s", path, query.Encode())
	return out
}

func (n *node) search(ctx context.Context, path string, query url.Values) (map[string]map[string]any, error) {
	a, err := n.send(ctx, message{method: http.MethodGet, path: path + "?" + query.Encode()})
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, &statusError{a.status, string(a.body)}
	}
	elements, err := n.pages(ctx, a)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]any{}
	for _, raw := range elements {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var m map[string]any
		if err := dec.Decode(&m); err != nil {
			return nil, err
		}
		id, _ := m["id"].(string)
		out[id] = m
	}
	return out, nil
}

// statusError is a response other than 200.
type statusError struct {
	status int
	body   string
}

// Error implements error.
func (e *statusError) Error() string { return e.body }

// testSelectors sends each selector for each complex attribute, and all for none.
func (n *node) testSelectors(t *testing.T, l list, whole map[string]map[string]any) {
	t.Helper()
	excluded := map[string]bool{} // by default
	for id, d := range n.documents(t, l.path, nil) {
		for name := range whole[id] {
			if _, ok := d[name]; !ok {
				excluded[name] = true
			}
		}
	}
	require.Equal(t, strings.HasSuffix(l.path, "/subscriptions"), len(excluded) == 0, "attributes by default")
	all := complexAttributes(whole)
	same := func(query url.Values, stays func(name string) bool) {
		got := n.documents(t, l.path, query)
		require.Len(t, got, len(whole))
		for id, d := range got {
			for name, value := range whole[id] {
				if !slices.Contains(all, name) || name == "_links" || stays(name) {
					require.Equal(t, value, d[name], "%s?%s: %s", l.path, query.Encode(), name)
				} else {
					require.NotContains(t, d, name, "%s?%s", l.path, query.Encode())
				}
			}
		}
	}
	byDefault := func(name string) bool { return !excluded[name] }
	same(url.Values{"exclude_default": {""}}, byDefault)
	same(url.Values{"fields": {strings.Join(all, ",")}}, func(string) bool { return true })
	for _, a := range all {
		is := func(name string) bool { return name == a }
		same(url.Values{"fields": {a}}, is)
		same(url.Values{"exclude_fields": {a}}, func(name string) bool { return name != a })
		same(url.Values{"fields": {a}, "exclude_default": {""}}, func(name string) bool {
			return is(name) || byDefault(name)
		})
	}
	for _, path := range leaves(whole) {
		n.documents(t, l.path, url.Values{"fields": {path.text}}) // valid against the published documents
		n.documents(t, l.path, url.Values{"exclude_fields": {path.text}})
	}
	for _, wrong := range []url.Values{
		{"fields": {"wrong"}},
		{"exclude_fields": {"wrong"}},
		{"fields": {""}},
		{"fields": {"id,,id"}},
		{"all_fields": {""}, "fields": {"id"}},
		{"all_fields": {""}, "exclude_fields": {"id"}},
		{"all_fields": {""}, "exclude_default": {""}},
		{"fields": {"id"}, "exclude_fields": {"id"}},
		{"exclude_fields": {"id"}, "exclude_default": {""}},
	} {
		_, err := n.search(t.Context(), l.path, wrong)
		var e *statusError
		require.ErrorAs(t, err, &e, "%s?%s", l.path, wrong.Encode())
		require.Equal(t, http.StatusBadRequest, e.status, "%s?%s", l.path, wrong.Encode())
	}
	n.testUnknownParameter(t, l)
}

// testUnknownParameter sends a query parameter that the standard does not have. It is rejected, as the suite wants, or
// in the paths of major version 1 ignored with a warning, because deployed clients send some (ADR 045).
func (n *node) testUnknownParameter(t *testing.T, l list) {
	t.Helper()
	a, err := n.send(t.Context(), message{method: http.MethodGet, path: l.path + "?all_field="})
	require.NoError(t, err)
	if strings.Contains(l.path, "/v1/") {
		require.Equal(t, http.StatusOK, a.status, l.path)
		require.Contains(t, a.header.Get("Warning"), "all_field", l.path)
		return
	}
	require.Equal(t, http.StatusBadRequest, a.status, l.path)
	require.Empty(t, a.header.Get("Warning"), l.path)
}

// complexAttributes are the attributes of resources that are objects or lists of objects.
func complexAttributes(of map[string]map[string]any) []string {
	seen := map[string]bool{}
	for _, d := range of {
		for name, value := range d {
			if values, ok := value.([]any); ok && len(values) > 0 {
				value = values[0]
			}
			if _, ok := value.(map[string]any); ok {
				seen[name] = true
			}
		}
	}
	var out []string
	for name := range seen {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
