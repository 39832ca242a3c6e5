package k8scluster

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Hooks implements lcm.MgmtDriver.
func (d *Driver) Hooks() []lcm.HookHandler { return d.hooks }

// hookHandlers lists the hooks. Those that protect the cluster run whatever its VNFD says: packages that were made for
// older VNFMs know nothing of rollbacks and levels, and machines must not be taken from under nodes. Only a package
// that asks for it is upgraded.
func (d *Driver) hookHandlers() []lcm.HookHandler {
	return []lcm.HookHandler{
		{Hook: lcm.HookInstantiateStart},
		{Hook: lcm.HookInstantiateEnd, Run: d.instantiateEnd, Preview: previews(preview.instantiate), NewKey: newKey},
		{Hook: lcm.HookInstantiateRollbackStart},
		{Hook: lcm.HookInstantiateRollbackEnd},

		{Hook: lcm.HookScaleStart, Run: d.scaleStart, Preview: previews(preview.leave), Protects: true},
		{Hook: lcm.HookScaleEnd, Run: d.scaleEnd, Preview: previews(preview.join), Protects: true},
		{Hook: lcm.HookScaleRollbackStart, Run: d.scaleRollbackStart, Protects: true},
		{Hook: lcm.HookScaleRollbackEnd},

		{Hook: lcm.HookScaleToLevelStart, Run: d.scaleStart, Preview: previews(preview.leave), Protects: true},
		{Hook: lcm.HookScaleToLevelEnd, Run: d.scaleEnd, Preview: previews(preview.join), Protects: true},
		{Hook: lcm.HookScaleToLevelRollbackStart, Run: d.scaleRollbackStart, Protects: true},
		{Hook: lcm.HookScaleToLevelRollbackEnd},

		{Hook: lcm.HookHealStart, Run: d.healStart, Preview: previews(preview.healLeave), Protects: true},
		{
			Hook: lcm.HookHealEnd, Run: d.healEnd, Preview: previews(preview.healJoin), Protects: true, Installs: true,
		},

		{Hook: lcm.HookChangeVnfpkgStart, Run: d.packageStart},
		{Hook: lcm.HookChangeVnfpkgEnd, Run: d.packageEnd, Preview: previews(preview.upgrade)},
		{Hook: lcm.HookChangeVnfpkgRollbackStart, Run: d.packageRollbackStart},
		{Hook: lcm.HookChangeVnfpkgRollbackEnd},

		// It does nothing at this hook, but its Validate is asked.
		{Hook: lcm.HookCreateSnapshotStart, Protects: true},
		{Hook: lcm.HookCreateSnapshotEnd},
		{Hook: lcm.HookCreateSnapshotRollbackStart},
		{Hook: lcm.HookCreateSnapshotRollbackEnd},
		{Hook: lcm.HookRevertToSnapshotStart},
		{Hook: lcm.HookRevertToSnapshotEnd, Run: d.revertEnd, Preview: previews(preview.revert), Protects: true},

		{Hook: lcm.HookTerminateStart},
		{Hook: lcm.HookTerminateEnd, Run: unregisterVim, Preview: previews(preview.unregister), Protects: true},
	}
}

// unregisterVim removes the VIM of a cluster that is gone.
func unregisterVim(_ context.Context, w *lcm.Execution) error {
	w.RemoveVim(VimID(w.Instance.ID))
	return nil
}
