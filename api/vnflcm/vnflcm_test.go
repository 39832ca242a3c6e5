package vnflcm_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/api/vnflcm"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const (
	instances  = "/vnflcm/v2/vnf_instances"
	operations = "/vnflcm/v2/vnf_lcm_op_occs"
)

type bundle struct {
	*apitest.Domain
	*apitest.Server
}

func setup(tb testing.TB) *bundle {
	tb.Helper()
	d := apitest.NewDomain(tb)
	keys := func(o *frame.Options) { o.RequestKeys = d.Store }
	api := &vnflcm.API{Services: d.Services, Subscriptions: d.Subscriptions}
	return &bundle{d, apitest.Serve(tb, api.Mount, keys)}
}

func (b *bundle) create(tb testing.TB) string {
	tb.Helper()
	a := b.Do(tb, "POST", instances, sol.CreateVnfRequest{
		VnfdID: apitest.VnfdID, VnfInstanceName: "n", Metadata: sol.KeyValuePairs{"k": "v"},
	})
	require.Equal(tb, 201, a.Status, string(a.Body))
	return a.LocationID(tb)
}

// instantiate makes an instance with an operation that has come to rest.
func (b *bundle) instantiate(tb testing.TB) (instanceID, opID string) {
	tb.Helper()
	id := b.create(tb)
	a := b.Do(tb, "POST", instances+"/"+id+"/instantiate", apitest.Params())
	require.Equal(tb, 202, a.Status, string(a.Body))
	op := a.LocationID(tb)
	b.Work(tb, op)
	return id, op
}

// broken makes an instance whose instantiation is FAILED_TEMP.
func (b *bundle) broken(tb testing.TB) (instanceID, opID string) {
	tb.Helper()
	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "no valid host was found").WithHint("add a host"))
	defer b.VIM.Fail(nil)
	return b.instantiate(tb)
}

func TestTheLifeOfAnInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)

	a := b.Do(t, "POST", instances, sol.CreateVnfRequest{
		VnfdID: apitest.VnfdID, VnfInstanceName: "n", VnfInstanceDescription: "d",
	})
	require.Equal(t, 201, a.Status)
	require.Equal(t, `"1"`, a.Header.Get("ETag"))
	i := apitest.JSON[sol.VnfInstance](t, a)
	self := apitest.PublicURL + instances + "/" + i.ID
	require.Equal(t, self, a.Header.Get("Location"))
	require.Equal(t, sol.InstantiationStateNotInstantiated, i.InstantiationState)
	require.Equal(t, "Sample VNF", i.VnfProductName)
	require.Equal(
		t, &sol.VnfInstanceLinks{Self: sol.Link{Href: self}, Instantiate: &sol.Link{Href: self + "/instantiate"}},
		i.Links,
	)

	a = b.Do(t, "POST", instances+"/"+i.ID+"/instantiate", apitest.Params())
	require.Equal(t, 202, a.Status)
	require.Empty(t, a.Body)
	opID := a.LocationID(t)
	require.Equal(t, apitest.PublicURL+operations+"/"+opID, a.Header.Get("Location"))

	op := apitest.JSON[sol.VnfLcmOpOcc](t, b.Do(t, "GET", operations+"/"+opID, nil))
	require.Equal(t, sol.LcmOperationStateStarting, op.OperationState)
	require.Equal(t, self, op.Links.VnfInstance.Href)

	require.Equal(t, 409, b.Do(t, "DELETE", instances+"/"+i.ID, nil).Status, "an operation is under way")
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, opID))

	a = b.Do(t, "GET", operations+"/"+opID, nil)
	op = apitest.JSON[sol.VnfLcmOpOcc](t, a)
	require.Equal(t, sol.LcmOperationStateCompleted, op.OperationState)
	require.NotEmpty(t, op.GrantID)
	require.Len(t, op.ResourceChanges.AffectedVnfcs, 1)
	require.Nil(t, op.Links.Retry)
	require.NotContains(t, string(a.Body), apitest.Password, "passwords in the request are nobody's business")
	require.Contains(t, string(op.OperationParams), `"username":"ubuntu"`)

	a = b.Do(t, "GET", instances+"/"+i.ID, nil)
	i = apitest.JSON[sol.VnfInstance](t, a)
	require.Equal(t, sol.InstantiationStateInstantiated, i.InstantiationState)
	require.Equal(t, "simple", i.InstantiatedVnfInfo.FlavourID)
	require.Equal(t, self+"/terminate", i.Links.Terminate.Href)
	require.Nil(t, i.Links.Instantiate)
	require.NotContains(t, string(a.Body), apitest.Password)
	require.Equal(t, "nfv_user", i.VimConnectionInfo["vim1"].AccessInfo["username"])

	etag := a.Header.Get("ETag")
	require.NotEqual(t, `"1"`, etag)
	a = b.Do(t, "GET", instances+"/"+i.ID, nil, "If-None-Match", etag)
	require.Equal(t, 304, a.Status)
	require.Empty(t, a.Body)
	require.Equal(t, "2.0.0", a.Header.Get("Version"))

	require.Equal(t, 409, b.Do(t, "DELETE", instances+"/"+i.ID, nil).Status)
	require.Equal(t, 409, b.Do(t, "POST", instances+"/"+i.ID+"/instantiate", apitest.Params()).Status)

	a = b.Do(
		t, "POST", instances+"/"+i.ID+"/terminate", `{"terminationType":"GRACEFUL","gracefulTerminationTimeout":1}`,
	)
	require.Equal(t, 202, a.Status)
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, a.LocationID(t)))

	a = b.Do(t, "GET", instances+"/"+i.ID, nil)
	require.Equal(t, 412, b.Do(t, "DELETE", instances+"/"+i.ID, nil, "If-Match", `"1"`).Status)
	require.Equal(t, 204, b.Do(t, "DELETE", instances+"/"+i.ID, nil, "If-Match", a.Header.Get("ETag")).Status)
	require.Equal(t, 404, b.Do(t, "GET", instances+"/"+i.ID, nil).Status)
	require.Equal(t, 200, b.Do(t, "GET", operations+"/"+opID, nil).Status, "operations outlive their instance")
}

