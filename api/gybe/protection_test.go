package gybe_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/api/gybe"
	"github.com/gybe-nfv/gybe/api/vnflcm"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const (
	instances  = "/vnflcm/v2/vnf_instances/"
	operations = "/vnflcm/v2/vnf_lcm_op_occs/"
)

func protectionPath(id string) string { return "/gybe/v1/vnf_instances/" + id + "/protection" }

// setupBoth serves our own interface and that of the standard.
func setupBoth(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Domain: apitest.NewDomain(t)}
	b.Server = apitest.Serve(t, func(f *frame.Frame) {
		(&vnflcm.API{Services: b.Services}).Mount(f)
		(&gybe.API{Services: b.Services}).Mount(f)
	})
	return b
}

// protect protects an instance.
func (b *bundle) protect(t *testing.T, id string) {
	t.Helper()
	p := apitest.JSON[gybeapi.Protection](t, b.Do(t, "PUT", protectionPath(id), `{"reason":"billing"}`, "Version", ""))
	require.True(t, p.Protected)
	require.Equal(t, "billing", p.Reason)
	require.False(t, p.Since.IsZero())
}

// TestProtectionOfEveryTask: tasks that delete machines are rejected, the others not, and the plan agrees.
func TestProtectionOfEveryTask(t *testing.T) {
	t.Parallel()
	b := setupBoth(t)
	type task struct {
		body   string
		accept bool
		deed   string
	}
	tasks := map[sol.LcmOperationType][]task{
		sol.LcmOperationInstantiate: nil, // TestProtectionBeforeInstantiation
		sol.LcmOperationTerminate:   {{`{"terminationType":"FORCEFUL"}`, false, "deletes all its machines"}},
		sol.LcmOperationHeal: {
			{`{}`, false, "deletes and recreates"},
			{`{"additionalParams":{"all":true}}`, false, "all its machines"},
			{`{"vnfcInstanceId":["$VNFC"]}`, false, "VNFC workerNode-"},
		},
		sol.LcmOperationScale: {
			{`{"type":"SCALE_OUT","aspectId":"workers"}`, true, ""},
			{`{"type":"SCALE_IN","aspectId":"workers"}`, false, "deletes the machines of VNFC workerNode-"},
		},
		sol.LcmOperationScaleToLevel: {
			{`{"instantiationLevelId":"big"}`, true, ""},
			{`{"instantiationLevelId":"small"}`, false, "deletes the machines"},
			{`{"scaleInfo":[{"aspectId":"workers","scaleLevel":0}]}`, false, "deletes the machines"},
		},
		sol.LcmOperationChangeFlavour: {
			{`{"newFlavourId":"complex"}`, true, ""}, // it only adds masters
		},
		sol.LcmOperationOperate: {
			{`{"changeStateTo":"STOPPED"}`, true, ""},
		},
		sol.LcmOperationChangeExtConn: {{
			`{"extVirtualLinks":[{"id":"l","resourceId":"n",
				"extCps":[{"cpdId":"masterNode_CP1","cpConfig":{"a":{"linkPortId":"p"}}}]}]}`, true, "",
		}},
		sol.LcmOperationChangeVnfpkg: {
			{`{"vnfdId":"` + apitest.NextID + `"}`, false, "replaces the machines of the VNFCs"},
		},
		sol.LcmOperationModifyInfo: {
			{`{"vnfInstanceName":"other"}`, true, ""},
		},
		sol.LcmOperationCreateSnapshot: {
			{`{"vnfSnapshotInfoId":"$EMPTY"}`, true, ""},
		},
		sol.LcmOperationRevertToSnapshot: {
			{`{"vnfSnapshotInfoId":"$SNAPSHOT"}`, false, "deletes and recreates"},
		},
	}
	for _, k := range lcm.OperationKinds() {
		cases, known := tasks[k.Type]
		require.True(t, known, "%s is a new operation: can it delete machines?", k.Type)
		for _, tt := range cases {
			id := b.cluster(t, true)
			b.protect(t, id)
			i, err := b.Store.Instance(t.Context(), id)
			require.NoError(t, err)
			var worker string
			for _, c := range i.Instantiated.VnfcInfo {
				if c.VduID == "workerNode" {
					worker = c.ID
				}
			}
			body := strings.NewReplacer(
				"$VNFC", worker, "$EMPTY", b.snapshot(t), "$SNAPSHOT", b.snapshotOf(t, id),
			).Replace(tt.body)
			path := strings.TrimSuffix(instances+id+"/"+k.Path, "/")
			planned := b.Do(t, "POST", plan,
				`{"vnfInstanceId":"`+id+`","operation":"`+string(k.Type)+`","params":`+body+`}`)
			got := b.Do(t, k.Method(), path, body)
			if tt.accept {
				require.Equal(t, 200, planned.Status, "%s %s: %s", k.Type, body, planned.Body)
				require.Equal(t, 202, got.Status, "%s %s: %s", k.Type, body, got.Body)
				require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, got.LocationID(t)))
				after, err := b.Store.Instance(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, i.Protection, after.Protection, "%s: the protection outlives operations", k.Type)
				continue
			}
			for _, a := range []apitest.Answer{planned, got} {
				require.Equal(t, 409, a.Status, "%s %s: %s", k.Type, body, a.Body)
				require.Equal(t, "VNF instance is protected", a.Problem.Title)
				require.Contains(t, a.Problem.Detail, tt.deed)
				require.Contains(t, a.Problem.Detail, "billing")
				require.Contains(t, a.Problem.Hint, "gybe vnf unprotect "+id)
			}

			require.Equal(t, 204, b.Do(t, "DELETE", protectionPath(id), nil).Status)
			got = b.Do(t, k.Method(), path, body)
			require.Equal(t, 202, got.Status, "%s %s without the protection: %s", k.Type, body, got.Body)
		}
	}
}

