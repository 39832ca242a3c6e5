package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/leftovers"
)

// Leftovers implements lcm.Infra. It lists what the project has, of every kind that a VNF can have, and compares.
func (d *Driver) Leftovers(ctx context.Context, i *lcm.Instance) (*lcm.Leftovers, error) {
	j, err := d.visit(ctx, i)
	if err != nil {
		return nil, err
	}
	found, err := j.leftovers().Compare(ctx)
	return found, j.settle(err)
}

// RemoveLeftovers implements lcm.Infra.
func (d *Driver) RemoveLeftovers(ctx context.Context, i *lcm.Instance, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	j, err := d.visit(ctx, i)
	if err != nil {
		return nil, err
	}
	left, err := j.leftovers().Remove(ctx, extra)
	return left, j.settle(err)
}

// visit looks at an instance outside any operation.
func (d *Driver) visit(ctx context.Context, i *lcm.Instance) (*job, error) {
	return d.begin(ctx, &lcm.Work{Op: &lcm.Operation{InstanceID: i.ID}, Instance: i, Log: d.log, Clock: lcm.SystemClock{}})
}

func (j *job) leftovers() *leftovers.Search {
	return &leftovers.Search{Cloud: j.cloud, Instance: j.w.Instance, Stack: j.stack, Images: j.images()}
}
