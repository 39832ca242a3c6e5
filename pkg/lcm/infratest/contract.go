package infratest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Contract tests everything that the domain expects of an infra driver, and that does not depend on its VIM.
func Contract(t *testing.T, h Harness) {
	t.Helper()
	tests := map[string]func(t *testing.T, h Harness){
		"Instantiate": testInstantiate, "InstantiateSurvivesDeath": testInstantiateSurvivesDeath,
		"Scale": testScale, "ScaleSurvivesDeath": testScaleSurvivesDeath,
		"Heal": testHeal, "HealSurvivesDeath": testHealSurvivesDeath,
		"WholeHealSurvivesDeath": testWholeHealSurvivesDeath,
		"Terminate":              testTerminate, "TerminateSurvivesDeath": testTerminateSurvivesDeath,
		"HaltForceful": testHaltForceful, "HaltGraceful": testHaltGraceful,
		"Failure": testFailure, "Restore": testRestore, "Preview": testPreview,
		"Leftovers": testLeftovers, "OtherInstances": testOtherInstances,
		"SeveralConnections":             testSeveralConnections,
		"SeveralConnectionsSurviveDeath": testSeveralConnectionsSurviveDeath,
	}
	if h.NoSnapshots {
		tests["Snapshot"] = rejectSnapshot
	} else {
		tests["Snapshot"], tests["SnapshotRollback"] = testSnapshot, testSnapshotRollback
		tests["SnapshotSurvivesDeath"] = testSnapshotSurvivesDeath
		tests["SnapshotRollbackSurvivesDeath"] = testSnapshotRollbackSurvivesDeath
		tests["RevertSurvivesDeath"] = testRevertSurvivesDeath
		tests["SnapshotOfSeveralConnections"] = testSnapshotOfSeveral
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

// testInstantiate: the inventory is the desired state, and a phase that is called again changes nothing.
func testInstantiate(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.admitInstantiate()
	v.complete()
	v.requireInventory()
	var machines []string
	for _, id := range v.machines() {
		machines = append(machines, id)
	}
	require.ElementsMatch(t, machines, v.affected(sol.ChangeTypeAdded), "all machines are reported as added")
	require.Empty(t, v.affected(sol.ChangeTypeRemoved))

	changes, contents := v.node.changesMade(), v.vim.Contents()
	require.Positive(t, changes)
	v.op.State = sol.LcmOperationStateProcessing // as if the end had not been stored
	v.complete()
	require.Equal(t, changes, v.node.changesMade(), "an instantiation that is done is not repeated")
	require.ElementsMatch(t, contents, v.vim.Contents())
	v.requireInventory()
}

// testScale: VNFCs are added and removed, and the others stay.
func testScale(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.instantiate()
	before, contents := v.machines(), v.vim.Contents()

	v.scale(sol.ScaleTypeOut)
	v.requireInventory()
	out := v.machines()
	require.Greater(t, len(out), len(before))
	for vnfc, id := range before {
		require.Equal(t, id, out[vnfc], "a scale out keeps the machine of %s", vnfc)
	}
	require.Len(t, v.affected(sol.ChangeTypeAdded), len(out)-len(before))
	require.Empty(t, v.affected(sol.ChangeTypeRemoved))

	v.scale(sol.ScaleTypeIn)
	v.requireInventory()
	in := v.machines()
	for _, vnfc := range v.op.Scope.Remove {
		require.NotContains(t, in, vnfc, "the scope removes this VNFC")
		require.Contains(t, v.affected(sol.ChangeTypeRemoved), out[vnfc])
	}
	for vnfc, id := range in {
		require.Equal(t, out[vnfc], id, "a scale in keeps the machine of %s", vnfc)
	}
	require.Equal(t, counts(contents), counts(v.vim.Contents()))
}

// testHeal: the machine that was lost is recreated, and no other one.
func testHeal(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.instantiate()
	before, contents := v.machines(), v.vim.Contents()
	vnfc := v.instance.Instantiated.VnfcInfo[0].ID
	v.vim.Lose(v.machine(vnfc))

	v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: []string{vnfc}})
	v.complete()
	v.requireInventory()
	after := v.machines()
	kept := 0
	for id, machine := range before {
		if id != vnfc && after[id] == machine {
			kept++
		}
	}
	require.Equal(t, len(before)-1, kept, "the other machines stay")
	if !h.KeepsIDs {
		require.NotContains(t, v.affected(sol.ChangeTypeAdded), before[vnfc])
	}
	require.Equal(t, counts(contents), counts(v.vim.Contents()))
}

// testTerminate: everything is deleted. A repeated termination, and one of an instance without resources, succeed and
// change nothing.
func testTerminate(t *testing.T, h Harness) {
	t.Helper()
	vim := h.New(t)
	empty := vim.Contents()
	v := newVNF(t, h, vim)
	v.instantiate()
	full, _ := v.read()

	v.terminate()
	require.ElementsMatch(t, empty, vim.Contents())
	require.Nil(t, v.instance.Instantiated)

	v.instance = stored(full) // as if the termination had not been stored
	changes := v.node.changesMade()
	v.terminate()
	require.Equal(t, changes, v.node.changesMade())

	other := newVNF(t, h, vim)
	other.instance.VimConnections = vim.Connections()
	other.instance.HoldsResources = true // the node died before it created anything
	other.admitInstantiate()
	other.steer(lcm.EventRollback)
	other.complete()
	require.Zero(t, other.node.changesMade())
	require.ElementsMatch(t, empty, vim.Contents())
}

// testOtherInstances: nothing that happens to one instance touches another one.
func testOtherInstances(t *testing.T, h Harness) {
	t.Helper()
	vim := h.New(t)
	other := newVNF(t, h, vim)
	other.instantiate()
	theirs, inventory := vim.Contents(), other.instance.Inventory

	v := newVNF(t, h, vim)
	v.instantiate()
	v.scale(sol.ScaleTypeOut)
	v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{})
	v.complete()
	vim.Leave(v.instance.ID)
	v.removeLeftovers()
	v.terminate()
	require.ElementsMatch(t, theirs, vim.Contents())

	other.admitScale(sol.ScaleTypeOut)
	w := other.work()
	require.NoError(t, lcm.TakeInventory(t.Context(), other.driver, w))
	require.ElementsMatch(t, inventory, w.Instance.Inventory)
	l, err := other.driver.Leftovers(t.Context(), w.Instance, nil)
	require.NoError(t, err)
	require.Empty(t, l.Extra)
	require.Empty(t, l.Missing)
}
