package lcm_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

var boom = lcm.Errorf(lcm.CodeUpstream, "no room")

// affected counts the VNFCs that an operation says it has added and removed.
func affected(op *lcm.Operation) (added, removed int) {
	if op.ResourceChanges == nil {
		return 0, 0
	}
	for _, a := range op.ResourceChanges.AffectedVnfcs {
		switch a.ChangeType {
		case sol.ChangeTypeAdded:
			added++
		case sol.ChangeTypeRemoved:
			removed++
		default:
		}
	}
	return added, removed
}

func TestEveryOperationDoesWhatItWasAskedFor(t *testing.T) {
	t.Parallel()
	w := running(t)
	first := w.vnfcs("workerNode")
	require.Equal(t, 1, w.level("workers"))

	op := w.done(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	require.Equal(t, 2, w.level("workers"))
	require.Equal(t, []string{"scale_start 1.0 3", "scale_end 1.0 4"}, w.Hooks.Take())
	added, removed := affected(op)
	require.Equal(t, []int{1, 0}, []int{added, removed})
	require.Equal(t, &lcm.Scope{
		Flavour: "simple", ScaleLevels: map[string]int{"workers": 2},
		Counts: map[string]int{"masterNode": 1, "workerNode": 3}, Add: map[string]int{"workerNode": 1},
	}, op.Scope)

	second := w.vnfcs("workerNode")
	op = w.done(sol.LcmOperationScale, `{"type":"SCALE_IN","aspectId":"workers","numberOfSteps":2}`)
	require.Equal(t, second[:2], op.Scope.Remove, "the highest index first")
	require.Equal(t, first[1:], w.vnfcs("workerNode"))
	require.Equal(t, 0, w.level("workers"))
	w.Hooks.Take()

	w.done(sol.LcmOperationScaleToLevel, `{"instantiationLevelId":"big"}`)
	require.Equal(t, 3, w.level("workers"))
	w.done(sol.LcmOperationScaleToLevel, `{"scaleInfo":[{"aspectId":"workers","scaleLevel":1}]}`)
	require.Len(t, w.vnfcs("workerNode"), 2)
	require.Equal(t, []string{
		"scale_to_level_start 1.0 2", "scale_to_level_end 1.0 5", "scale_to_level_start 1.0 5",
		"scale_to_level_end 1.0 3",
	}, w.Hooks.Take())

	old := w.vnfcs("")
	op = w.done(sol.LcmOperationHeal, `{"vnfcInstanceId":["`+old[1]+`","`+old[1]+`"]}`)
	require.Equal(t, []string{old[1]}, op.Scope.VNFCs)
	require.False(t, op.Scope.Whole)
	added, removed = affected(op)
	require.Equal(t, []int{1, 1}, []int{added, removed})
	require.NotContains(t, w.vnfcs(""), old[1])
	op = w.done(sol.LcmOperationHeal, `{"additionalParams":{"all":true}}`)
	require.True(t, op.Scope.Whole)
	require.Len(t, op.Scope.VNFCs, 3)
	w.Hooks.Take()

	w.done(sol.LcmOperationOperate, `{"changeStateTo":"STOPPED","stopType":"GRACEFUL","gracefulStopTimeout":1}`)
	require.Equal(t, sol.VnfOperationalStateStopped, w.instance().Instantiated.VnfState)
	w.done(sol.LcmOperationChangeExtConn, tasks[sol.LcmOperationChangeExtConn])
	require.Equal(t, sol.VnfOperationalStateStopped, w.instance().Instantiated.VnfState, "what is stopped stays so")
	w.done(sol.LcmOperationOperate, `{"changeStateTo":"STARTED"}`)
	require.Equal(t, sol.VnfOperationalStateStarted, w.instance().Instantiated.VnfState)
	require.Equal(t, []string{
		"operate_start 1.0 3", "operate_end 1.0 3", "change_external_connectivity_start 1.0 3",
		"change_external_connectivity_end 1.0 3", "operate_start 1.0 3", "operate_end 1.0 3",
	}, w.Hooks.Take())

	op = w.done(sol.LcmOperationChangeFlavour, `{"newFlavourId":"complex","extensions":{"e":1},"vnfConfigurableProperties":{"p":true},"additionalParams":{"new":1,"nfv":{"VDU":{}}}}`)
	i := w.instance()
	require.Equal(t, "complex", i.Instantiated.FlavourID)
	require.Len(t, w.vnfcs("masterNode"), 3)
	require.Equal(
		t, []sol.ScaleInfo{{AspectID: "masters"}, {AspectID: "workers", ScaleLevel: 1}}, i.Instantiated.ScaleStatus,
	)
	require.Equal(t, []sol.ScaleInfo{{AspectID: "masters", ScaleLevel: 2}, {AspectID: "workers", ScaleLevel: 3}},
		i.Instantiated.MaxScaleLevels)
	require.Equal(t, &sol.VnfInfoModifications{
		Extensions: sol.KeyValuePairs{"e": 1.0}, VnfConfigurableProperties: sol.KeyValuePairs{"p": true},
	}, op.ChangedInfo)
	require.Equal(t, "1", string(i.Params.Member("new")))
	require.Nil(t, i.Params.Member("nfv"), "is remembered by the VIM")
	require.NotNil(t, i.Params.Member("nested"), "of the instantiation")
	w.Hooks.Take()

	op = w.done(sol.LcmOperationChangeVnfpkg, `{"vnfdId":"`+apitest.NextID+
		`","additionalParams":{"upgrade_type":"RollingUpdate","vdu_params":[{"vdu_id":"workerNode"}]}}`)
	i = w.instance()
	require.Equal(t, []string{apitest.NextID, "2.0", "2.0", "Cluster"},
		[]string{i.VnfdID, i.VnfdVersion, i.SoftwareVersion, i.ProductName})
	require.Equal(t, &sol.ModificationsTriggeredByVnfPkgChange{
		VnfdID: apitest.NextID, VnfdVersion: "2.0", VnfSoftwareVersion: "2.0",
	}, op.Modifications)
	require.Nil(t, op.ChangedInfo)
	require.Nil(t, i.Params.Member("upgrade_type"))
	added, removed = affected(op)
	require.Equal(t, []int{2, 2}, []int{added, removed}, "only the workers")
	require.Equal(t, []string{"change_current_package_start 2.0 5", "change_current_package_end 2.0 5"}, w.Hooks.Take())
	require.Contains(t, w.VIM.Calls(), "change CHANGE_VNFPKG with 2.0")

	w.done(sol.LcmOperationTerminate, tasks[sol.LcmOperationTerminate])
	i = w.instance()
	require.Empty(t, i.Params)
	require.Nil(t, i.VimConnections)
	require.Contains(t, i.PreviousVims, "vim1", "for leftovers")
}

func TestARollbackLeadsBack(t *testing.T) {
	t.Parallel()
	for task, body := range tasks {
		if task == sol.LcmOperationHeal || task == sol.LcmOperationTerminate {
			continue
		}
		t.Run(string(task), func(t *testing.T) {
			t.Parallel()
			w := running(t)
			before := w.instance()
			end := map[sol.LcmOperationType]string{
				"SCALE": "scale", "SCALE_TO_LEVEL": "scale_to_level", "CHANGE_FLAVOUR": "change_flavour",
				"OPERATE": "operate", "CHANGE_EXT_CONN": "change_external_connectivity",
				"CHANGE_VNFPKG": "change_current_package", "MODIFY_INFO": "modify_information",
			}[task]
			w.Hooks.Fail(end+"_end", boom)
			op := w.failed(task, body)
			require.Contains(t, op.Error.Detail, "no room")
			require.Equal(t, end+"_end", op.Phase)
			require.Equal(t, 1, op.Try)
			w.Hooks.Take()

			op = w.steered(op, lcm.EventRollback, sol.LcmOperationStateRolledBack)
			require.Equal(t, 2, op.Try)
			after := w.instance()
			after.Version, after.Updated = before.Version, before.Updated
			require.Equal(t, before, after)
			hooks := w.Hooks.Take()
			require.Len(t, hooks, 2)
			require.Contains(t, hooks[0], end+"_rollback_start 1.0", "the rollback's hooks see the old package")
			require.Contains(t, hooks[1], end+"_rollback_end 1.0 3")
			require.Nil(t, op.ChangedInfo)
			require.Nil(t, op.Modifications)
			require.Nil(t, op.ResourceChanges)
			require.Zero(t, beforeOf(t, w, op.ID))
		})
	}
}

func TestARetryGoesOnWhereItFailed(t *testing.T) {
	t.Parallel()
	for task, body := range tasks {
		if task == sol.LcmOperationTerminate {
			continue
		}
		t.Run(string(task), func(t *testing.T) {
			t.Parallel()
			w := running(t)
			w.VIM.FailHalfway(boom)
			if task == sol.LcmOperationModifyInfo {
				w.Hooks.Fail("modify_information_end", boom)
			}
			op := w.failed(task, body)
			w.VIM.Fail(nil)
			w.Hooks.Fail("modify_information_end", nil)
			w.Hooks.Take()
			op = w.steered(op, lcm.EventRetry, sol.LcmOperationStateCompleted)
			require.Equal(t, 2, op.Try)
			require.Nil(t, op.Error)
			require.Len(t, w.Hooks.Take(), 1, "what was done is not done again")
		})
	}
}

// beforeOf is the size in bytes of what the database keeps of the instance from before an operation.
func beforeOf(t *testing.T, w *world, id string) int {
	t.Helper()
	var n int
	require.NoError(
		t,
		w.Pool.QueryRow(t.Context(), "SELECT coalesce(length(before), 0) FROM vnf_lcm_op_occ WHERE id = $1",
			id).Scan(&n),
	)
	return n
}

func TestWhatWasBeforeIsKeptOnlyUntilTheEnd(t *testing.T) {
	t.Parallel()
	w := running(t)
	w.VIM.Fail(boom)
	op := w.failed(sol.LcmOperationHeal, `{}`)
	require.Positive(t, beforeOf(t, w, op.ID))
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)
	require.Zero(t, beforeOf(t, w, op.ID))
	w.VIM.Fail(nil)
	op = w.done(sol.LcmOperationHeal, `{}`)
	require.Zero(t, beforeOf(t, w, op.ID))
}

func TestAfterAFailureTheInstanceSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	w := running(t)
	had := w.vnfcs("")
	w.VIM.FailHalfway(boom)
	op := w.failed(sol.LcmOperationScaleToLevel, `{"instantiationLevelId":"big"}`) // two more, one is made
	require.Len(t, w.vnfcs(""), 4)
	require.Equal(t, 2, w.level("workers"), "the level that is reached")
	added, removed := affected(op)
	require.Equal(t, []int{1, 0}, []int{added, removed})

	w.VIM.Fail(nil)
	w.steered(op, lcm.EventRollback, sol.LcmOperationStateRolledBack)
	require.ElementsMatch(t, had, w.vnfcs(""))
	require.Equal(t, 1, w.level("workers"))

	w.VIM.FailHalfway(boom)
	w.VIM.FailInventory(lcm.Errorf(lcm.CodeUnavailable, "the VIM is away").AsTransient())
	op = w.failed(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	require.Contains(t, op.Error.Detail, "no room", "not the inventory's")
	require.ElementsMatch(t, had, w.vnfcs(""), "the last known")

	w.VIM.Fail(nil)
	op = w.steered(op, lcm.EventRetry, sol.LcmOperationStateFailedTemp)
	require.Equal(t, "inventory", op.Phase)
	calls := len(slices.DeleteFunc(w.VIM.Calls(), func(c string) bool { return c != "inventory" }))
	op = w.steered(op, lcm.EventRetry, sol.LcmOperationStateFailedTemp)
	again := len(slices.DeleteFunc(w.VIM.Calls(), func(c string) bool { return c != "inventory" }))
	require.Equal(t, calls+2, again, "two tries of the phase, and no look after an inventory that failed")
	require.Contains(t, op.Error.Detail, "away")
}

