package lcm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// handlers is a mgmt driver with these hooks.
type handlers []lcm.HookHandler

func (handlers) Validate(context.Context, lcm.Request) error { return nil }
func (h handlers) Hooks() []lcm.HookHandler                  { return h }

// TestHookWithoutAHandlerIsRejected: the VNFD names the driver at all hooks, and the driver handles only some. The
// operation must not start.
func TestHookWithoutAHandlerIsRejected(t *testing.T) {
	t.Parallel()
	w := running(t)
	ran := 0
	run := func(context.Context, *lcm.Execution) error { ran++; return nil }
	drivers := mgmt.Registry{"recorder": handlers{
		{Hook: lcm.HookScaleStart}, {Hook: lcm.HookScaleEnd, Run: run}, {Hook: lcm.HookHealStart},
	}}
	w.Services.Mgmt, w.Runner.Planner.Mgmt = drivers, drivers

	w.done(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`)
	require.Equal(t, 1, ran, "a hook without an effect is accepted, and the other one runs")

	_, err := w.do(sol.LcmOperationHeal, `{}`)
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
	require.EqualError(t, err, "the mgmt driver recorder does nothing at heal_end yet")
	_, err = w.preview(sol.LcmOperationHeal, `{}`)
	require.EqualError(t, err, "the mgmt driver recorder does nothing at heal_end yet")
}

// TestMissingDriversAreReportedWithTheOtherFindings: the sender of the request sees all of them at once.
func TestMissingDriversAreReportedWithTheOtherFindings(t *testing.T) {
	t.Parallel()
	w := running(t)
	drivers := mgmt.Registry{"other": handlers{}}
	w.Services.Mgmt = drivers
	const unknown = `the VNFD names the mgmt driver "recorder", which is not built in`

	_, err := w.do(sol.LcmOperationHeal, `{}`)
	require.EqualError(t, err, unknown)
	require.Contains(t, lcm.AsError(err).Hint, lcm.KeyIgnoreMgmtDrivers)

	_, err = w.do(sol.LcmOperationHeal, `{"vnfcInstanceId":["none"]}`)
	e := lcm.AsError(err)
	require.Equal(t, lcm.CodeUnprocessable, e.Code)
	require.Len(t, e.Params, 2, "%v", e)
	require.Equal(t, lcm.InvalidParam{Detail: unknown}, e.Params[0])
	require.Equal(t, "/vnfcInstanceId/0", e.Params[1].Pointer)
	require.Contains(t, e.Hint, lcm.KeyIgnoreMgmtDrivers)
}

// TestPreviewListsTheWorkOfHooks: a user sees the effects of all hooks, in their order.
func TestPreviewListsTheWorkOfHooks(t *testing.T) {
	t.Parallel()
	w := running(t)
	lines := func(lines ...string) func(lcm.Request) []string { return func(lcm.Request) []string { return lines } }
	w.Services.Mgmt = mgmt.Registry{"recorder": handlers{
		{Hook: lcm.HookScaleEnd, Preview: lines("join", "label")}, {Hook: lcm.HookScaleStart, Preview: lines("drain")},
	}}
	p, err := w.preview(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`)
	require.NoError(t, err)
	require.Equal(t, []lcm.PlannedWork{
		{Hook: lcm.HookScaleStart, Driver: "recorder", Detail: "drain"},
		{Hook: lcm.HookScaleEnd, Driver: "recorder", Detail: "join"},
		{Hook: lcm.HookScaleEnd, Driver: "recorder", Detail: "label"},
	}, p.Work)
}