func TestAnOperationThatFailedCanBeSteered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	show := func(id string) sol.VnfLcmOpOcc {
		return apitest.JSON[sol.VnfLcmOpOcc](t, b.Do(t, "GET", operations+"/"+id, nil))
	}

	_, id := b.broken(t)
	op := show(id)
	require.Equal(t, sol.LcmOperationStateFailedTemp, op.OperationState)
	require.Equal(t, "no valid host was found", op.Error.Detail)
	require.Equal(t, "add a host", op.Error.Hint)
	require.Equal(t, 502, op.Error.Status)
	self := apitest.PublicURL + operations + "/" + id
	require.Equal(t, self+"/retry", op.Links.Retry.Href)
	require.Equal(t, self+"/rollback", op.Links.Rollback.Href)
	require.Equal(t, self+"/fail", op.Links.Fail.Href)

	a := b.Do(t, "POST", operations+"/"+id+"/retry", nil)
	require.Equal(t, 202, a.Status)
	require.Empty(t, a.Body)
	require.Equal(t, 409, b.Do(t, "POST", operations+"/"+id+"/retry", nil).Status)
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, id))
	require.Nil(t, show(id).Error)

	_, id = b.broken(t)
	require.Equal(t, 202, b.Do(t, "POST", operations+"/"+id+"/rollback", nil).Status)
	require.Equal(t, sol.LcmOperationStateRolledBack, b.Work(t, id))

	_, id = b.broken(t)
	a = b.Do(t, "POST", operations+"/"+id+"/fail", nil)
	require.Equal(t, 200, a.Status)
	require.Equal(t, sol.LcmOperationStateFailed, apitest.JSON[sol.VnfLcmOpOcc](t, a).OperationState)
}

func TestRequestsThatCannotWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fresh := b.create(t)
	up, done := b.instantiate(t)
	busy, _ := b.broken(t)
	none := uuid.NewString()
	with := func(change func(*sol.InstantiateVnfRequest)) sol.InstantiateVnfRequest {
		p := apitest.Params()
		change(&p)
		return p
	}
	tests := []struct {
		name, method, path string
		body               any
		status             int
		detail             string
		pointers           []string
	}{
		{"create without vnfdId", "POST", instances, `{}`, 400, "vnfdId", []string{"/vnfdId"}},
		{"create of an unknown package", "POST", instances, `{"vnfdId":"nope"}`, 422, "nope", []string{"/vnfdId"}},
		{
			"create with a number that is too large", "POST", instances, `{"vnfdId":"x","metadata":{"a":[1e999]}}`, 400,
			"number",
			[]string{"/metadata"},
		},
		{
			"create with a name that is a number", "POST", instances, `{"vnfdId":"x","vnfInstanceName":1}`, 400,
			"string",
			[]string{"/vnfInstanceName"},
		},
		{"unknown instance", "GET", instances + "/" + none, nil, 404, none, nil},
		{"an id that is none", "GET", instances + "/x'%20OR%201=1", nil, 404, "x' OR 1=1", nil},
		{"delete of an unknown instance", "DELETE", instances + "/" + none, nil, 404, none, nil},
		{
			"instantiate an unknown instance", "POST", instances + "/" + none + "/instantiate", apitest.Params(), 404,
			none, nil,
		},
		{
			"instantiate without a flavour", "POST", instances + "/" + fresh + "/instantiate", `{}`, 400, "flavourId",
			[]string{"/flavourId"},
		},
		{
			"instantiate an unknown flavour", "POST", instances + "/" + fresh + "/instantiate",
			with(func(p *sol.InstantiateVnfRequest) { p.FlavourID = "huge" }), 422, "it has simple",
			[]string{"/flavourId"},
		},
		{
			"instantiate with unknown names, all reported together", "POST", instances + "/" + fresh + "/instantiate",
			with(func(p *sol.InstantiateVnfRequest) {
				p.InstantiationLevelID = "max"
				p.ExtVirtualLinks = []sol.ExtVirtualLinkData{{ID: "l", ResourceID: "r", ExtCps: []sol.VnfExtCpData{
					{CpdID: "CP9", CpConfig: map[string]sol.VnfExtCpConfig{"a": {LinkPortID: "p"}}},
				}}}
				p.AdditionalParams["refuse"] = true
			}), 422, "CP9",
			[]string{"/additionalParams/refuse", "/extVirtualLinks/0/extCps/0/cpdId", "/instantiationLevelId"},
		},
		{
			"instantiate on a VIM of an unknown type", "POST", instances + "/" + fresh + "/instantiate",
			with(func(p *sol.InstantiateVnfRequest) {
				p.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a/b": {
					VimType: "X", InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://x"},
					AccessInfo: sol.KeyValuePairs{"username": "u"},
				}}
			}), 422, `"X"`,
			[]string{"/vimConnectionInfo/a~1b/vimType"},
		},
		{
			"instantiate without any VIM", "POST", instances + "/" + fresh + "/instantiate",
			with(func(p *sol.InstantiateVnfRequest) { p.VimConnectionInfo = nil }), 422, "VIM", nil,
		},
		{
			"instantiate twice", "POST", instances + "/" + up + "/instantiate", apitest.Params(), 409, "INSTANTIATED",
			nil,
		},
		{
			"terminate what is not there", "POST", instances + "/" + fresh + "/terminate",
			`{"terminationType":"FORCEFUL"}`, 409, "NOT_INSTANTIATED", nil,
		},
		{
			"terminate in no known way", "POST", instances + "/" + up + "/terminate", `{"terminationType":"SOFTLY"}`,
			400,
			"FORCEFUL",
			[]string{"/terminationType"},
		},
		{
			"terminate with a negative timeout", "POST", instances + "/" + up + "/terminate",
			`{"terminationType":"GRACEFUL","gracefulTerminationTimeout":-1}`, 400, "",
			[]string{"/gracefulTerminationTimeout"},
		},
		{
			"another active operation", "POST", instances + "/" + busy + "/instantiate", apitest.Params(), 409,
			"FAILED_TEMP", nil,
		},
		{"delete with another active operation", "DELETE", instances + "/" + busy, nil, 409, "FAILED_TEMP", nil},
		{"delete what is instantiated", "DELETE", instances + "/" + up, nil, 409, "INSTANTIATED", nil},
		{"unknown operation", "GET", operations + "/" + none, nil, 404, none, nil},
		{"retry of an unknown operation", "POST", operations + "/" + none + "/retry", nil, 404, none, nil},
		{"retry of one that is done", "POST", operations + "/" + done + "/retry", nil, 409, "COMPLETED", nil},
		{"rollback of one that is done", "POST", operations + "/" + done + "/rollback", nil, 409, "COMPLETED", nil},
		{"fail of one that is done", "POST", operations + "/" + done + "/fail", nil, 409, "COMPLETED", nil},
		{"a task that is not served", "POST", instances + "/" + up + "/frobnicate", nil, 404, "", nil},
		{"GET of a task", "GET", instances + "/" + up + "/instantiate", nil, 405, "GET", nil},
		{"PUT of an instance", "PUT", instances + "/" + up, nil, 405, "PUT", nil},
		{"DELETE of an operation", "DELETE", operations + "/" + done, nil, 405, "DELETE", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := b.Do(t, tt.method, tt.path, tt.body)
			require.Equal(t, tt.status, a.Status, string(a.Body))
			require.Contains(t, a.Problem.Detail, strings.Trim(tt.detail, `"`))
			require.Equal(t, tt.pointers, a.Pointers())
			require.Equal(t, "2.0.0", a.Header.Get("Version"))
			require.NotContains(t, string(a.Body), apitest.Password)
			if a.Status == 405 {
				require.NotEmpty(t, a.Header.Get("Allow"))
			}
		})
	}
	require.NotContains(t, b.Log.String(), apitest.Password)
}

