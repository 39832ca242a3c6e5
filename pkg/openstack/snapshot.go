package openstack

import (
	"context"
	"fmt"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/preview"
	"github.com/gybe-nfv/gybe/pkg/openstack/snapshot"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

func (t *tick) snapshots() *snapshot.Worker {
	return &snapshot.Worker{Cloud: t.cloud, Execution: t.w, Vim: t.part.key, Timeout: t.cfg.StackTimeout}
}

// createSnapshot takes a snapshot of every VNFC of the part.
func (t *tick) createSnapshot(ctx context.Context) error {
	op := t.w.Op
	return t.snapshots().Create(ctx, snapshot.Sources(t.stack.Before(), op.SnapshotID(), op.Scope.VNFCs))
}

// DeleteSnapshot implements lcm.Infra.
func (d *Driver) DeleteSnapshot(ctx context.Context, s *lcm.Snapshot, i *lcm.Instance) error {
	return d.each(ctx, d.visit(i), func(ctx context.Context, t *tick) error {
		if err := t.requireUnused(ctx, s); err != nil {
			return err
		}
		return snapshot.Delete(ctx, t.cloud, s.InstanceID, s.ID)
	})
}

// requireUnused returns CodeConflict if disks of the part's stack come from a snapshot: Heat does not update a stack
// that names an image or a volume that does not exist.
func (t *tick) requireUnused(ctx context.Context, s *lcm.Snapshot) error {
	st, err := t.stack.Find(ctx)
	if err != nil || st == nil || !stack.Owned(st, s.InstanceID) {
		return err
	}
	has, _, err := t.cloud.StackParameters(ctx, st)
	if err != nil {
		if cloud.NotFound(err) { // deleted since
			return nil
		}
		return err
	}
	used := userdata.Reverted(inventory.DecodeNFV(has["nfv"]), s.ID)
	if len(used) == 0 {
		return nil
	}
	return lcm.Errorf(lcm.CodeConflict, "VNF instance %s was reverted to the VNF snapshot %s: its VNFCs %s need it",
		s.InstanceID, s.ID, strings.Join(used, ", ")).
		WithHint("delete the snapshot after the VNF was terminated, or changed to another package or snapshot")
}

// requireRevertible returns CodeConflict if a part of a VNF could not be reverted to a snapshot of it: such a snapshot
// is not taken.
func (d *Driver) requireRevertible(s *part) error {
	g, err := d.previousAt(s)
	if err != nil {
		return err
	}
	if g.own != nil {
		return lcm.Errorf(lcm.CodeConflict, "snapshots need %s: the class %s of the package cannot be asked for a "+
			"stack with the disks of a snapshot", userdata.Standard, g.own)
	}
	if g.class != userdata.Standard {
		return lcm.Errorf(lcm.CodeConflict, "snapshots need %s: with %s, VNFCs share a template and cannot be "+
			"reverted one by one", userdata.Standard, g.class)
	}
	before := s.w.Op.Before
	disks := map[string]userdata.Disks{}
	for _, src := range snapshot.Sources(before, "", s.w.Op.Scope.VNFCs) {
		index, ok := before.ComputeIndex(src.VNFC)
		c, _, known := before.VNFC(src.VNFC)
		if !ok || !known {
			continue
		}
		key := lcm.VNFCSnapshotID(c.VduID, index)
		to := disks[key]
		if src.Image {
			to.Image = src.ID
		} else {
			if to.Volumes == nil {
				to.Volumes = map[string]string{}
			}
			to.Volumes[src.Storage] = src.ID
		}
		disks[key] = to
	}
	g.nfv = userdata.Revert(g.nfv, "-", disks)
	if _, err := d.build(g); err != nil {
		e := *lcm.AsError(err)
		return lcm.Errorf(lcm.CodeConflict, "the VNF could not be reverted to a snapshot, so none is taken: %s",
			words(&e)).WithHint("every volume has to be an OS::Cinder::Volume of the template, beside its server")
	}
	return nil
}

// words are those of an error, or of its first invalid member.
func words(e *lcm.Error) string {
	if len(e.Params) > 0 {
		return e.Params[0].Detail
	}
	return e.Detail
}

// planSnapshot lists the images and copies that a CREATE_SNAPSHOT would make.
func (t *tick) planSnapshot(ctx context.Context, r lcm.Request) (*preview.Plan, error) {
	p := &preview.Plan{Preview: lcm.Preview{
		Operation: r.Type, Add: []lcm.PlannedResource{}, Remove: []lcm.PlannedResource{},
		Replace: []lcm.PlannedResource{}, Change: []lcm.PlannedResource{}, Checks: []lcm.Check{},
	}}
	volumes, gigabytes := 0, 0
	for _, s := range snapshot.Sources(r.Instance, t.w.Op.SnapshotID(), r.Scope.VNFCs) {
		c, _, _ := r.Instance.VNFC(s.VNFC)
		out := lcm.PlannedResource{
			Type: cloud.TypeVolume, Kind: lcm.KindStorage, Name: s.Name, VDU: c.VduID, VNFC: s.VNFC,
			Detail: fmt.Sprintf("a copy of volume %s, %d GiB", s.ID, s.Size),
		}
		if s.Image {
			out.Type, out.Kind, out.Detail = cloud.TypeImage, lcm.KindImage, "an image of server "+s.ID
		} else {
			volumes, gigabytes = volumes+1, gigabytes+s.Size
		}
		p.Add = append(p.Add, out)
	}
	var err error
	p.Checks, err = preview.CheckVolumes(ctx, t.cloud, volumes, gigabytes)
	return p, err
}