func TestProtectionOfFlavourThatRemovesMachines(t *testing.T) {
	t.Parallel()
	b := setupBoth(t)
	id := b.cluster(t, true)
	op, err := b.Submit(t, id, sol.LcmOperationChangeFlavour, sol.ChangeVnfFlavourRequest{NewFlavourID: "complex"})
	require.NoError(t, err)
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, op.ID))
	b.protect(t, id)
	a := b.Do(t, "POST", instances+id+"/change_flavour", `{"newFlavourId":"simple"}`)
	require.Equal(t, 409, a.Status, string(a.Body))
	require.Contains(t, a.Problem.Detail, "deletes the machines of the VNFCs masterNode-")
}

// TestProtectionBeforeInstantiation: a protected instance can be instantiated, but is not deleted, and nothing that an
// earlier instantiation has left.
func TestProtectionBeforeInstantiation(t *testing.T) {
	t.Parallel()
	b := setupBoth(t)
	id := b.cluster(t, false)
	b.protect(t, id)
	a := b.Do(t, "DELETE", instances+id, nil)
	require.Equal(t, 409, a.Status)
	require.Contains(t, a.Problem.Detail, "it is not deleted")

	b.VIM.FailHalfway(lcm.Errorf(lcm.CodeUpstream, "no room"))
	a = b.Do(t, "POST", instances+id+"/instantiate", apitest.Params())
	require.Equal(t, 202, a.Status, string(a.Body))
	op := a.LocationID(t)
	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "no room"))
	require.Equal(t, sol.LcmOperationStateFailedTemp, b.Work(t, op))
	require.Equal(t, 200, b.Do(t, "POST", operations+op+"/fail", nil).Status)
	b.VIM.Fail(nil)

	for _, send := range []func() apitest.Answer{
		func() apitest.Answer { return b.Do(t, "POST", instances+id+"/instantiate", apitest.Params()) },
		func() apitest.Answer {
			return b.Do(t, "DELETE", "/gybe/v1/vnf_instances/"+id+"/leftovers", nil)
		},
		func() apitest.Answer { return b.Do(t, "DELETE", instances+id, nil) },
	} {
		a := send()
		require.Equal(t, 409, a.Status, string(a.Body))
		require.Equal(t, "VNF instance is protected", a.Problem.Title)
	}
	require.Equal(t, 200, b.Do(t, "GET", "/gybe/v1/vnf_instances/"+id+"/leftovers", nil).Status, "listing is harmless")
	require.Equal(t, 204, b.Do(t, "DELETE", protectionPath(id), nil).Status)
	require.Equal(t, 200, b.Do(t, "DELETE", "/gybe/v1/vnf_instances/"+id+"/leftovers", nil).Status)
	require.Equal(t, 204, b.Do(t, "DELETE", instances+id, nil).Status)
}

