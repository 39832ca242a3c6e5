package vnflcm_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// cluster makes an instantiated cluster: one master, two workers.
func (b *bundle) cluster(tb testing.TB) string {
	tb.Helper()
	a := b.Do(tb, "POST", instances, sol.CreateVnfRequest{VnfdID: apitest.ClusterID, VnfInstanceName: "c"})
	require.Equal(tb, 201, a.Status, string(a.Body))
	id := a.LocationID(tb)
	b.done(tb, "POST", instances+"/"+id+"/instantiate", apitest.Params())
	return id
}

// done sends a task that has to be accepted, works on its operation until it is COMPLETED, and shows it.
func (b *bundle) done(tb testing.TB, method, path string, body any, headers ...string) sol.VnfLcmOpOcc {
	tb.Helper()
	op := b.started(tb, method, path, body, headers...)
	require.Equal(tb, sol.LcmOperationStateCompleted, b.Work(tb, op.ID), b.show(tb, op.ID).Error)
	return b.show(tb, op.ID)
}

// started sends a task that has to be accepted, and shows its operation.
func (b *bundle) started(tb testing.TB, method, path string, body any, headers ...string) sol.VnfLcmOpOcc {
	tb.Helper()
	a := b.Do(tb, method, path, body, headers...)
	require.Equal(tb, 202, a.Status, string(a.Body))
	require.Empty(tb, a.Body)
	return b.show(tb, a.LocationID(tb))
}

func (b *bundle) show(tb testing.TB, op string) sol.VnfLcmOpOcc {
	tb.Helper()
	a := b.Do(tb, "GET", operations+"/"+op, nil)
	require.Equal(tb, 200, a.Status)
	require.NotContains(tb, string(a.Body), apitest.Password)
	return apitest.JSON[sol.VnfLcmOpOcc](tb, a)
}

func (b *bundle) read(tb testing.TB, instance string) sol.VnfInstance {
	tb.Helper()
	a := b.Do(tb, "GET", instances+"/"+instance, nil)
	require.Equal(tb, 200, a.Status)
	require.NotContains(tb, string(a.Body), apitest.Password)
	return apitest.JSON[sol.VnfInstance](tb, a)
}

// count counts the VNFCs by VDU.
func count(i sol.VnfInstance) map[string]int {
	out := map[string]int{}
	for _, c := range i.InstantiatedVnfInfo.VnfcInfo {
		out[c.VduID]++
	}
	return out
}

func workers(i sol.VnfInstance) []string {
	var out []string
	for _, c := range i.InstantiatedVnfInfo.VnfcInfo {
		if c.VduID == "workerNode" {
			out = append(out, c.ID)
		}
	}
	return out
}

func TestEveryTaskStartsItsOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.cluster(t)
	path := instances + "/" + id

	secret := sol.KeyValuePairs{"deep": []any{sol.KeyValuePairs{"password": apitest.Password, "username": "ubuntu"}}}
	op := b.done(t, "POST", path+"/scale", sol.ScaleVnfRequest{
		Type: sol.ScaleTypeOut, AspectID: "workers", NumberOfSteps: 2, AdditionalParams: secret,
	})
	require.Equal(t, sol.LcmOperationScale, op.Operation)
	require.False(t, op.IsCancelPending)
	require.Len(t, op.ResourceChanges.AffectedVnfcs, 2)
	require.Contains(t, string(op.OperationParams), `"username":"ubuntu"`, "what is no secret shows")
	i := b.read(t, id)
	require.Equal(t, map[string]int{"masterNode": 1, "workerNode": 4}, count(i))
	require.Equal(t, []sol.ScaleInfo{{AspectID: "workers", ScaleLevel: 3}}, i.InstantiatedVnfInfo.ScaleStatus)

	op = b.done(t, "POST", path+"/scale_to_level", `{"instantiationLevelId":"small"}`)
	require.Equal(t, sol.LcmOperationScaleToLevel, op.Operation)
	require.Equal(t, map[string]int{"masterNode": 1, "workerNode": 1}, count(b.read(t, id)))

	op = b.done(t, "POST", path+"/change_flavour", `{"newFlavourId":"complex"}`)
	require.Equal(t, sol.LcmOperationChangeFlavour, op.Operation)
	i = b.read(t, id)
	require.Equal(t, "complex", i.InstantiatedVnfInfo.FlavourID)
	require.Equal(t, map[string]int{"masterNode": 3, "workerNode": 2}, count(i))

	was := workers(i)
	op = b.done(t, "POST", path+"/heal", sol.HealVnfRequest{
		VnfcInstanceID: was[:1], Cause: "it is sick", HealScript: "ignored",
	})
	require.Equal(t, sol.LcmOperationHeal, op.Operation)
	now := workers(b.read(t, id))
	require.NotContains(t, now, was[0], "the sick one is gone")
	require.Contains(t, now, was[1], "the other one is not")
	b.done(t, "POST", path+"/heal", `{}`)
	require.NotContains(t, workers(b.read(t, id)), was[1], "without names all are healed")

	op = b.done(t, "POST", path+"/operate", `{"changeStateTo":"STOPPED","stopType":"GRACEFUL","gracefulStopTimeout":1}`)
	require.Equal(t, sol.LcmOperationOperate, op.Operation)
	require.Equal(t, sol.VnfOperationalStateStopped, b.read(t, id).InstantiatedVnfInfo.VnfState)
	b.done(t, "POST", path+"/operate", `{"changeStateTo":"STARTED"}`)
	require.Equal(t, sol.VnfOperationalStateStarted, b.read(t, id).InstantiatedVnfInfo.VnfState)

	op = b.done(
		t, "POST", path+"/change_ext_conn",
		sol.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: []sol.ExtVirtualLinkData{{
			ID: "l", ResourceID: "net",
			ExtCps: []sol.VnfExtCpData{
				{CpdID: "masterNode_CP1", CpConfig: map[string]sol.VnfExtCpConfig{"a": {LinkPortID: "p"}}},
			},
		}}})
	require.Equal(t, sol.LcmOperationChangeExtConn, op.Operation)

	op = b.done(t, "POST", path+"/change_vnfpkg", sol.ChangeCurrentVnfPkgRequest{
		VnfdID: apitest.NextID, AdditionalParams: secret,
	})
	require.Equal(t, sol.LcmOperationChangeVnfpkg, op.Operation)
	require.Equal(t, apitest.NextID, op.ModificationsTriggeredByVnfPkgChange.VnfdID)
	require.Equal(t, apitest.NextID, b.read(t, id).VnfdID)

	op = b.done(t, "POST", path+"/terminate", `{"terminationType":"FORCEFUL"}`)
	require.Equal(t, sol.LcmOperationTerminate, op.Operation)
	require.NotContains(t, b.Log.String(), apitest.Password)
}

func TestAnInstanceIsModifiedByAMergePatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.cluster(t)
	path := instances + "/" + id

	op := b.done(t, "PATCH", path, `{"vnfInstanceName":"new","metadata":{"a":"1","b":{"c":2}}}`, "Content-Type",
		"application/merge-patch+json")
	require.Equal(t, sol.LcmOperationModifyInfo, op.Operation)
	require.Equal(t, "new", op.ChangedInfo.VnfInstanceName)
	require.Empty(t, op.GrantID, "modifying information needs no grant")
	a := b.Do(t, "GET", path, nil)
	i, etag := apitest.JSON[sol.VnfInstance](t, a), a.Header.Get("ETag")
	require.Equal(t, "new", i.VnfInstanceName)
	require.Equal(t, sol.KeyValuePairs{"a": "1", "b": map[string]any{"c": 2.0}}, i.Metadata)

	// Others send plain JSON, as Tacker's client does; a condition that holds is one.
	b.done(t, "PATCH", path, `{"metadata":{"a":null},"vnfInstanceDescription":"d"}`, "If-Match", etag)
	i = b.read(t, id)
	require.Equal(t, sol.KeyValuePairs{"b": map[string]any{"c": 2.0}}, i.Metadata)
	require.Equal(t, "new", i.VnfInstanceName, "what is not named stays")
	b.done(t, "PATCH", path, `{"metadata":null,"vnfInstanceName":null}`)
	i = b.read(t, id)
	require.Empty(t, i.Metadata)
	require.Empty(t, i.VnfInstanceName)

	require.Equal(t, 412, b.Do(t, "PATCH", path, `{"vnfInstanceName":"late"}`, "If-Match", etag).Status)
	require.Equal(t, 412, b.Do(t, "PATCH", path, `{"vnfInstanceName":"late"}`, "If-Unmodified-Since",
		"Mon, 02 Jan 2006 15:04:05 GMT").Status)
	require.Empty(t, b.read(t, id).VnfInstanceName)

	op = b.done(t, "PATCH", path, `{"vimConnectionInfo":{"vim1":{"accessInfo":{"password":"`+apitest.Password+
		`","region":"R2","project":null}}}}`)
	require.Equal(t, "R2", op.ChangedInfo.VimConnectionInfo["vim1"].AccessInfo["region"])
	vim := b.read(t, id).VimConnectionInfo["vim1"]
	require.Equal(t, sol.KeyValuePairs{"username": "nfv_user", "region": "R2"}, vim.AccessInfo,
		"a connection may be changed in part")
	require.Equal(t, apitest.VimType, vim.VimType)
	require.Equal(t, "http://vim/identity/v3", vim.InterfaceInfo["endpoint"])
	kept, err := b.Store.Instance(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, apitest.Password, kept.VimConnections["vim1"].AccessInfo["password"])

	fresh := b.create(t)
	b.done(t, "PATCH", instances+"/"+fresh, `{"vnfInstanceName":"before it is instantiated"}`)
	require.Equal(t, "before it is instantiated", b.read(t, fresh).VnfInstanceName)
}

