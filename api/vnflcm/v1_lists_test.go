package vnflcm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/apitest"
)

// TestListsOfVersion1: selectors and filters name the attributes of version 1, pages are linked, and a parameter that
// is not known is ignored with a warning.
func TestListsOfVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	up := b.clusterV1(t)
	for range apitest.PageSize {
		b.createV1(t, apitest.VnfdID)
	}
	a := b.Do(t, "GET", instancesV1, nil)
	require.Len(t, apitest.JSON[[]any](t, a), apitest.PageSize)
	next, _, ok := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"+apitest.PublicURL), ">")
	require.True(t, ok)
	require.Contains(t, next, instancesV1+"?")
	require.Len(t, apitest.JSON[[]any](t, b.Do(t, "GET", next, nil)), 1)

	pkg := b.readV1(t, up).VnfPkgID
	const instantiated = "filter=(eq,instantiationState,INSTANTIATED)&"
	for query, want := range map[string][]string{
		"filter=(eq,vnfPkgId," + pkg + ")":           {"id", "vnfPkgId", "_links"},
		"filter=(eq,vimConnectionInfo/id,vim1)":      {"id"},
		instantiated + "all_fields":                  {"instantiatedVnfInfo", "vimConnectionInfo"},
		instantiated + "fields=vimConnectionInfo/id": {"vimConnectionInfo"},
		"filter=(eq,instantiatedVnfInfo/additionalParams/nested/username,ubuntu)": {
			"id",
		},
	} {
		a := b.Do(t, "GET", instancesV1+"?"+query, nil)
		require.Equal(t, 200, a.Status, "%s: %s", query, a.Body)
		list := apitest.JSON[[]map[string]any](t, a)
		require.Len(t, list, 1, query)
		require.Equal(t, up, list[0]["id"], query)
		for _, name := range want {
			require.Contains(t, list[0], name, query)
		}
		require.Equal(t, strings.Contains(query, "all_fields"), list[0]["instantiatedVnfInfo"] != nil, query)
	}
	a = b.Do(t, "GET", operationsV1+"?exclude_default&filter=(eq,vnfInstanceId,"+up+")", nil)
	require.NotContains(t, string(a.Body), "operationParams")
	a = b.Do(t, "GET", operationsV1+"?all_fields&filter=(eq,operationParams/vimConnectionInfo/id,vim1)", nil)
	require.Len(t, apitest.JSON[[]any](t, a), 1)

	a = b.Do(t, "GET", instancesV1+"?exclude-fields=metadata&filter=(eq,instantiationState,INSTANTIATED)", nil)
	require.Equal(t, 200, a.Status)
	require.Len(t, apitest.JSON[[]any](t, a), 1, "the parameters that are known count")
	require.Equal(t, []string{`299 gybe "\"exclude-fields\" is not a query parameter of this resource and was ignored; ` +
		`it has filter, all_fields, fields, exclude_fields, exclude_default, nextpage_opaque_marker"`},
		a.Header.Values("Warning"))
	require.Equal(t, 400, b.Do(t, "GET", instancesV1+"?filter=(eq,nothing,x)", nil).Status)
	require.Equal(t, 400, b.Do(t, "GET", instancesV1+"?fields=nothing", nil).Status)
}
