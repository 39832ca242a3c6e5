package vnflcm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const (
	instancesV1     = "/vnflcm/v1/vnf_instances"
	operationsV1    = "/vnflcm/v1/vnf_lcm_op_occs"
	subscriptionsV1 = "/vnflcm/v1/subscriptions"
)

// paramsV1 are apitest.Params in the form of version 1.
func paramsV1(tb testing.TB) map[string]any {
	tb.Helper()
	p := apitest.Params()
	vim := p.VimConnectionInfo["vim1"]
	return map[string]any{
		"flavourId": p.FlavourID, "additionalParams": p.AdditionalParams,
		"vimConnectionInfo": []any{map[string]any{
			"id": "vim1", "vimType": vim.VimType, "interfaceInfo": vim.InterfaceInfo, "accessInfo": vim.AccessInfo,
		}},
	}
}

// createV1 makes an instance through version 1.
func (b *bundle) createV1(tb testing.TB, vnfdID string) string {
	tb.Helper()
	a := b.Do(tb, "POST", instancesV1, `{"vnfdId":"`+vnfdID+`"}`)
	require.Equal(tb, 201, a.Status, string(a.Body))
	return a.LocationID(tb)
}

// clusterV1 makes an instance with several VNFCs through version 1.
func (b *bundle) clusterV1(tb testing.TB) string {
	tb.Helper()
	id := b.createV1(tb, apitest.ClusterID)
	b.done(tb, "POST", instancesV1+"/"+id+"/instantiate", paramsV1(tb))
	return id
}

