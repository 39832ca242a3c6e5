package gybe_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const plan = "/gybe/v1/plan"

// cluster makes a cluster of one master and two workers, instantiated or not.
func (b *bundle) cluster(t *testing.T, instantiated bool) string {
	t.Helper()
	i, err := b.Service.CreateInstance(
		t.Context(), sol.CreateVnfRequest{VnfdID: apitest.ClusterID, VnfInstanceName: "c"},
	)
	require.NoError(t, err)
	if instantiated {
		op, err := b.Submit(t, i.ID, sol.LcmOperationInstantiate, apitest.Params())
		require.NoError(t, err)
		require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, op.ID))
	}
	return i.ID
}

func TestAPlanSaysWhatAnOperationWouldDoAndDoesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.cluster(t, true)
	before, err := b.Store.Instance(t.Context(), id)
	require.NoError(t, err)
	asked := b.VIM.Calls()

	p := apitest.JSON[gybeapi.Preview](t, b.Do(t, "POST", plan, `{"vnfInstanceId":"`+id+
		`","operation":"SCALE","params":{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":2}}`, "Version", ""))
	require.Equal(t, sol.LcmOperationScale, p.Operation)
	require.True(t, p.Possible)
	require.Len(t, p.Add, 2)
	require.Equal(t, "workerNode", p.Add[0].VDU)
	require.Empty(t, p.Remove)

	p = apitest.JSON[gybeapi.Preview](t, b.Do(t, "POST", plan,
		`{"vnfInstanceId":"`+id+`","operation":"SCALE_TO_LEVEL","params":{"instantiationLevelId":"small"}}`))
	require.Len(t, p.Remove, 1)

	for op, params := range map[string]string{
		"CHANGE_FLAVOUR": `{"newFlavourId":"complex"}`, "OPERATE": `{"changeStateTo":"STOPPED"}`,
		"TERMINATE": `{"terminationType":"FORCEFUL"}`, "CHANGE_VNFPKG": `{"vnfdId":"` + apitest.NextID + `"}`,
		"MODIFY_INFO":     `{"vnfInstanceName":null}`,
		"CHANGE_EXT_CONN": `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[{"cpdId":"masterNode_CP1","cpConfig":{"a":{"linkPortId":"p"}}}]}]}`,
	} {
		a := b.Do(t, "POST", plan, `{"vnfInstanceId":"`+id+`","operation":"`+op+`","params":`+params+`}`)
		require.Equal(t, 200, a.Status, "%s: %s", op, a.Body)
		require.NotContains(t, string(a.Body), "null", op)
	}
	require.Equal(t, 200, b.Do(t, "POST", plan, `{"vnfInstanceId":"`+id+`","operation":"HEAL"}`).Status,
		"an empty body needs not be there")

	fresh := b.cluster(t, false)
	raw, err := json.Marshal(apitest.Params())
	require.NoError(t, err)
	a := b.Do(
		t, "POST", plan, gybeapi.PlanRequest{VnfInstanceID: fresh, Operation: sol.LcmOperationInstantiate, Params: raw},
	)
	require.Equal(t, 200, a.Status, string(a.Body))
	require.NotContains(t, string(a.Body), apitest.Password)
	require.NotContains(t, b.Log.String(), apitest.Password)

	require.Equal(t, asked, b.VIM.Calls())
	after, err := b.Store.Instance(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, before, after)
	ops, err := b.Store.Operations(t.Context(), lcm.Query{InstanceID: id})
	require.NoError(t, err)
	require.Len(t, ops, 1, "no operation was admitted")
}

func TestAPlanRefusesWhatTheTaskRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	up, fresh, busy := b.cluster(t, true), b.cluster(t, false), b.cluster(t, true)
	_, err := b.Submit(t, busy, sol.LcmOperationHeal, sol.HealVnfRequest{})
	require.NoError(t, err)
	body := func(id, op, params string) string {
		return `{"vnfInstanceId":"` + id + `","operation":"` + op + `","params":` + params + `}`
	}
	for name, tt := range map[string]struct {
		body     string
		status   int
		pointers []string
	}{
		"nothing":                     {`{}`, 400, []string{"/operation", "/vnfInstanceId"}},
		"an operation without a plan": {body(up, "REBOOT", `{}`), 400, []string{"/operation"}},
		"an unknown instance":         {body(uuid.NewString(), "HEAL", `{}`), 404, nil},
		"an instance that is none":    {body("x", "HEAL", `{}`), 404, nil},
		"params that are none":        {body(up, "HEAL", `[]`), 400, []string{"/params"}},
		"params that miss something":  {body(up, "SCALE", `{"type":"SCALE_OUT"}`), 400, []string{"/params/aspectId"}},
		"params of no task at all": {
			`{"vnfInstanceId":"` + up + `","operation":"SCALE"}`, 400, []string{"/params/aspectId", "/params/type"},
		},
		"params that cannot work": {
			body(up, "SCALE", `{"type":"SCALE_OUT","aspectId":"nope"}`), 422, []string{"/params/aspectId"},
		},
		"what the driver refuses": {
			body(up, "HEAL", `{"additionalParams":{"refuse":1}}`), 422, []string{"/params/additionalParams/refuse"},
		},
		"the wrong state":          {body(fresh, "HEAL", `{}`), 409, nil},
		"another active operation": {body(busy, "HEAL", `{}`), 409, nil},
	} {
		a := b.Do(t, "POST", plan, tt.body)
		require.Equal(t, tt.status, a.Status, "%s: %s", name, a.Body)
		require.ElementsMatch(t, tt.pointers, a.Pointers(), name)
		for _, p := range tt.pointers {
			require.Contains(t, a.Problem.Detail, p, name)
		}
	}
	require.Equal(t, 415, b.Do(t, "POST", plan, `a: b`, "Content-Type", "application/yaml").Status)
	require.Equal(t, 406, b.Do(t, "POST", plan, `{}`, "Accept", "text/html").Status)
	a := b.Do(t, "GET", plan, nil)
	require.Equal(t, 405, a.Status)
	require.Equal(t, "POST", a.Header.Get("Allow"))

	b.VIM.Fail(lcm.Errorf(lcm.CodeUnavailable, "Keystone does not answer"))
	a = b.Do(t, "POST", plan, body(up, "HEAL", `{}`))
	require.Equal(t, 503, a.Status)
	require.Contains(t, a.Problem.Detail, "Keystone")
}

func TestLeftoversAreListedAndRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.cluster(t, true)
	path := "/gybe/v1/vnf_instances/" + id + "/leftovers"

	a := b.Do(t, "GET", path, nil, "Version", "")
	require.Equal(t, 200, a.Status)
	require.JSONEq(t, `{"extra":[],"missing":[]}`, string(a.Body))

	// A scaling that breaks off, and cannot even look at what it has made, leaves something behind.
	b.VIM.FailHalfway(lcm.Errorf(lcm.CodeUpstream, "no room"))
	b.VIM.FailInventory(lcm.Errorf(lcm.CodeUpstream, "no answer"))
	op, err := b.Submit(t, id, sol.LcmOperationScale, sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "workers"})
	require.NoError(t, err)
	require.Equal(t, sol.LcmOperationStateFailedTemp, b.Work(t, op.ID))
	b.VIM.Fail(nil)
	b.VIM.FailInventory(nil)

	l := apitest.JSON[gybeapi.Leftovers](t, b.Do(t, "GET", path, nil))
	require.Len(t, l.Extra, 1)
	require.Equal(t, "TEST::Machine", l.Extra[0].Type)
	a = b.Do(t, "DELETE", path, nil)
	require.Equal(t, 409, a.Status, "while an operation is active, leftovers are unknown")
	require.Contains(t, a.Problem.Detail, op.ID)

	_, err = b.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)
	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "in use"))
	require.Equal(t, 502, b.Do(t, "DELETE", path, nil).Status)
	b.VIM.Fail(nil)
	r := apitest.JSON[gybeapi.RemovedLeftovers](t, b.Do(t, "DELETE", path, nil))
	require.Equal(t, l.Extra, r.Removed)
	require.Empty(t, r.Left)
	a = b.Do(t, "DELETE", path, nil)
	require.JSONEq(t, `{"removed":[],"left":[]}`, string(a.Body), "again is no harm")

	for _, wrong := range []string{uuid.NewString(), "x"} {
		for _, method := range []string{"GET", "DELETE"} {
			require.Equal(t, 404, b.Do(t, method, "/gybe/v1/vnf_instances/"+wrong+"/leftovers", nil).Status)
		}
	}
	a = b.Do(t, "POST", path, nil)
	require.Equal(t, 405, a.Status)
	require.Equal(t, "DELETE, GET, HEAD", a.Header.Get("Allow"))
}
