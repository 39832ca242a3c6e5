package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Instantiate implements lcm.Infra: the package's images, then the stack.
func (d *Driver) Instantiate(ctx context.Context, w *lcm.Execution) error {
	t, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	if err := w.Hold(ctx); err != nil {
		return err
	}
	if err := t.provideImages(ctx); err != nil {
		return t.settle(err)
	}
	return t.settle(t.stack.Create(ctx, t.desired))
}