// TestTheLifeOfAnInstanceInVersion1 sends each task of version 1 in its form, and looks at the instance in both.
func TestTheLifeOfAnInstanceInVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)

	a := b.Do(t, "POST", instancesV1, `{"vnfdId":"`+apitest.ClusterID+`","vnfInstanceName":"n","vnfInstanceDescription":"d"}`)
	require.Equal(t, 201, a.Status, string(a.Body))
	require.Equal(t, "1.3.0", a.Header.Get("Version"))
	made := apitest.JSON[v1.VnfInstance](t, a)
	require.NotEmpty(t, made.VnfPkgID)
	self := instancesV1 + "/" + made.ID
	require.Equal(t, apitest.PublicURL+self, a.Header.Get("Location"))
	require.Equal(t, &sol.VnfInstanceLinks{
		Self: sol.Link{Href: "/prefix" + self}, Instantiate: &sol.Link{Href: "/prefix" + self + "/instantiate"},
	}, made.Links, "links are relative to the server, with the prefix of the public URL")

	op := b.done(t, "POST", self+"/instantiate", paramsV1(t))
	require.Contains(t, string(op.OperationParams), `"vimConnectionInfo":{"vim1":{`, "version 2 shows its own form")
	a = b.Do(t, "GET", operationsV1+"/"+op.ID, nil)
	require.Equal(t, 200, a.Status)
	shown := apitest.JSON[v1.VnfLcmOpOcc](t, a)
	require.Contains(t, string(shown.OperationParams), `"vimConnectionInfo":[{"id":"vim1"`)
	require.NotContains(t, string(a.Body), apitest.Password)
	require.Equal(t, apitest.PublicURL+self, shown.Links.VnfInstance.Href)

	i := b.readV1(t, made.ID)
	require.Equal(t, sol.InstantiationStateInstantiated, i.InstantiationState)
	require.Len(t, i.VimConnectionInfo, 1)
	require.Equal(t, "vim1", i.VimConnectionInfo[0].ID)
	require.Nil(t, i.Links.ChangeCurrentVnfPkg, "version 1 does not have the task")
	require.Nil(t, i.Links.CreateSnapshot)
	require.NotNil(t, i.Links.Heal)

	op = b.done(t, "POST", self+"/scale", `{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":"1"}`)
	require.Len(t, op.ResourceChanges.AffectedVnfcs, 1)
	b.done(t, "POST", self+"/scale", `{"type":"SCALE_IN","aspectId":"workers","numberOfSteps":1}`)

	vnfc := b.readV1(t, made.ID).InstantiatedVnfInfo.VnfcResourceInfo[0]
	op = b.done(t, "POST", self+"/heal", map[string]any{"cause": "c", "vnfcInstanceId": []string{vnfc.ID}})
	require.NotEmpty(t, op.ResourceChanges.AffectedVnfcs)
	for _, c := range op.ResourceChanges.AffectedVnfcs {
		require.Equal(t, vnfc.VduID, c.VduID, "only the VNFC of the resource is healed")
	}
	vnfc = b.readV1(t, made.ID).InstantiatedVnfInfo.VnfcResourceInfo[0]
	op = b.done(t, "POST", self+"/heal", map[string]any{"vnfcInstanceId": vnfc.ID})
	require.JSONEq(t, `{"vnfcInstanceId":["`+vnfc.VduID+"-"+vnfc.ID+`"]}`, string(op.OperationParams), "the id of the VNFC")
	op = b.done(t, "POST", self+"/heal", `{"vnfcInstanceId":null}`)
	require.JSONEq(t, `{"additionalParams":{"all":true}}`, string(op.OperationParams), "without VNFCs, all is made again")
	op = b.done(t, "POST", self+"/heal", `{"cause":"c","additionalParams":{"all":false}}`)
	require.JSONEq(t, `{"cause":"c","additionalParams":{"all":false}}`, string(op.OperationParams))

	b.done(t, "PATCH", self, map[string]any{
		"vnfInstanceName":   "renamed",
		"vimConnectionInfo": []any{map[string]any{"id": "vim1", "accessInfo": map[string]any{"project": "other"}}},
		"vnfPkgId":          i.VnfPkgID,
	})
	i = b.readV1(t, made.ID)
	require.Equal(t, "renamed", i.VnfInstanceName)
	require.Equal(t, "other", i.VimConnectionInfo[0].AccessInfo["project"])
	require.Equal(t, "nfv_user", i.VimConnectionInfo[0].AccessInfo["username"], "the rest of the connection stays")

	b.done(t, "POST", self+"/operate", `{"changeStateTo":"STOPPED"}`)
	b.done(t, "POST", self+"/operate", `{"changeStateTo":"STARTED"}`)
	b.done(t, "POST", self+"/scale_to_level", `{"instantiationLevelId":"small"}`)
	b.done(t, "POST", self+"/change_flavour", `{"newFlavourId":"complex"}`)
	b.done(t, "POST", self+"/terminate", `{"terminationType":"GRACEFUL","gracefulTerminationTimeout":1}`)
	require.Equal(t, 412, b.Do(t, "DELETE", self, nil, "If-Match", `"1"`).Status)
	require.Equal(t, 204, b.Do(t, "DELETE", self, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", instances+"/"+made.ID, nil).Status)
	for _, task := range []string{"change_vnfpkg", "create_snapshot", "revert_to_snapshot"} {
		require.Equal(t, 404, b.Do(t, "POST", self+"/"+task, `{}`).Status, task)
	}
}

func (b *bundle) readV1(tb testing.TB, id string) v1.VnfInstance {
	tb.Helper()
	a := b.Do(tb, "GET", instancesV1+"/"+id, nil)
	require.Equal(tb, 200, a.Status, string(a.Body))
	return apitest.JSON[v1.VnfInstance](tb, a)
}

// TestObjectsOfOneVersionAreThoseOfTheOther creates in one version and uses in the other.
func TestObjectsOfOneVersionAreThoseOfTheOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, later := b.createV1(t, apitest.ClusterID), b.create(t)
	require.Equal(t, "vnf-"+old, b.readV1(t, old).VnfInstanceName, "as Tacker shows it")
	a := b.Do(t, "GET", instancesV1+"/"+old, nil)
	require.Contains(t, string(a.Body), `"vnfInstanceDescription":null`)
	require.Empty(t, b.read(t, old).VnfInstanceName)
	require.Equal(t, "n", b.readV1(t, later).VnfInstanceName)

	op := b.done(t, "POST", instances+"/"+old+"/instantiate", apitest.Params())
	require.Equal(t, "vim1", b.readV1(t, old).VimConnectionInfo[0].ID)
	etag := b.Do(t, "GET", instances+"/"+old, nil).Header.Get("ETag")
	require.Equal(t, etag, b.Do(t, "GET", instancesV1+"/"+old, nil).Header.Get("ETag"), "one resource, one version")
	require.Equal(t, 304, b.Do(t, "GET", instancesV1+"/"+old, nil, "If-None-Match", etag).Status)
	require.Equal(t, 200, b.Do(t, "GET", operationsV1+"/"+op.ID, nil).Status)
	b.done(t, "POST", instancesV1+"/"+old+"/terminate", `{"terminationType":"FORCEFUL"}`, "If-Match", etag)
	require.Equal(t, 204, b.Do(t, "DELETE", instances+"/"+old, nil).Status)

	listed := apitest.JSON[[]v1.VnfInstance](t, b.Do(t, "GET", instancesV1, nil))
	require.Len(t, listed, 1)
	require.Equal(t, later, listed[0].ID)
	require.NotEmpty(t, listed[0].VnfPkgID)
}

