package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// disksOf are the disks to which the VNFCs of a scope are reverted, by their names below nfv.VDU.
func disksOf(s *lcm.Scope) map[string]userdata.Disks {
	out := map[string]userdata.Disks{}
	if s == nil || s.Snapshot == nil {
		return out
	}
	for _, c := range s.Snapshot.VNFCs {
		d := userdata.Disks{Volumes: map[string]string{}}
		if c.Compute != nil {
			d.Image = c.Compute.ID
		}
		for _, v := range c.Storages {
			d.Volumes[v.Name] = v.Resource.ID
		}
		out[c.ID] = d
	}
	return out
}

// revert gives VNFCs the disks of a snapshot. Heat rebuilds a server that has another image then, in place. One that
// has volumes is replaced with them, and so is one that gets the image from which it was made: to Heat nothing has
// changed.
func (t *tick) revert(ctx context.Context) error {
	scope := t.w.Op.Scope
	if scope == nil || scope.Snapshot == nil || len(scope.VNFCs) != len(scope.Snapshot.VNFCs) {
		return lcm.Errorf(lcm.CodeInternal, "the operation %s does not say what to revert", t.w.Op.ID)
	}
	if _, err := t.desired(ctx); err != nil { // before anything is lost
		return err
	}
	g, err := t.previousAt(&t.part)
	if err != nil {
		return err
	}
	again := map[string]bool{}
	for _, key := range userdata.Reverted(g.nfv, scope.Snapshot.ID) {
		again[key] = true
	}
	var replaced []string
	for n, c := range scope.Snapshot.VNFCs {
		if len(c.Storages) > 0 || again[c.ID] {
			replaced = append(replaced, scope.VNFCs[n])
		}
	}
	sick, err := t.replacements(replaced, true)
	if err != nil {
		return err
	}
	t.w.ForgetVNFCs(scope.VNFCs...) // the disks bring other host keys
	return t.recreate(ctx, sick)
}

// withDisks is nfv with the disks that the operation gives to VNFCs: those of a snapshot, or the package's again.
func withDisks(nfv map[string]any, w *lcm.Execution) map[string]any {
	switch {
	case w.Op.Type == sol.LcmOperationRevertToSnapshot:
		return userdata.Revert(nfv, w.Op.SnapshotID(), disksOf(w.Op.Scope))
	case w.Op.Scope != nil && w.Op.Scope.Fresh:
		return userdata.Unrevert(nfv, recreated(w))
	}
	return nfv
}

// recreated are the VNFCs that a HEAL recreates, by their names below nfv.VDU.
func recreated(w *lcm.Execution) map[string]bool {
	out := map[string]bool{}
	for _, r := range w.Op.Before.Inventory {
		if r.VDU != "" && (w.Op.Scope.Whole || slices.Contains(w.Op.Scope.VNFCs, r.VNFC)) {
			out[fmt.Sprintf("%s-%d", r.VDU, r.Index)] = true
		}
	}
	return out
}
