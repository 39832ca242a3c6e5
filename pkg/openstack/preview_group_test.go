package openstack_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// TestPlanOfGroups: the members of groups that go are those that the operation names.
func TestPlanOfGroups(t *testing.T) {
	t.Parallel()
	k := kinds[1]
	w := running(t, simcloud.StartTest(t, simcloud.Options{}), k)
	w.scale(sol.ScaleTypeOut, k.counts(3))
	require.Equal(t, []string{"Neutron::Port VDU1_CP1-2", "Nova::Server VDU1-2"}, plannedNames(w.preview().Add))
	w.completed()
	oldest := w.vnfc("VDU1", 0)
	w.scale(sol.ScaleTypeIn, k.counts(2))
	w.store.op.Scope.Remove = []string{oldest}
	p := w.preview()
	require.Equal(t, []string{"Neutron::Port VDU1_CP1-0", "Nova::Server VDU1-0"}, plannedNames(p.Remove))
	require.Equal(t, oldest, p.Remove[0].VNFC)
	require.Empty(t, plannedNames(slices.Concat(p.Add, p.Replace, p.Change)))
}

// TestPlanOfAChangeOfFlavour: servers that stay get another size, and only what is more is counted.
func TestPlanOfAChangeOfFlavour(t *testing.T) {
	t.Parallel()
	w := small(t)
	require.NoError(t, w.cloud.SetQuota("nova", map[string]int{"cores": 2, "ram": 10_000}))
	w.toFlavour("big", map[string]int{"VDU1": 1, "VDU2": 1})
	p := w.preview()
	require.Equal(t, []string{"Nova::Server VDU1-0"}, plannedNames(p.Change))
	require.Contains(t, p.Change[0].Detail, "flavor: m1.tiny becomes m1.small")
	require.Contains(t, plannedNames(p.Add), "Nova::Server VDU2-0")
	require.True(t, p.Possible, p.Checks)
}

// TestPlanOfAChangeOfPackage: what the new package has and the old one has not, VNFC by VNFC.
func TestPlanOfAChangeOfPackage(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	w.upgrade(nil)
	p := w.preview()
	require.Equal(t, []string{"Nova::Server VDU4-0"}, plannedNames(p.Add))
	require.Equal(t, []string{"Nova::Server VDU3-0"}, plannedNames(p.Remove))
	require.Equal(
		t, []string{"Nova::Server VDU1-0", "Nova::Server VDU1-1", "Nova::Server VDU2-0"}, plannedNames(p.Change),
	)
	require.Empty(t, p.Replace)
	require.Contains(t, p.Change[0].Detail, "flavor: m1.tiny becomes m1.small; image: ")
	require.Contains(t, p.Change[0].Detail, `metadata: nothing becomes {"generation":"two"}`)
	require.Contains(t, checksIn(p, lcm.CheckOK), "image app")
	require.True(t, p.Possible, p.Checks)
}