// TestOperationsAreSteeredInVersion1: retry, rollback, fail and cancel, as the openstack client sends them.
func TestOperationsAreSteeredInVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, retried := b.broken(t)
	a := b.Do(t, "GET", operationsV1+"/"+retried, nil)
	shown := apitest.JSON[v1.VnfLcmOpOcc](t, a)
	require.Equal(t, sol.LcmOperationStateFailedTemp, shown.OperationState)
	require.Contains(t, shown.Error.Detail, "no valid host was found")
	require.Equal(t, apitest.PublicURL+operationsV1+"/"+retried+"/retry", shown.Links.Retry.Href)
	a = b.Do(t, "POST", operationsV1+"/"+retried+"/retry", nil)
	require.Equal(t, 202, a.Status, string(a.Body))
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, retried))

	_, undone := b.broken(t)
	require.Equal(t, 202, b.Do(t, "POST", operationsV1+"/"+undone+"/rollback", nil).Status)
	require.Equal(t, sol.LcmOperationStateRolledBack, b.Work(t, undone))

	_, failed := b.broken(t)
	a = b.Do(t, "POST", operationsV1+"/"+failed+"/fail", nil, "Idempotency-Key", "k")
	require.Equal(t, 200, a.Status, string(a.Body))
	require.Equal(t, sol.LcmOperationStateFailed, apitest.JSON[v1.VnfLcmOpOcc](t, a).OperationState)
	again := b.Do(t, "POST", operationsV1+"/"+failed+"/fail", nil, "Idempotency-Key", "k")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.JSONEq(t, string(a.Body), string(again.Body), "the replay has the form of version 1, too")

	id := b.createV1(t, apitest.VnfdID)
	op := b.started(t, "POST", instancesV1+"/"+id+"/instantiate", paramsV1(t))
	a = b.Do(t, "POST", operationsV1+"/"+op.ID+"/cancel", `{"cancelMode":"GRACEFUL"}`, "Version", "")
	require.Equal(t, 202, a.Status, "the client sends no version: %s", a.Body)
	require.Equal(t, "1.3.0", a.Header.Get("Version"))
	require.Contains(t, []sol.LcmOperationStateType{
		sol.LcmOperationStateRolledBack, sol.LcmOperationStateFailedTemp,
	}, b.Work(t, op.ID))
}