// TestProtectionOfRetryAndRollback: operations from before the protection do not delete more machines by a retry, nor
// by a rollback, unless the operation itself has created them.
func TestProtectionOfRetryAndRollback(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		op              sol.LcmOperationType
		body            any
		retry, rollback int
	}{
		"terminate": {sol.LcmOperationTerminate, sol.TerminateVnfRequest{TerminationType: "FORCEFUL"}, 409, 409},
		"heal":      {sol.LcmOperationHeal, sol.HealVnfRequest{}, 409, 409},
		"scale in": {
			sol.LcmOperationScale, sol.ScaleVnfRequest{Type: sol.ScaleTypeIn, AspectID: "workers"}, 409, 409,
		},
		"scale out": {
			sol.LcmOperationScale, sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "workers"}, 202, 202,
		},
		"change of package": {
			sol.LcmOperationChangeVnfpkg, sol.ChangeCurrentVnfPkgRequest{VnfdID: apitest.NextID}, 409, 409,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupBoth(t)
			for _, verb := range []string{"retry", "rollback"} {
				id := b.cluster(t, true)
				b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "no room"))
				op, err := b.Submit(t, id, tt.op, tt.body)
				require.NoError(t, err)
				b.protect(t, id) // while the operation is active
				require.Equal(t, sol.LcmOperationStateFailedTemp, b.Work(t, op.ID))
				b.VIM.Fail(nil)
				want := map[string]int{"retry": tt.retry, "rollback": tt.rollback}[verb]
				a := b.Do(t, "POST", operations+op.ID+"/"+verb, nil)
				require.Equal(t, want, a.Status, "%s: %s", verb, a.Body)
				if want == 409 {
					require.Equal(t, 200, b.Do(t, "POST", operations+op.ID+"/fail", nil).Status, "always possible")
				}
			}
		})
	}
}

// TestProtectionResource: the protection of its own, in the instance of the standard, and in the list.
func TestProtectionResource(t *testing.T) {
	t.Parallel()
	b := setupBoth(t)
	id := b.cluster(t, true)
	links := func() sol.VnfInstanceLinks {
		one := apitest.JSON[sol.VnfInstance](t, b.Do(t, "GET", instances+id, nil))
		list := apitest.JSON[[]sol.VnfInstance](t, b.Do(t, "GET", strings.TrimSuffix(instances, "/"), nil))
		require.Equal(t, one.Links, list[0].Links)
		return *one.Links
	}
	get := func() gybeapi.Protection {
		return apitest.JSON[gybeapi.Protection](t, b.Do(t, "GET", protectionPath(id), nil))
	}
	require.Equal(t, gybeapi.Protection{}, get())
	l := links()
	require.Nil(t, l.Protection)
	require.NotNil(t, l.Terminate)
	etag := b.Do(t, "GET", instances+id, nil).Header.Get("ETag")
	require.Equal(t, 304, b.Do(t, "GET", instances+id, nil, "If-None-Match", etag).Status)

	b.protect(t, id)
	first := get()
	l = links()
	require.Equal(t, apitest.PublicURL+protectionPath(id), l.Protection.Href)
	require.Nil(t, l.Terminate, "a task that is rejected has no link")
	require.Nil(t, l.Heal)
	require.NotNil(t, l.Scale)
	require.Equal(t, 200, b.Do(t, "GET", instances+id, nil, "If-None-Match", etag).Status, "it has changed")
	b.protect(t, id)
	require.Equal(t, first, get(), "the same again changes nothing")
	a := b.Do(t, "PUT", protectionPath(id), `{}`)
	require.Equal(t, 200, a.Status)
	require.Empty(t, get().Reason)
	require.Equal(t, 400, b.Do(t, "PUT", protectionPath(id), `{"reason":1}`).Status)
	require.Equal(t, 400,
		b.Do(t, "PUT", protectionPath(id), `{"reason":"`+strings.Repeat("x", 1001)+`"}`).Status)

	for range 2 {
		require.Equal(t, 204, b.Do(t, "DELETE", protectionPath(id), nil).Status)
		require.False(t, get().Protected)
	}
	for _, wrong := range []string{uuid.NewString(), "x"} {
		require.Equal(t, 404, b.Do(t, "GET", protectionPath(wrong), nil).Status)
		require.Equal(t, 404, b.Do(t, "PUT", protectionPath(wrong), `{}`).Status)
		require.Equal(t, 404, b.Do(t, "DELETE", protectionPath(wrong), nil).Status)
	}
}

