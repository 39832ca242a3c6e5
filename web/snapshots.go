package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// snapshotRow is a VNF snapshot of an instance.
type snapshotRow struct {
	ID    string
	State string // a key of badges
	// Begun is zero while nothing has been taken, Ended until it is complete.
	Begun, Ended time.Time
	// Parts counts the images and the copies of volumes.
	Parts int
	// Operation is the one that has taken it; nil when it is not known any more.
	Operation *operationRow
	// Obstacle says why the instance cannot be reverted to the snapshot now; "" is nothing that is known.
	Obstacle string
}

// snapshots are those of an instance, the newest first.
func (c *console) snapshots(ctx context.Context, i *lcm.Instance, ops []*lcm.Operation) ([]snapshotRow, error) {
	all, err := c.Instances.SnapshotsOf(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	out := make([]snapshotRow, 0, len(all))
	for _, s := range all {
		row := snapshotRow{ID: s.ID, State: "INCOMPLETE", Begun: s.Started, Ended: s.Finished}
		for _, v := range s.VNFCs {
			row.Parts += len(v.Storages)
			if v.Compute != nil {
				row.Parts++
			}
		}
		n := slices.IndexFunc(ops, func(op *lcm.Operation) bool { return op.ID == s.Operation })
		if n >= 0 {
			row.Operation = operationRowOf(ops[n], c.Clock.Now())
		}
		switch {
		case !s.Finished.IsZero() && s.Deleting.After(c.Clock.Now()):
			row.State = "DELETING"
		case !s.Finished.IsZero():
			row.State = "COMPLETE"
		case n >= 0 && lcm.Running(ops[n].State):
			row.State = "TAKING"
		}
		if err := lcm.Revertible(s, i); row.State == "DELETING" {
			row.Obstacle = "it is being deleted"
		} else if err != nil {
			row.Obstacle = lcm.AsError(err).Detail
		}
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b snapshotRow) int {
		return cmp.Or(b.Begun.Compare(a.Begun), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}