// TestVersionsOfVersion1: any version with the major number 1 is served, and none is needed.
func TestVersionsOfVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for given, status := range map[string]int{
		"": 200, "1.3.0": 200, "1.0.0": 200, "1.2.1": 200, "1.9.9": 200, "1.3.0-impl:a:b:1": 200,
		"2.0.0": 406, "3.0.0": 406, "1.3": 400, "x": 400,
	} {
		a := b.Do(t, "GET", instancesV1, nil, "Version", given)
		require.Equal(t, status, a.Status, given)
		require.Equal(t, "1.3.0", a.Header.Get("Version"), given)
	}
}

// TestInvalidRequestsOfVersion1 are rejected with pointers into the request as it was sent.
func TestInvalidRequestsOfVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.createV1(t, apitest.VnfdID)
	links := func(config string) string {
		return `{"flavourId":"simple","extVirtualLinks":[{"id":"a","resourceId":"b","extCps":[{"cpdId":"c","cpConfig":` +
			config + `}]}]}`
	}
	vims := func(list string) string { return `{"flavourId":"simple","vimConnectionInfo":` + list + `}` }
	for body, want := range map[string]struct {
		status  int
		pointer string
	}{
		vims(`{"vim1":{"vimType":"openstack"}}`):                    {400, "/vimConnectionInfo"},
		vims(`[{"vimType":"openstack"}]`):                           {400, "/vimConnectionInfo/0/id"},
		vims(`[{"id":"a","vimType":"x"},{"id":"a","vimType":"x"}]`): {422, "/vimConnectionInfo/1/id"},
		vims(`[{"id":"a/b","vimType":"nonsense"}]`):                 {422, "/vimConnectionInfo/0/vimType"},
		links(`{"k":{}}`): {400, "/extVirtualLinks/0/extCps/0/cpConfig"},
		links(`[{},{}]`):  {422, "/extVirtualLinks/0/extCps/0/cpConfig/1/cpInstanceId"},
	} {
		a := b.Do(t, "POST", instancesV1+"/"+id+"/instantiate", body)
		require.Equal(t, want.status, a.Status, "%s: %s", body, a.Body)
		require.Contains(t, a.Pointers(), want.pointer, "%s: %s", body, a.Body)
		require.Contains(t, a.Problem.Detail, want.pointer)
	}
	up := b.clusterV1(t)
	a := b.Do(t, "POST", instancesV1+"/"+up+"/heal", `{"vnfcInstanceId":"nothing"}`)
	require.Equal(t, 422, a.Status)
	require.Equal(t, []string{"/vnfcInstanceId"}, a.Pointers())
	for _, steps := range []string{`"0"`, `0`, `"x"`, `"9999999999"`, `1.5`} {
		a := b.Do(t, "POST", instancesV1+"/"+up+"/scale", `{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":`+steps+`}`)
		require.Equal(t, 400, a.Status, steps)
		require.Equal(t, []string{"/numberOfSteps"}, a.Pointers(), steps)
	}
}

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

