package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Change implements lcm.Infra.
func (d *Driver) Change(_ context.Context, w *lcm.Work) error {
	return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", w.Op.Type)
}

// Restore implements lcm.Infra.
func (d *Driver) Restore(_ context.Context, w *lcm.Work) error {
	return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", w.Op.Type)
}
