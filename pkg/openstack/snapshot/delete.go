package snapshot

import (
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Delete deletes everything that a snapshot has in a VIM. It returns nil when that is gone, and Wait until then.
func Delete(ctx context.Context, c *cloud.Client, instanceID, snapshotID string) error {
	w := &Worker{Cloud: c}
	all, err := find(ctx, c, instanceID, snapshotID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	if err := lcm.Each(ctx, 8, all, w.remove); err != nil {
		return err
	}
	var names []string
	for _, r := range all {
		names = append(names, r.Type+" "+r.ID)
	}
	slices.Sort(names)
	return lcm.Wait(cloud.Pace(0), "deleting "+cloud.Clip(strings.Join(names, ", "), cloud.MaxText))
}

// remove starts the deletion of a resource.
func (w *Worker) remove(ctx context.Context, r resource) error {
	switch {
	case r.image:
		return w.Cloud.DeleteImage(ctx, r.ID)
	case r.used:
		return lcm.Errorf(lcm.CodeConflict, "the volume %s, which is part of a VNF snapshot, is attached to a server",
			r.ID).WithHint("detach it in the VIM, then send the request again")
	case r.status == "deleting", r.status == "creating", r.status == "downloading":
		return nil
	}
	return w.Cloud.DeleteVolume(ctx, r.ID)
}

// Remove deletes what a CREATE_SNAPSHOT has made, as a step of its rollback.
func (w *Worker) Remove(ctx context.Context) error {
	return w.Execution.Step(ctx, "delete snapshot", w.Vim, func(ctx context.Context, s *lcm.Step) error {
		if err := Delete(ctx, w.Cloud, w.Execution.Instance.ID, w.Execution.Op.SnapshotID()); err != nil {
			return err
		}
		s.Detail("no image or copy is left")
		return nil
	})
}
