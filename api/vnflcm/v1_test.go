package vnflcm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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

	params := paramsV1(t)
	params["additionalParams"] = map[string]any{
		"nested": map[string]any{"admin_user": "ubuntu", "admin_password": apitest.Password},
	}
	op := b.done(t, "POST", self+"/instantiate", params)
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

	require.Equal(t, sol.KeyValuePairs{"nested": map[string]any{"adminUser": "ubuntu"}},
		i.InstantiatedVnfInfo.AdditionalParams, "without the password, and in camel case")
	require.NotContains(t, string(b.Do(t, "GET", instances+"/"+made.ID, nil).Body), "adminUser", "version 2 has none")

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
