package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Leftovers implements lcm.Infra.
func (d *Driver) Leftovers(context.Context, *lcm.Instance) (*lcm.Leftovers, error) {
	return &lcm.Leftovers{}, nil
}

// RemoveLeftovers implements lcm.Infra.
func (d *Driver) RemoveLeftovers(_ context.Context, _ *lcm.Instance, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	return extra, nil
}