// TestSubscriptionsOfVersion1 get notifications in the form of version 1, and are those of version 2.
func TestSubscriptionsOfVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := listen(t)
	a := b.Do(t, "POST", subscriptionsV1, map[string]any{"callbackUri": s.URL})
	require.Equal(t, 201, a.Status, string(a.Body))
	id := a.LocationID(t)
	require.JSONEq(t, `{"id":"`+id+`","callbackUri":"`+s.URL+`",
		"_links":{"self":{"href":"`+apitest.PublicURL+subscriptionsV1+"/"+id+`"}}}`, string(a.Body))
	require.Equal(t, "1.3.0", s.tests[0].Header.Get("Version"))
	shown := apitest.JSON[sol.LccnSubscription](t, b.Do(t, "GET", subscriptions+"/"+id, nil))
	require.Equal(t, sol.VerbosityFull, shown.Verbosity)
	require.Len(t, apitest.JSON[[]any](t, b.Do(t, "GET", subscriptionsV1, nil)), 1)

	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "no valid host was found"))
	instance, op := b.instantiate(t)
	b.VIM.Fail(nil)
	b.Deliver(t)
	require.Len(t, s.bodies, 4)
	created := decoded(t, s.bodies[0])
	require.Equal(t, map[string]any{
		"vnfInstance":  map[string]any{"href": apitest.PublicURL + instancesV1 + "/" + instance},
		"subscription": map[string]any{"href": apitest.PublicURL + subscriptionsV1 + "/" + id},
	}, created["_links"])
	last := decoded(t, s.bodies[3])
	require.Equal(t, "FAILED_TEMP", last["operationState"])
	require.NotContains(t, last, "verbosity")
	var failed v1.VnfLcmOperationOccurrenceNotification
	require.NoError(t, json.Unmarshal([]byte(s.bodies[3]), &failed))
	require.Contains(t, failed.Error.Detail, "no valid host was found")
	require.Equal(t, apitest.PublicURL+operationsV1+"/"+op, failed.Links.VnfLcmOpOcc.Href)
	for _, r := range s.posts {
		require.Equal(t, "1.3.0", r.Header.Get("Version"))
	}
	require.Equal(t, 204, b.Do(t, "DELETE", subscriptions+"/"+id, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", subscriptionsV1+"/"+id, nil).Status)
}

func decoded(t *testing.T, body string) (out map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), &out))
	return out
}

// FuzzRequestsOfVersion1 is FuzzRequests with bodies that are translated.
func FuzzRequestsOfVersion1(f *testing.F) {
	b := setup(f)
	fresh, up := b.createV1(f, apitest.VnfdID), b.clusterV1(f)
	var targets [][2]string
	for _, task := range []string{
		"instantiate", "scale", "scale_to_level", "change_flavour", "heal", "operate", "change_ext_conn", "terminate",
	} {
		for _, id := range []string{fresh, up} {
			targets = append(targets, [2]string{http.MethodPost, instancesV1 + "/" + id + "/" + task})
		}
	}
	targets = append(targets, [2]string{http.MethodPatch, instancesV1 + "/" + up})
	targets = append(targets, [2]string{http.MethodPost, instancesV1})
	for n := range targets {
		for _, body := range []string{
			`{}`, `{"vnfcInstanceId":null}`, `{"vnfcInstanceId":"x"}`, `{"vnfcInstanceId":["x",""]}`,
			`{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":"1"}`, `{"terminationType":"FORCEFUL"}`,
			`{"flavourId":"simple","vimConnectionInfo":[{"id":"a","vimType":"openstack"},{"id":"b","vimType":"kubernetes"}]}`,
			`{"vimConnectionInfo":[{"id":"vim1","vimType":null}]}`, `{"vimConnectionInfo":[]}`, `{"additionalParams":null}`,
			`{"extVirtualLinks":[{"id":"a","resourceId":"b","extCps":[{"cpdId":"c","cpConfig":[{"cpInstanceId":"x"}]}]}]}`,
			`{"extVirtualLinks":[{"id":"a","resourceId":"b","extCps":[{"cpdId":"c","cpConfig":[{"linkPortId":"x"}]}]}]}`,
		} {
			f.Add(uint8(n), body)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		target := targets[int(n)%len(targets)]
		a := b.Do(t, target[0], target[1], body)
		require.Less(t, a.Status, http.StatusInternalServerError, string(a.Body))
		if a.Status != http.StatusAccepted {
			return
		}
		op := a.LocationID(t)
		if lcm.Active(b.Work(t, op)) {
			require.Equal(t, 200, b.Do(t, "POST", operationsV1+"/"+op+"/fail", nil).Status)
		}
		apitest.JSON[v1.VnfLcmOpOcc](t, b.Do(t, "GET", operationsV1+"/"+op, nil))
		apitest.JSON[[]v1.VnfInstance](t, b.Do(t, "GET", instancesV1+"?all_fields", nil))
	})
}
