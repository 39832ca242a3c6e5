package vnflcm_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const snapshots = "/vnflcm/v2/vnf_snapshots"

func (b *bundle) emptySnapshot(t *testing.T) string {
	t.Helper()
	a := b.Do(t, "POST", snapshots, `{}`)
	require.Equal(t, 201, a.Status, string(a.Body))
	return a.LocationID(t)
}

// listed are the ids of the snapshots that a query finds.
func (b *bundle) listed(t *testing.T, query string) (out []string) {
	t.Helper()
	a := b.Do(t, "GET", snapshots+"?"+query, nil)
	require.Equal(t, 200, a.Status, string(a.Body))
	for _, s := range apitest.JSON[[]sol.VnfSnapshotInfo](t, a) {
		out = append(out, s.ID)
	}
	return out
}

func TestTheLifeOfASnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance, _ := b.instantiate(t)
	before := b.read(t, instance)
	task := instances + "/" + instance + "/"

	a := b.Do(t, "POST", snapshots, `{}`)
	require.Equal(t, 201, a.Status, string(a.Body))
	made := apitest.JSON[sol.VnfSnapshotInfo](t, a)
	self := apitest.PublicURL + snapshots + "/" + made.ID
	require.Equal(t, self, a.Header.Get("Location"))
	require.Equal(t, self, made.Links.Self.Href)
	require.Nil(t, made.Links.TakenFrom)
	require.Nil(t, made.VnfSnapshot)
	about := map[string]any{"vnfSnapshotInfoId": made.ID, "userDefinedData": map[string]any{"why": "upgrade"}}

	a = b.Do(t, "POST", task+"revert_to_snapshot", map[string]any{"vnfSnapshotInfoId": made.ID})
	require.Equal(t, 409, a.Status, "it is empty")
	op := b.started(t, "POST", task+"create_snapshot", about)
	require.Equal(t, sol.LcmOperationCreateSnapshot, op.Operation)
	require.Equal(t, made.ID, op.VnfSnapshotInfoID)
	require.Equal(t, self, op.Links.VnfSnapshot.Href)
	require.Equal(t, 409, b.Do(t, "DELETE", snapshots+"/"+made.ID, nil).Status, "an operation uses it")
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, op.ID))
	require.Equal(t, before.InstantiatedVnfInfo, b.read(t, instance).InstantiatedVnfInfo)
	require.Equal(t, 409, b.Do(t, "POST", task+"create_snapshot", about).Status, "it is filled")

	a = b.Do(t, "GET", snapshots+"/"+made.ID, nil)
	require.Equal(t, 200, a.Status)
	require.NotContains(t, string(a.Body), apitest.Password)
	s := apitest.JSON[sol.VnfSnapshotInfo](t, a)
	require.Equal(t, apitest.PublicURL+instances+"/"+instance, s.Links.TakenFrom.Href)
	require.Equal(t, instance, s.VnfSnapshot.VnfInstanceID)
	require.Equal(t, "n", s.VnfSnapshot.VnfInstance.VnfInstanceName)
	require.Equal(t, &sol.VnfInstanceLinks{Self: *s.Links.TakenFrom}, s.VnfSnapshot.VnfInstance.Links)
	require.Len(t, s.VnfSnapshot.VnfcSnapshots, len(before.InstantiatedVnfInfo.VnfcResourceInfo))
	require.Equal(t, sol.KeyValuePairs{"why": "upgrade"}, s.VnfSnapshot.UserDefinedData)
	tag := a.Header.Get("Etag")
	require.Equal(t, 304, b.Do(t, "GET", snapshots+"/"+made.ID, nil, "If-None-Match", tag).Status)

	patch := []string{"Content-Type", "application/merge-patch+json", "If-Match"}
	a = b.Do(t, "PATCH", snapshots+"/"+made.ID, `{"vnfSnapshotPkgId":"p"}`, append(patch, `"77"`)...)
	require.Equal(t, 412, a.Status)
	a = b.Do(t, "PATCH", snapshots+"/"+made.ID, `{"vnfSnapshotPkgId":"p"}`, append(patch, tag)...)
	require.Equal(t, 200, a.Status, string(a.Body))
	require.JSONEq(t, `{"vnfSnapshotPkgId":"p"}`, string(a.Body))
	require.NotEqual(t, tag, a.Header.Get("Etag"))
	require.Equal(t, 412, b.Do(t, "DELETE", snapshots+"/"+made.ID, nil, "If-Match", tag).Status)

	reverted := b.done(t, "POST", task+"revert_to_snapshot", map[string]any{"vnfSnapshotInfoId": made.ID})
	require.Equal(t, sol.LcmOperationRevertToSnapshot, reverted.Operation)
	require.Equal(t, 409, b.Do(t, "DELETE", snapshots+"/"+made.ID, nil).Status, "machines have its disks")
	b.done(t, "POST", task+"terminate", `{"terminationType":"FORCEFUL"}`)
	require.Equal(t, 204, b.Do(t, "DELETE", instances+"/"+instance, nil).Status)

	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "the VIM is busy").AsTransient())
	a = b.Do(t, "DELETE", snapshots+"/"+made.ID, nil)
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	require.Contains(t, a.Problem.Detail, "the VIM is busy")
	b.VIM.Fail(nil)
	require.Equal(t, 204, b.Do(t, "DELETE", snapshots+"/"+made.ID, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", snapshots+"/"+made.ID, nil).Status)
	require.Empty(t, b.VIM.Disks())
}

func TestListOfSnapshots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance, _ := b.instantiate(t)
	full, empty := b.emptySnapshot(t), b.emptySnapshot(t)
	b.done(t, "POST", instances+"/"+instance+"/create_snapshot", map[string]any{"vnfSnapshotInfoId": full})

	require.ElementsMatch(t, []string{full, empty}, b.listed(t, ""))
	filter := func(f string) string { return url.Values{"filter": {f}}.Encode() }
	require.Equal(t, []string{empty}, b.listed(t, filter("(eq,id,"+empty+")")))
	require.Equal(t, []string{full}, b.listed(t, filter("(eq,vnfSnapshot/vnfInstanceId,"+instance+")")))
	require.Empty(t, b.listed(t, filter("(eq,vnfSnapshot/vnfInstanceId,other)")))
	require.Equal(t, 400, b.Do(t, "GET", snapshots+"?"+filter("(eq,nothing,1)"), nil).Status)

	require.NotContains(t, string(b.Do(t, "GET", snapshots, nil).Body), "vnfcSnapshots")
	require.Contains(t, string(b.Do(t, "GET", snapshots+"?all_fields", nil).Body), "vnfcSnapshots")
	a := b.Do(t, "GET", snapshots+"?fields=vnfSnapshot/vnfInstance/_links&"+filter("(eq,id,"+full+")"), nil)
	links := apitest.JSON[[]sol.VnfSnapshotInfo](t, a)[0].VnfSnapshot.VnfInstance.Links
	require.Equal(t, apitest.PublicURL+instances+"/"+instance, links.Self.Href)
	require.Contains(t, string(b.Do(t, "GET", snapshots+"?fields=vnfSnapshot/vnfdId", nil).Body), "vnfdId")
}

func TestTasksOfSnapshotsThatDoNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance, _ := b.instantiate(t)
	for _, name := range []string{"create_snapshot", "revert_to_snapshot"} {
		a := b.Do(t, "POST", instances+"/"+instance+"/"+name, map[string]any{"vnfSnapshotInfoId": instance})
		require.Equal(t, 422, a.Status, string(a.Body))
		require.Contains(t, string(a.Body), "/vnfSnapshotInfoId")
	}
}

func TestSnapshotsHaveAQuota(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Store.Limit(func(string) lcm.ProjectQuota { return lcm.ProjectQuota{Snapshots: 1} })
	first := b.emptySnapshot(t)
	a := b.Do(t, "POST", snapshots, `{}`)
	require.Equal(t, 403, a.Status, string(a.Body))
	require.Contains(t, a.Problem.Detail, "1 of 1 VNF snapshots are in use")
	require.Equal(t, []string{first}, b.listed(t, ""))
	require.Equal(t, 204, b.Do(t, "DELETE", snapshots+"/"+first, nil).Status)
	b.emptySnapshot(t)
}
