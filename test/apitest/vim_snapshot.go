package apitest

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// diskType is the VIM's word for what a snapshot of a machine is.
const diskType = "TEST::Disk"

// disk is the snapshot of a machine.
type disk struct{ id, instance, vnfc string }

// Disks counts the snapshots of machines.
func (m *memory) Disks() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, all := range m.disks {
		for _, d := range all {
			out = append(out, d.id)
		}
	}
	return out
}

// createSnapshot takes a snapshot of the machine of every VNFC.
func (v *VIM) createSnapshot(w *lcm.Execution) error {
	id, limit := w.Op.SnapshotID(), &limit{err: v.fail, left: 1}
	if !v.partly {
		limit = nil
	}
	for _, vnfc := range w.Op.Scope.VNFCs {
		at := slices.IndexFunc(v.disks[id], func(d disk) bool { return d.vnfc == vnfc })
		if at < 0 {
			if err := limit.take(); err != nil {
				return err
			}
			if err := v.call(true, func() error {
				v.disks[id] = append(v.disks[id], disk{uuid.NewString(), w.Instance.ID, vnfc})
				return nil
			}); err != nil {
				return err
			}
			at = len(v.disks[id]) - 1
		}
		c, res, _ := w.Op.Before.VNFC(vnfc)
		index, _ := w.Op.Before.ComputeIndex(vnfc)
		w.RecordSnapshot(lcm.VNFCSnapshot{
			ID: lcm.VNFCSnapshotID(c.VduID, index), VNFC: vnfc, Resource: res.ID, VDU: c.VduID, Index: index,
			Vim: res.ComputeResource.VimConnectionID, Started: w.Op.Started, Finished: w.Clock.Now(),
			Compute: &lcm.SnapshotResource{Type: diskType, ID: v.disks[id][at].id, Name: id + " " + vnfc},
		})
	}
	return nil
}

// deleteDisks deletes what a snapshot consists of.
func (v *VIM) deleteDisks(snapshotID string) error {
	if len(v.disks[snapshotID]) == 0 {
		return nil
	}
	return v.call(true, func() error { delete(v.disks, snapshotID); return nil })
}

// DeleteSnapshot implements lcm.Infra.
func (v *VIM) DeleteSnapshot(_ context.Context, s *lcm.Snapshot, i *lcm.Instance) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.begin("delete snapshot"); err != nil {
		return err
	}
	if slices.ContainsFunc(v.machines[i.ID], func(o machine) bool { return o.from == s.ID }) {
		return lcm.Errorf(lcm.CodeConflict, "machines of VNF instance %s come from the VNF snapshot %s", i.ID, s.ID)
	}
	return v.deleteDisks(s.ID)
}

// strayDisks lists the disks of an instance that no snapshot has.
func (v *VIM) strayDisks(i *lcm.Instance, snapshots []*lcm.Snapshot) []lcm.Leftover {
	var out []lcm.Leftover
	for id, all := range v.disks {
		known := slices.ContainsFunc(snapshots, func(s *lcm.Snapshot) bool { return s.ID == id })
		for _, d := range all {
			if d.instance == i.ID && !known {
				why := "it carries the name of " + i.ID
				out = append(out, lcm.Leftover{Type: diskType, ID: d.id, Name: d.vnfc, Why: why})
			}
		}
	}
	return out
}

// preview plans operations with snapshots.
func (v *VIM) previewSnapshot(r lcm.Request, add, change *[]lcm.PlannedResource) {
	for _, vnfc := range r.Scope.VNFCs {
		c, res, _ := r.Instance.VNFC(vnfc)
		out := lcm.PlannedResource{Type: machineType, Name: c.VduID, VDU: c.VduID, VNFC: vnfc, ID: res.ID}
		if add != nil {
			out.Type, out.Kind, out.ID = diskType, lcm.KindImage, ""
			*add = append(*add, out)
			continue
		}
		out.LosesData = true
		*change = append(*change, out)
	}
}
