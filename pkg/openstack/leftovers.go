package openstack

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/leftovers"
)

// Leftovers implements lcm.Infra. It lists what the projects have, of every kind that a VNF can have, and compares.
func (d *Driver) Leftovers(
	ctx context.Context, i *lcm.Instance, snapshots []*lcm.Snapshot,
) (*lcm.Leftovers, error) {
	all := &lcm.Leftovers{Extra: []lcm.Leftover{}, Missing: []lcm.Leftover{}}
	err := d.each(ctx, d.visit(i), func(ctx context.Context, t *tick) error {
		found, err := t.leftovers(snapshots).Compare(ctx)
		if err != nil {
			return err
		}
		all.Extra = unlisted(all.Extra, found.Extra)
		all.Missing = append(all.Missing, found.Missing...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// RemoveLeftovers implements lcm.Infra.
func (d *Driver) RemoveLeftovers(
	ctx context.Context, i *lcm.Instance, snapshots []*lcm.Snapshot, extra []lcm.Leftover,
) ([]lcm.Leftover, error) {
	var left []lcm.Leftover
	err := d.each(ctx, d.visit(i), func(ctx context.Context, t *tick) error {
		more, err := t.leftovers(snapshots).Remove(ctx, extra)
		left = unlisted(left, more)
		return err
	})
	if err != nil {
		return nil, err
	}
	return left, nil
}

// unlisted adds to a list what it does not have: two connections may lead to one project.
func unlisted(all, more []lcm.Leftover) []lcm.Leftover {
	for _, l := range more {
		if !slices.ContainsFunc(all, func(o lcm.Leftover) bool { return o.Type == l.Type && o.ID == l.ID }) {
			all = append(all, l)
		}
	}
	return all
}

// visit looks at an instance outside any operation.
func (d *Driver) visit(i *lcm.Instance) *lcm.Execution {
	return &lcm.Execution{Op: &lcm.Operation{InstanceID: i.ID}, Instance: i, Log: d.log, Clock: lcm.SystemClock{}}
}

func (t *tick) leftovers(snapshots []*lcm.Snapshot) *leftovers.Search {
	whole := t.part.whole.Instance
	return &leftovers.Search{
		Cloud: t.cloud, Instance: whole, Part: t.w.Instance, Stacks: inventory.StackIDs(whole.Instantiated),
		Stack: t.stack, Images: t.images(), Snapshots: snapshots,
	}
}
