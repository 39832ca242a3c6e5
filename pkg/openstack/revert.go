package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
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
// changed. No server runs with its later disk when the first one starts with its earlier disk: members of a cluster
// would give the later data back to it. Nova leaves a server off that was off when it was rebuilt.
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
	var replaced, rebuilt []string
	for n, c := range scope.Snapshot.VNFCs {
		if len(c.Storages) > 0 || again[c.ID] {
			replaced = append(replaced, scope.VNFCs[n])
		} else {
			rebuilt = append(rebuilt, scope.VNFCs[n])
		}
	}
	sick, err := t.replacements(replaced, true)
	if err != nil {
		return err
	}
	t.w.ForgetVNFCs(scope.VNFCs...) // the disks bring other host keys
	if err := t.switchRebuilt(ctx, "stop server", rebuilt, cloud.ServerStopped); err != nil {
		return err
	}
	if err := t.recreate(ctx, sick); err != nil {
		return err
	}
	return t.switchRebuilt(ctx, "start server", rebuilt, cloud.ServerActive)
}

// switchRebuilt brings servers to a state. A server that is not there any more is Heat's to replace.
func (t *tick) switchRebuilt(ctx context.Context, name string, vnfcs []string, to string) error {
	return lcm.Each(ctx, 8, vnfcs, func(ctx context.Context, id string) error {
		_, res, ok := t.stack.Before().VNFC(id)
		if !ok {
			return lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VNFC %s", id)
		}
		server := res.ComputeResource.ResourceID
		return t.w.Step(ctx, name, id, func(ctx context.Context, s *lcm.Step) error {
			if _, err := t.cloud.ReadServer(ctx, server); cloud.NotFound(err) {
				s.Detail("server " + server + " is not there any more")
				return nil
			}
			return t.servers.Reach(ctx, s, id, server, to)
		})
	})
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
