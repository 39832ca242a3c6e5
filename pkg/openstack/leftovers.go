package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/leftovers"
)

// Leftovers implements lcm.Infra. It lists what the project has, of every kind that a VNF can have, and compares.
func (d *Driver) Leftovers(ctx context.Context, i *lcm.Instance) (*lcm.Leftovers, error) {
	t, err := d.visit(ctx, i)
	if err != nil {
		return nil, err
	}
	found, err := t.leftovers().Compare(ctx)
	return found, t.settle(err)
}

// RemoveLeftovers implements lcm.Infra.
func (d *Driver) RemoveLeftovers(ctx context.Context, i *lcm.Instance, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	t, err := d.visit(ctx, i)
	if err != nil {
		return nil, err
	}
	left, err := t.leftovers().Remove(ctx, extra)
	return left, t.settle(err)
}

// visit looks at an instance outside any operation.
func (d *Driver) visit(ctx context.Context, i *lcm.Instance) (*tick, error) {
	return d.begin(ctx, &lcm.Execution{Op: &lcm.Operation{InstanceID: i.ID}, Instance: i, Log: d.log, Clock: lcm.SystemClock{}})
}

func (t *tick) leftovers() *leftovers.Search {
	return &leftovers.Search{Cloud: t.cloud, Instance: t.w.Instance, Stack: t.stack, Images: t.images()}
}
