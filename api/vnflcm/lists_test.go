package vnflcm_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// filtersOfInstances and filtersOfOperations: some are evaluated by the database, some on decoded JSON, some by both.
// {up} is an id.
var (
	filtersOfInstances = []string{
		"", "(eq,vnfInstanceName,n)", "(eq,vnfInstanceName,none)", "(in,vnfInstanceName,n,2026-01-01T00:00:00Z)",
		"(neq,vnfInstanceName,n)", "(eq,vnfInstanceName,2026-01-01T01:00:00%2B01:00)",
		"(eq,instantiationState,INSTANTIATED);(eq,vnfInstanceName,n)",
		"(in,instantiationState,INSTANTIATED,NOT_INSTANTIATED);(eq,instantiationState,INSTANTIATED)", "(eq,id,{up})",
		"(cont,id,-)", "(eq,vnfdId," + apitest.VnfdID + ");(neq,id,{up})", "(eq,metadata/k,v)",
		"(eq,instantiatedVnfInfo/flavourId,simple)", "(eq,vimConnectionInfo/@key,vim1)",
		"(eq,vimConnectionInfo/vim1/accessInfo/username,nfv_user);(eq,instantiationState,INSTANTIATED)",
		"(cont,_links/terminate/href,/terminate)", "(eq,vnfProductName,Sample%20VNF)",
	}
	filtersOfOperations = []string{
		"", "(eq,vnfInstanceId,{up})", "(eq,vnfInstanceId,{UP})", "(in,operationState,COMPLETED,FAILED_TEMP)",
		"(nin,operationState,COMPLETED)", "(eq,operation,INSTANTIATE);(eq,operationState,FAILED_TEMP)",
		"(eq,operationParams/flavourId,simple)", "(cont,error/detail,host)", "(cont,_links/retry/href,retry)",
		"(eq,isCancelPending,false);(eq,vnfInstanceId,{up})", "(gt,startTime,2000-01-01T00:00:00Z)",
	}
	selectorsOfInstances = []string{
		"", "all_fields", "exclude_default", "fields=vnfInstanceName", "fields=_links,metadata/k",
		"fields=instantiatedVnfInfo/vnfcResourceInfo/vduId", "fields=metadata&exclude_default",
		"exclude_fields=metadata,vnfProvider", "exclude_fields=instantiatedVnfInfo/vnfState,_links",
		"exclude_fields=vnfConfigurableProperties,vimConnectionInfo,instantiatedVnfInfo,metadata,extensions",
	}
	selectorsOfOperations = []string{
		"", "all_fields", "exclude_default", "fields=grantId", "fields=operationParams/flavourId,_links",
		"fields=error&exclude_default", "exclude_fields=operationParams/additionalParams",
		"exclude_fields=error,resourceChanges",
	}
)

// TestListsAreFilteredAndCutAsTheStandardSays compares each list with the typed resources, to which filter and selector
// are applied.
func TestListsAreFilteredAndCutAsTheStandardSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(t)
	up, _ := b.instantiate(t)
	b.broken(t)
	a := b.Do(
		t, "POST", instances, sol.CreateVnfRequest{VnfdID: apitest.VnfdID, VnfInstanceName: "2026-01-01T00:00:00Z"},
	)
	require.Equal(t, 201, a.Status)
	id := strings.NewReplacer("{up}", up, "{UP}", strings.ToUpper(up))
	compareLists(t, b, instances, selector.VnfInstances, filtersOfInstances, selectorsOfInstances, id)
	compareLists(t, b, operations, selector.VnfLcmOpOccs, filtersOfOperations, selectorsOfOperations, id)
}

func compareLists[T any](
	t *testing.T, b *bundle, path string, spec selector.Spec[T], filters, selectors []string, id *strings.Replacer,
) {
	t.Helper()
	all := follow[T](t, b, path+"?all_fields")
	require.Greater(t, len(all), 1)
	for _, f := range filters {
		matched := 0
		for _, s := range selectors {
			query := strings.Trim(strings.Join([]string{"filter=" + id.Replace(f), s}, "&"), "&")
			if f == "" {
				query = s
			}
			want := expected(t, all, spec, query)
			matched = len(want)
			got := follow[json.RawMessage](t, b, path+"?"+query)
			require.Len(t, got, len(want), query)
			for n := range got {
				require.JSONEq(t, want[n], string(got[n]), query)
			}
		}
		t.Logf("%s: %d of %d", f, matched, len(all))
	}
}

// expected applies a query to typed resources.
func expected[T any](t *testing.T, all []T, spec selector.Spec[T], query string) []string {
	t.Helper()
	q, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
	require.NoError(t, err)
	f, err := filter.ParseFor[T](q.Get("filter"))
	require.NoError(t, err, query)
	s, err := spec.Parse(q)
	require.NoError(t, err, query)
	var out []string
	for _, v := range all {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		var decoded any
		require.NoError(t, json.Unmarshal(raw, &decoded))
		if !f.Match(decoded) {
			continue
		}
		raw, err = json.Marshal(s.Apply(v))
		require.NoError(t, err)
		out = append(out, string(raw))
	}
	return out
}