// TestProtectionDuringAnAdmission: when protect and terminate are sent at the same time, either the termination is
// rejected, or it was admitted before the protection.
func TestProtectionDuringAnAdmission(t *testing.T) {
	t.Parallel()
	b := setupBoth(t)
	for range 10 {
		id := b.cluster(t, true)
		start := make(chan struct{})
		var wg sync.WaitGroup
		var protected, terminated apitest.Answer
		wg.Go(func() {
			<-start
			protected = b.Do(t, "PUT", protectionPath(id), `{}`)
		})
		wg.Go(func() {
			<-start
			terminated = b.Do(t, "POST", instances+id+"/terminate", `{"terminationType":"FORCEFUL"}`)
		})
		close(start)
		wg.Wait()
		require.Equal(t, 200, protected.Status)
		i, err := b.Store.Instance(t.Context(), id)
		require.NoError(t, err)
		require.NotNil(t, i.Protection)
		ops, err := b.Store.Operations(t.Context(), lcm.Query{InstanceID: id, States: lcm.ActiveStates})
		require.NoError(t, err)
		if terminated.Status == 409 {
			require.Empty(t, ops)
			continue
		}
		require.Equal(t, 202, terminated.Status)
		require.Len(t, ops, 1)
	}
}

// TestProtectionIsDecidedWithTheInstanceLocked: a protection that is stored after the first check of a task is found by
// the second one, in the transaction of the admission.
func TestProtectionIsDecidedWithTheInstanceLocked(t *testing.T) {
	t.Parallel()
	b := setupBoth(t)
	id := b.cluster(t, true)
	task, err := lcm.ParseTask(sol.LcmOperationTerminate, []byte(`{"terminationType":"FORCEFUL"}`))
	require.NoError(t, err)
	decide, protected := task.Decide, false
	task.Decide = func(a *lcm.Admission) error {
		if err := decide(a); err != nil || protected {
			return err
		}
		protected = true // after the instance was read, and before it is locked
		return b.Store.SetProtection(t.Context(), id, &lcm.Protection{Since: lcm.SystemClock{}.Now()})
	}
	_, err = b.Service.Submit(t.Context(), id, task)
	require.ErrorContains(t, err, "deletes all its machines")
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
}

// snapshot creates an empty VNF snapshot.
func (b *bundle) snapshot(t *testing.T) string {
	t.Helper()
	d, err := b.Service.CreateSnapshot(t.Context(), sol.CreateVnfSnapshotInfoRequest{})
	require.NoError(t, err)
	return d.ID
}

// snapshotOf takes a snapshot of an instance.
func (b *bundle) snapshotOf(t *testing.T, instanceID string) string {
	t.Helper()
	id := b.snapshot(t)
	op, err := b.Submit(
		t, instanceID, sol.LcmOperationCreateSnapshot, sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: id},
	)
	require.NoError(t, err)
	require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, op.ID))
	return id
}