func TestLinksNameTheTasksThatArePossible(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fresh := b.create(t)
	single, _ := b.instantiate(t)
	many := b.cluster(t)
	links := func(i sol.VnfInstance) []string {
		var out []string
		all := map[string]*sol.Link{
			"instantiate": i.Links.Instantiate, "terminate": i.Links.Terminate, "scale": i.Links.Scale,
			"scale_to_level": i.Links.ScaleToLevel, "change_flavour": i.Links.ChangeFlavour, "heal": i.Links.Heal,
			"operate": i.Links.Operate, "change_ext_conn": i.Links.ChangeExtConn,
		}
		for _, task := range slices.Sorted(maps.Keys(all)) {
			if all[task] != nil {
				require.Equal(t, i.Links.Self.Href+"/"+task, all[task].Href)
				out = append(out, task)
			}
		}
		return out
	}
	want := map[string][]string{
		fresh:  {"instantiate"},
		single: {"change_ext_conn", "heal", "operate", "terminate"},
		many:   {"change_ext_conn", "change_flavour", "heal", "operate", "scale", "scale_to_level", "terminate"},
	}
	for id, tasks := range want {
		require.Equal(t, tasks, links(b.read(t, id)))
	}
	for _, i := range follow[sol.VnfInstance](t, b, instances) {
		require.Equal(t, want[i.ID], links(i), "a list says the same")
	}
}

func TestAnOperationIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.cluster(t)
	scale := sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "workers"}
	cancel := func(op, mode string) apitest.Answer {
		return b.Do(t, "POST", operations+"/"+op+"/cancel", `{"cancelMode":"`+mode+`"}`)
	}

	op := b.started(t, "POST", instances+"/"+id+"/scale", scale)
	require.Equal(t, sol.LcmOperationStateStarting, op.OperationState)
	require.Equal(t, op.Links.Self.Href+"/cancel", op.Links.Cancel.Href)
	a := cancel(op.ID, "GRACEFUL")
	require.Equal(t, 202, a.Status, string(a.Body))
	require.Empty(t, a.Body)
	require.Empty(t, a.Header.Get("Location"))
	op = b.show(t, op.ID)
	require.True(t, op.IsCancelPending)
	require.Equal(t, sol.CancelModeGraceful, op.CancelMode)
	require.Equal(t, sol.LcmOperationStateStarting, op.OperationState, "it has to come to rest first")
	require.Equal(t, 202, cancel(op.ID, "FORCEFUL").Status, "who does not want to wait any more can say so")
	require.Equal(t, sol.CancelModeForceful, b.show(t, op.ID).CancelMode)
	a = cancel(op.ID, "FORCEFUL")
	require.Equal(t, 409, a.Status)
	require.Contains(t, a.Problem.Detail, "cancelled already")
	require.Equal(t, sol.LcmOperationStateRolledBack, b.Work(t, op.ID))
	op = b.show(t, op.ID)
	require.False(t, op.IsCancelPending)
	require.Empty(t, op.CancelMode)
	require.Nil(t, op.Links.Cancel)
	require.Equal(t, map[string]int{"masterNode": 1, "workerNode": 2}, count(b.read(t, id)), "nothing had begun")

	a = cancel(op.ID, "FORCEFUL")
	require.Equal(t, 409, a.Status)
	require.Contains(t, a.Problem.Detail, "ROLLED_BACK")
	for body, pointers := range map[string][]string{
		`{}`: {"/cancelMode"}, `{"cancelMode":"NICELY"}`: {"/cancelMode"}, ``: nil, `[`: nil,
	} {
		a = b.Do(t, "POST", operations+"/"+op.ID+"/cancel", body)
		require.Equal(t, 400, a.Status, body)
		require.Equal(t, pointers, a.Pointers(), body)
	}
	require.Equal(t, 404, cancel(uuid.NewString(), "GRACEFUL").Status)
	require.Equal(t, 405, b.Do(t, "GET", operations+"/"+op.ID+"/cancel", nil).Status)
	require.Equal(t, 415, b.Do(t, "POST", operations+"/"+op.ID+"/cancel", `cancelMode: GRACEFUL`, "Content-Type",
		"application/yaml").Status)
}

func TestTasksThatCannotWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fresh, up := b.create(t), b.cluster(t)
	single, _ := b.instantiate(t)
	busy := b.cluster(t)
	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "no room"))
	op := b.started(t, "POST", instances+"/"+busy+"/heal", `{}`)
	require.Equal(t, sol.LcmOperationStateFailedTemp, b.Work(t, op.ID))
	b.VIM.Fail(nil)

	good := map[string]string{
		"scale": `{"type":"SCALE_OUT","aspectId":"workers"}`, "scale_to_level": `{"instantiationLevelId":"big"}`,
		"change_flavour": `{"newFlavourId":"complex"}`, "heal": `{}`, "operate": `{"changeStateTo":"STOPPED"}`,
		"change_ext_conn": `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[{"cpdId":"masterNode_CP1","cpConfig":{"a":{"linkPortId":"p"}}}]}]}`,
		"change_vnfpkg":   `{"vnfdId":"` + apitest.NextID + `"}`, "terminate": `{"terminationType":"FORCEFUL"}`,
	}
	for task, body := range good {
		at := func(id string) string { return instances + "/" + id + "/" + task }
		a := b.Do(t, "POST", at(fresh), body)
		require.Equal(t, 409, a.Status, task)
		require.Contains(t, a.Problem.Detail, "NOT_INSTANTIATED", task)
		a = b.Do(t, "POST", at(busy), body)
		require.Equal(t, 409, a.Status, task)
		require.Contains(t, a.Problem.Detail, op.ID, "%s: the active operation is named", task)
		require.Equal(t, 404, b.Do(t, "POST", at(uuid.NewString()), body).Status, task)
		require.Equal(t, 404, b.Do(t, "POST", at("x"), body).Status, task)
		require.Equal(t, 400, b.Do(t, "POST", at(up), "").Status, task)
		require.Equal(t, 400, b.Do(t, "POST", at(up), body[:len(body)-1]).Status, task)
		require.Equal(t, 400, b.Do(t, "POST", at(up), body, "Version", "").Status, task)
		require.Equal(t, 406, b.Do(t, "POST", at(up), body, "Version", "9.0.0").Status, task)
		require.Equal(t, 415, b.Do(t, "POST", at(up), body, "Content-Type", "application/xml").Status, task)
		for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
			a = b.Do(t, method, at(up), nil)
			require.Equal(t, 405, a.Status, "%s %s", method, task)
			require.Equal(t, "POST", a.Header.Get("Allow"), "%s %s", method, task)
		}
		if task != "terminate" {
			a = b.Do(t, "POST", at(up), strings.Replace(
				strings.Replace(body, "{", `{"additionalParams":{"refuse":1},`, 1), ",}", "}", 1,
			))
			require.Equal(t, 422, a.Status, "%s: what the driver refuses\n%s", task, a.Body)
			require.Equal(t, []string{"/additionalParams/refuse"}, a.Pointers(), task)
		}
	}

	tests := []struct {
		name, id, task, body string
		status               int
		detail               string
		pointers             []string
	}{
		{"scale without anything", up, "scale", `{}`, 400, "aspectId", []string{"/aspectId", "/type"}},
		{
			"scale sideways", up, "scale", `{"type":"SIDEWAYS","aspectId":"workers"}`, 400, "SCALE_OUT",
			[]string{"/type"},
		},
		{
			"scale by nothing", up, "scale", `{"type":"SCALE_IN","aspectId":"workers","numberOfSteps":0}`, 400, "",
			[]string{"/numberOfSteps"},
		},
		{
			"scale an unknown aspect", up, "scale", `{"type":"SCALE_OUT","aspectId":"nope"}`, 422, "workers",
			[]string{"/aspectId"},
		},
		{
			"scale too far out", up, "scale", `{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":9}`, 422,
			"highest is 3",
			[]string{"/numberOfSteps"},
		},
		{
			"scale too far in", up, "scale", `{"type":"SCALE_IN","aspectId":"workers","numberOfSteps":9}`, 422,
			"lowest is 0",
			[]string{"/numberOfSteps"},
		},
		{
			"scale what has no aspect", single, "scale", `{"type":"SCALE_OUT","aspectId":"workers"}`, 422, "",
			[]string{"/aspectId"},
		},
		{
			"scale to an unknown level", up, "scale_to_level", `{"instantiationLevelId":"nope"}`, 422, "default",
			[]string{"/instantiationLevelId"},
		},
		{
			"scale to an unknown aspect's level", up, "scale_to_level",
			`{"scaleInfo":[{"aspectId":"nope","scaleLevel":1}]}`, 422, "workers",
			[]string{"/scaleInfo/0/aspectId"},
		},
		{
			"scale to two kinds of level", up, "scale_to_level", `{"scaleInfo":[],"instantiationLevelId":"big"}`, 400,
			"",
			[]string{""},
		},
		{
			"change to an unknown flavour", up, "change_flavour", `{"newFlavourId":"nope"}`, 422, "complex",
			[]string{"/newFlavourId"},
		},
		{
			"change to the same flavour", up, "change_flavour", `{"newFlavourId":"simple"}`, 422, "already",
			[]string{"/newFlavourId"},
		},
		{"heal unknown VNFCs", up, "heal", `{"vnfcInstanceId":["a","b"]}`, 422, "no VNFC", []string{
			"/vnfcInstanceId/0", "/vnfcInstanceId/1",
		}},
		{"heal all or not", up, "heal", `{"additionalParams":{"all":"yes"}}`, 422, "boolean", []string{
			"/additionalParams/all",
		}},
		{"start what runs", up, "operate", `{"changeStateTo":"STARTED"}`, 409, "already STARTED", nil},
		{
			"stop in no known way", up, "operate", `{"changeStateTo":"STOPPED","stopType":"NICELY"}`, 400, "",
			[]string{"/stopType"},
		},
		{"connect an unknown CP", up, "change_ext_conn", strings.Replace(good["change_ext_conn"], "masterNode_CP1",
			"CP9", 1), 422, "CP9", []string{"/extVirtualLinks/0/extCps/0/cpdId"}},
		{
			"connect nothing", up, "change_ext_conn", `{"extVirtualLinks":[]}`, 422, "empty",
			[]string{"/extVirtualLinks"},
		},
		{"move to an unknown package", up, "change_vnfpkg", `{"vnfdId":"nope"}`, 422, "nope", []string{"/vnfdId"}},
		{
			"move to where it is", up, "change_vnfpkg", `{"vnfdId":"` + apitest.ClusterID + `"}`, 422, "already",
			[]string{"/vnfdId"},
		},
		{
			"move in an unknown way", up, "change_vnfpkg", `{"vnfdId":"` + apitest.NextID +
				`","additionalParams":{"upgrade_type":"BigBang"}}`, 422, "RollingUpdate",
			[]string{"/additionalParams/upgrade_type"},
		},
		{
			"modify the VIM of what has none", fresh, "", `{"vimConnectionInfo":{"v":{"vimType":"TEST"}}}`, 409,
			"NOT_INSTANTIATED",
			[]string{"/vimConnectionInfo"},
		},
		{
			"modify to a VIM of no type", up, "", `{"vimConnectionInfo":{"v":{"accessInfo":{"a":"b"}}}}`, 422, "",
			[]string{"/vimConnectionInfo/v/vimType"},
		},
		{"modify to no VIM", up, "", `{"vimConnectionInfo":{"vim1":null}}`, 422, "without", []string{
			"/vimConnectionInfo",
		}},
		{"modify to an unknown package", up, "", `{"vnfdId":"nope"}`, 422, "nope", []string{"/vnfdId"}},
		{
			"modify an unknown VNFC", up, "", `{"vnfcInfoModifications":[{"id":"x","vnfcConfigurableProperties":{}}]}`,
			422, "no VNFC",
			[]string{"/vnfcInfoModifications/0/id"},
		},
		{
			"modify with a number that is too large", up, "", `{"extensions":{"a":1e999}}`, 400, "/extensions/a",
			[]string{"/extensions/a"},
		},
		{
			"modify with what is no text", up, "", `{"vnfInstanceName":5,"metadata":[]}`, 400, "string",
			[]string{"/metadata", "/vnfInstanceName"},
		},
		{"modify with another active operation", busy, "", `{"vnfInstanceName":"x"}`, 409, op.ID, nil},
		{"modify what is not there", uuid.NewString(), "", `{}`, 404, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			method, path := "PATCH", instances+"/"+tt.id
			if tt.task != "" {
				method, path = "POST", path+"/"+tt.task
			}
			a := b.Do(t, method, path, tt.body)
			require.Equal(t, tt.status, a.Status, string(a.Body))
			require.Contains(t, a.Problem.Detail, tt.detail)
			got := a.Pointers()
			slices.Sort(got)
			require.Equal(t, tt.pointers, got, string(a.Body))
		})
	}
	a := b.Do(t, "PATCH", instances+"/"+up, `{}`, "Content-Type", "text/plain")
	require.Equal(t, 415, a.Status)
	a = b.Do(t, "PUT", instances+"/"+up, `{}`)
	require.Equal(t, "DELETE, GET, HEAD, PATCH", a.Header.Get("Allow"))
}