func TestConnectionsOfAnOperationThatIsTakenBackAreTakenBackToo(t *testing.T) {
	t.Parallel()
	w := running(t)
	before := w.instance().VimConnections
	w.VIM.Fail(boom)
	op := w.failed(sol.LcmOperationChangeExtConn, `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[]}],"vimConnectionInfo":{"vim1":{"vimType":"TEST","extra":{"x":1}}}}`)
	require.NotEqual(t, before, w.instance().VimConnections)
	w.VIM.Fail(nil)
	w.steered(op, lcm.EventRollback, sol.LcmOperationStateRolledBack)
	require.Equal(t, before, w.instance().VimConnections)
}

func TestScaleInCannotBeTakenBack(t *testing.T) {
	t.Parallel()
	w := running(t)
	w.VIM.Fail(boom)
	op := w.failed(sol.LcmOperationScale, `{"type":"SCALE_IN","aspectId":"workers"}`)
	require.Equal(t, []lcm.Event{lcm.EventRetry, lcm.EventFail}, lcm.Allowed(op))
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventRollback)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
}

func TestARefusedGrantLeavesTheInstanceAsItWas(t *testing.T) {
	t.Parallel()
	w := running(t)
	before := w.instance()
	w.Runner.Planner.Grantor = refusing{}
	op, err := w.do(sol.LcmOperationChangeExtConn, `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[]}],"vimConnectionInfo":{"vim1":{"vimType":"TEST","extra":{"x":1}}}}`)
	require.NoError(t, err)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.Work(t, op.ID))
	require.Equal(t, before.VimConnections, w.instance().VimConnections)
	fresh := w.create()
	w.id = fresh
	op, err = w.do(sol.LcmOperationInstantiate, string(encode(t, apitest.Params())))
	require.NoError(t, err)
	require.NotEmpty(t, w.instance().Params)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.Work(t, op.ID))
	require.Empty(t, w.instance().Params)
	require.Nil(t, w.instance().VimConnections)
}

func TestOnlyTheKeysOfMachinesThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.done(sol.LcmOperationModifyInfo, `{"metadata":{"other":1}}`)
	w.instantiate()
	for _, id := range w.vnfcs("") {
		_, err := w.Pool.Exec(
			t.Context(), "INSERT INTO ssh_host_key (vnfc_id, algorithm, key, source) VALUES ($1, 'a', 'k', 's')",
			w.id+"/"+id,
		)
		require.NoError(t, err)
	}
	known := func() (ids []string) {
		require.NoError(
			t, w.Pool.QueryRow(
				t.Context(), "SELECT coalesce(array_agg(split_part(vnfc_id, '/', 2)), '{}') FROM ssh_host_key",
			).Scan(&ids),
		)
		return ids
	}
	all := w.vnfcs("")
	w.done(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	require.ElementsMatch(t, all, known())
	healed := w.vnfcs("masterNode")
	w.done(sol.LcmOperationHeal, `{"vnfcInstanceId":["`+healed[0]+`"]}`)
	require.NotContains(t, known(), healed[0])
	require.Len(t, known(), 2)
	w.done(sol.LcmOperationTerminate, tasks[sol.LcmOperationTerminate])
	require.Empty(t, known())
}

func TestParametersOfTheInstantiationNeedNotBeRepeated(t *testing.T) {
	t.Parallel()
	w := running(t)
	_, err := w.do(
		sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers","additionalParams":{"driver":"bad"}}`,
	)
	require.Equal(t, []string{"/additionalParams/driver"}, pointers(err))
	w.done(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers","additionalParams":{"here":1,"nested":{"username":"root"}}}`)
	op := w.held(
		sol.LcmOperationScale,
		`{"type":"SCALE_IN","aspectId":"workers","additionalParams":{"nested":{"username":"root"}}}`,
	)
	c, err := w.Store.Claim(t.Context(), op.ID, "n")
	require.NoError(t, err)
	params, err := (&lcm.Execution{Op: c.Op, Instance: c.Instance}).Params()
	require.NoError(t, err)
	require.Equal(
		t, sol.KeyValuePairs{"nested": map[string]any{"username": "root", "password": apitest.Password}}, params,
	)
}