// TestDriverProtectsItsWork: a package that does not name a hook must not keep the driver from protecting its work
// there.
func TestDriverProtectsItsWork(t *testing.T) {
	t.Parallel()
	drivers := mgmt.Registry{
		"cluster": handlers{
			{Hook: lcm.HookInstantiateEnd}, {Hook: lcm.HookScaleStart, Protects: true}, {Hook: lcm.HookScaleEnd},
		},
		"other": handlers{{Hook: lcm.HookScaleStart}},
	}
	driver := func(name string) vnfd.Implementation { return vnfd.Implementation{Name: name} }
	cluster, other, absent := driver("cluster"), driver("other"), driver("none")
	type named = map[string]vnfd.Implementation
	for _, tt := range []struct {
		name string
		lcm  named
		hook lcm.Hook
		want string
	}{
		{"named", named{"scale_end": cluster}, lcm.HookScaleEnd, "cluster"},
		{"protected", named{"instantiate_end": cluster}, lcm.HookScaleStart, "cluster"},
		{"not protected", named{"instantiate_end": cluster}, lcm.HookScaleEnd, ""},
		{"another driver", named{"instantiate_end": cluster, "scale_start": other}, lcm.HookScaleStart, "other"},
		{"an absent driver", named{"heal_end": absent, "instantiate_end": cluster}, lcm.HookScaleStart, "cluster"},
		{"no driver", nil, lcm.HookScaleStart, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			impl, ok := lcm.FindHook(drivers, &vnfd.Flavour{LCM: tt.lcm}, tt.hook)
			require.Equal(t, tt.want != "", ok)
			require.Equal(t, tt.want, impl.Name)
		})
	}
}

// TestHooksOfOperations: the hooks of the operations are those that packages name.
func TestHooksOfOperations(t *testing.T) {
	t.Parallel()
	var hooks []lcm.Hook
	for _, k := range lcm.OperationKinds() {
		if k.Type == reboot {
			continue
		}
		start, end := k.Hooks()
		back, backEnd := k.RollbackHooks()
		hooks = append(hooks, start, end, back, backEnd)
	}
	require.ElementsMatch(t, []lcm.Hook{
		lcm.HookInstantiateStart, lcm.HookInstantiateEnd,
		lcm.HookInstantiateRollbackStart, lcm.HookInstantiateRollbackEnd,
		lcm.HookScaleStart, lcm.HookScaleEnd,
		lcm.HookScaleRollbackStart, lcm.HookScaleRollbackEnd,
		lcm.HookScaleToLevelStart, lcm.HookScaleToLevelEnd,
		lcm.HookScaleToLevelRollbackStart, lcm.HookScaleToLevelRollbackEnd,
		lcm.HookChangeFlavourStart, lcm.HookChangeFlavourEnd,
		lcm.HookChangeFlavourRollbackStart, lcm.HookChangeFlavourRollbackEnd,
		lcm.HookHealStart, lcm.HookHealEnd,
		lcm.HookHealRollbackStart, lcm.HookHealRollbackEnd,
		lcm.HookOperateStart, lcm.HookOperateEnd,
		lcm.HookOperateRollbackStart, lcm.HookOperateRollbackEnd,
		lcm.HookChangeExtConnStart, lcm.HookChangeExtConnEnd,
		lcm.HookChangeExtConnRollbackStart, lcm.HookChangeExtConnRollbackEnd,
		lcm.HookChangeVnfpkgStart, lcm.HookChangeVnfpkgEnd,
		lcm.HookChangeVnfpkgRollbackStart, lcm.HookChangeVnfpkgRollbackEnd,
		lcm.HookCreateSnapshotStart, lcm.HookCreateSnapshotEnd,
		lcm.HookCreateSnapshotRollbackStart, lcm.HookCreateSnapshotRollbackEnd,
		lcm.HookRevertToSnapshotStart, lcm.HookRevertToSnapshotEnd,
		lcm.HookRevertToSnapshotRollbackStart, lcm.HookRevertToSnapshotRollbackEnd,
		lcm.HookModifyInfoStart, lcm.HookModifyInfoEnd,
		lcm.HookModifyInfoRollbackStart, lcm.HookModifyInfoRollbackEnd,
		lcm.HookTerminateStart, lcm.HookTerminateEnd,
		lcm.HookTerminateRollbackStart, lcm.HookTerminateRollbackEnd,
	}, hooks)
}