func TestListsOfInstancesAndOperations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var fresh []string
	for range 4 {
		fresh = append(fresh, b.create(t))
	}
	up, op := b.instantiate(t)
	_, failed := b.broken(t)

	require.ElementsMatch(t, append(fresh, up, instanceOf(t, b, failed)),
		ids(follow[sol.VnfInstance](t, b, instances), func(i sol.VnfInstance) string { return i.ID }))
	require.Equal(t, []string{op, failed}, ids(
		follow[sol.VnfLcmOpOcc](t, b, operations), func(o sol.VnfLcmOpOcc) string { return o.ID },
	))

	one := follow[sol.VnfInstance](t, b, instances+"?filter=(eq,instantiationState,INSTANTIATED)")
	require.Len(t, one, 1)
	require.Equal(t, up, one[0].ID)
	require.Nil(t, one[0].InstantiatedVnfInfo, "not selected by default")
	require.Nil(t, one[0].VimConnectionInfo)
	all := follow[sol.VnfInstance](t, b, instances+"?all_fields&filter=(eq,id,"+up+")")
	require.NotNil(t, all[0].InstantiatedVnfInfo)
	require.Equal(t, "v", all[0].Metadata["k"])

	require.Empty(t, follow[sol.VnfInstance](
		t, b, instances+"?filter=(eq,vimConnectionInfo/vim1/accessInfo/password,"+apitest.Password+")",
	),
		"a filter must not find out secrets")

	for filter, want := range map[string][]string{
		"(eq,vnfInstanceId," + up + ")":                                                     {op},
		"(eq,operationState,FAILED_TEMP)":                                                   {failed},
		"(in,operationState,FAILED_TEMP,COMPLETED);(eq,operation,INSTANTIATE)":              {op, failed},
		"(eq,vnfInstanceId," + up + ");(eq,operationState,FAILED_TEMP)":                     {},
		"(eq,vnfInstanceId,nonsense)":                                                       {},
		"(neq,operationState,COMPLETED)":                                                    {failed},
		"(eq,operationState,COMPLETED);(eq,operationState,FAILED_TEMP)":                     {},
		"(cont,error/detail,valid%20host)":                                                  {failed},
		"(gt,startTime,2000-01-01T00:00:00Z);(eq,resourceChanges/affectedVnfcs/vduId,VDU1)": {op},
	} {
		got := ids(
			follow[sol.VnfLcmOpOcc](t, b, operations+"?filter="+filter), func(o sol.VnfLcmOpOcc) string { return o.ID },
		)
		require.ElementsMatch(t, want, got, filter)
	}
	require.NotContains(t, string(b.Do(t, "GET", operations, nil).Body), "operationParams")
}

func TestVersionsAreListedWithoutAVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, versions := range map[string][]sol.ApiVersion{
		"/vnflcm/api_versions":    {{Version: "1.3.0"}, {Version: "2.0.0"}, {Version: "2.3.0"}},
		"/vnflcm/v1/api_versions": {{Version: "1.3.0"}},
		"/vnflcm/v2/api_versions": {{Version: "2.0.0"}, {Version: "2.3.0"}},
	} {
		a := b.Do(t, "GET", path, nil, "Version", "")
		require.Equal(t, 200, a.Status)
		require.Contains(t, string(a.Body), `"isDeprecated":false`, "clients show it")
		require.Equal(t, sol.ApiVersionInformation{URIPrefix: "/vnflcm", ApiVersions: versions},
			apitest.JSON[sol.ApiVersionInformation](t, a))
		a = b.Do(t, "DELETE", path, nil, "Version", "")
		require.Equal(t, 405, a.Status)
		require.Equal(t, "GET, HEAD", a.Header.Get("Allow"))
	}
	require.Equal(t, 400, b.Do(t, "GET", instances, nil, "Version", "").Status)
	require.Equal(t, 406, b.Do(t, "GET", instances, nil, "Version", "1.3.0").Status)
	for _, v := range []string{"2.0.0", "2.3.0"} {
		a := b.Do(t, "GET", instances, nil, "Version", v)
		require.Equal(t, 200, a.Status)
		require.Equal(t, v, a.Header.Get("Version"))
		require.Equal(t, "none", a.Header.Get("Accept-Ranges"))
		require.Equal(t, v, b.Do(t, "GET", instances+"/x", nil, "Version", v).Header.Get("Version"))
	}
}

func instanceOf(tb testing.TB, b *bundle, op string) string {
	tb.Helper()
	return apitest.JSON[sol.VnfLcmOpOcc](tb, b.Do(tb, "GET", operations+"/"+op, nil)).VnfInstanceID
}

// follow reads all pages of a list.
func follow[T any](tb testing.TB, b *bundle, path string) []T {
	tb.Helper()
	var out []T
	for path != "" {
		a := b.Do(tb, "GET", path, nil)
		require.Equal(tb, 200, a.Status, string(a.Body))
		var page []T
		require.NoError(tb, json.Unmarshal(a.Body, &page))
		require.LessOrEqual(tb, len(page), apitest.PageSize)
		out = append(out, page...)
		path = ""
		if link := a.Header.Get("Link"); link != "" {
			path = strings.TrimPrefix(link[1:strings.Index(link, ">")], apitest.PublicURL)
		}
	}
	return out
}

func ids[T any](in []T, id func(T) string) []string {
	out := []string{}
	for _, v := range in {
		out = append(out, id(v))
	}
	return out
}

// BenchmarkAPI shows the CPU time of one request on this side of the database, without the network.
func BenchmarkAPI(b *testing.B) {
	s := setup(b)
	id, _ := s.instantiate(b)
	for range 100 {
		s.create(b)
	}
	create, err := json.Marshal(sol.CreateVnfRequest{VnfdID: apitest.VnfdID, VnfInstanceName: "n"})
	require.NoError(b, err)
	for _, bm := range []struct {
		name, method, path string
		body               []byte
	}{
		{"get one", "GET", instances + "/" + id, nil},
		{"get list", "GET", instances, nil},
		{"get list with all attributes", "GET", instances + "?all_fields", nil},
		{"create", "POST", instances, create},
	} {
		b.Run(bm.name, func(b *testing.B) {
			var before, after syscall.Rusage
			require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(bm.method, bm.path, bytes.NewReader(bm.body))
				r.Header.Set("Version", "2.0.0")
				w := httptest.NewRecorder()
				s.Handler.ServeHTTP(w, r)
				if w.Code >= 300 {
					b.Fatal(w.Body)
				}
			}
			require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
			cpu := after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
		})
	}
}