func TestTheWorkOfATaskIsTakenUpAgainOrUndone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.cluster(t)
	fails := func(body string) sol.VnfLcmOpOcc {
		b.VIM.FailHalfway(lcm.Errorf(lcm.CodeUpstream, "no valid host was found"))
		defer b.VIM.Fail(nil)
		op := b.started(t, "POST", instances+"/"+id+"/scale", body)
		require.Equal(t, sol.LcmOperationStateFailedTemp, b.Work(t, op.ID))
		return b.show(t, op.ID)
	}
	out := `{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":2}`
	op := fails(out)
	require.Len(t, op.ResourceChanges.AffectedVnfcs, 1, "resource changes are reported after a failure, too")
	require.NotNil(t, op.Links.Rollback)
	require.Equal(t, 202, b.Do(t, "POST", operations+"/"+op.ID+"/rollback", nil).Status)
	require.Equal(t, sol.LcmOperationStateRollingBack, b.show(t, op.ID).OperationState)
	require.Equal(t, sol.LcmOperationStateRolledBack, b.Work(t, op.ID))
	require.Equal(t, map[string]int{"masterNode": 1, "workerNode": 2}, count(b.read(t, id)))

	op = fails(`{"type":"SCALE_IN","aspectId":"workers"}`)
	require.Nil(t, op.Links.Rollback, "removed VNFCs cannot be restored")
	a := b.Do(t, "POST", operations+"/"+op.ID+"/rollback", nil)
	require.Equal(t, 409, a.Status)
	require.Contains(t, a.Problem.Detail, "rolled back")
	require.NotEmpty(t, a.Problem.Hint)
	require.Equal(t, 202, b.Do(t, "POST", operations+"/"+op.ID+"/retry", nil).Status)
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, op.ID))
	require.Equal(t, map[string]int{"masterNode": 1, "workerNode": 1}, count(b.read(t, id)))

	for filter, want := range map[string]int{
		"(eq,operation,SCALE)": 2, "(cont,operation,SCALE);(eq,isCancelPending,true)": 0,
		"(eq,resourceChanges/affectedVnfcs/changeType,REMOVED)": 1,
	} {
		require.Len(t, follow[sol.VnfLcmOpOcc](t, b, fmt.Sprintf("%s?filter=%s", operations, filter)), want, filter)
	}
}
