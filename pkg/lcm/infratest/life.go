package infratest

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// admitInstantiate stores the operation that instantiates the harness's package.
func (v *vnf) admitInstantiate() {
	v.t.Helper()
	r := v.Request
	r.VimConnectionInfo = v.connections()
	v.admit(sol.LcmOperationInstantiate, r)
}

// admitScale stores the operation that scales by one step.
func (v *vnf) admitScale(direction sol.ScaleType) {
	v.t.Helper()
	v.admit(sol.LcmOperationScale, sol.ScaleVnfRequest{Type: direction, AspectID: v.Aspect})
}

func (v *vnf) admitTerminate() {
	v.t.Helper()
	v.admit(sol.LcmOperationTerminate, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
}

// complete runs the operation, which succeeds.
func (v *vnf) complete() {
	v.t.Helper()
	require.NoError(v.t, v.run(), "%s in phase %q", v.op.Type, v.op.Phase)
}

func (v *vnf) instantiate() {
	v.t.Helper()
	v.admitInstantiate()
	v.complete()
}

func (v *vnf) scale(direction sol.ScaleType) {
	v.t.Helper()
	v.admitScale(direction)
	v.complete()
}

func (v *vnf) terminate() {
	v.t.Helper()
	v.admitTerminate()
	v.complete()
}

// machines maps the vnfcInfo ids of the instance to the ids of their machines in the VIM.
func (v *vnf) machines() map[string]string {
	out := map[string]string{}
	for _, r := range v.instance.Inventory {
		if r.VNFC != "" && (r.Kind == lcm.KindCompute || r.Kind == lcm.KindContainer) {
			out[r.VNFC] = r.ID
		}
	}
	return out
}

// machine is the inventory's entry of a VNFC's machine.
func (v *vnf) machine(vnfc string) lcm.Resource {
	v.t.Helper()
	id := v.machines()[vnfc]
	at := slices.IndexFunc(v.instance.Inventory, func(r lcm.Resource) bool { return r.ID == id && r.VNFC == vnfc })
	require.GreaterOrEqual(v.t, at, 0, "the inventory has no machine of %s", vnfc)
	return v.instance.Inventory[at]
}

// desiredCounts is the number of VNFCs that each VDU has after the operation.
func (v *vnf) desiredCounts() map[string]int {
	if v.op.Scope != nil {
		return v.op.Scope.Counts
	}
	out, _ := v.VNFD.Flavour(v.Request.FlavourID).Counts(v.Request.InstantiationLevelID)
	return out
}

// requireInventory compares the inventory with the operation's desired state, and with the VIM.
func (v *vnf) requireInventory() {
	v.t.Helper()
	info := v.instance.Instantiated
	require.NotNil(v.t, info)
	have := map[string]int{}
	for _, c := range info.VnfcInfo {
		have[c.VduID]++
		v.requireVNFC(c)
	}
	for vdu, n := range v.desiredCounts() {
		require.Equal(v.t, n, have[vdu], "VNFCs of %s", vdu)
	}
	require.Len(v.t, v.machines(), len(info.VnfcInfo), "each VNFC has one machine")

	ids := map[string]bool{}
	for _, r := range v.instance.Inventory {
		require.NotEmpty(v.t, r.Kind, "the kind of %s %s", r.Type, r.Name)
		require.NotEmpty(v.t, r.Type, r.Name)
		key := fmt.Sprint(r.Type, " ", r.ID)
		require.NotEmpty(v.t, r.ID, "the id of %s %s", r.Type, r.Name)
		require.False(v.t, ids[key], "%s is listed twice", key)
		ids[key] = true
	}
}

// requireVNFC checks that a VNFC has a record of a machine that is in the VIM, and in the inventory.
func (v *vnf) requireVNFC(c sol.VnfcInfo) {
	v.t.Helper()
	_, res, ok := v.instance.VNFC(c.ID)
	require.True(v.t, ok, "%s has no vnfcResourceInfo", c.ID)
	require.Equal(v.t, c.VduID, res.VduID)
	key, _, ok := lcm.VimOf(v.instance.VimConnections, c.VduID)
	require.True(v.t, ok)
	require.Equal(v.t, key, res.ComputeResource.VimConnectionID, "the connection of %s", c.ID)
	require.NotEmpty(v.t, res.ComputeResource.VimLevelResourceType)

	machine := v.machine(c.ID)
	require.Equal(v.t, machine.ID, res.ComputeResource.ResourceID)
	require.Equal(v.t, c.VduID, machine.VDU)
	if primary, _, _ := lcm.PrimaryVim(v.instance.VimConnections); key != primary {
		require.Equal(v.t, key, machine.Vim)
	} else {
		require.Empty(v.t, machine.Vim)
	}
	require.True(v.t, slices.ContainsFunc(v.vim.Contents(), func(o Content) bool { return o.ID == machine.ID }),
		"%s is not in the VIM", machine.ID)
}

// affected are the VNFCs' machines that the operation reports with a change.
func (v *vnf) affected(change sol.ChangeType) []string {
	var out []string
	if v.op.ResourceChanges != nil {
		for _, a := range v.op.ResourceChanges.AffectedVnfcs {
			if a.ChangeType == change {
				out = append(out, a.ComputeResource.ResourceID)
			}
		}
	}
	return out
}
