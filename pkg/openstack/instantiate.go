package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Instantiate implements lcm.Infra: for each part the package's images, then the stack. All VIMs are contacted before
// that.
func (d *Driver) Instantiate(ctx context.Context, w *lcm.Execution) error {
	if err := d.each(ctx, w, func(context.Context, *tick) error { return nil }); err != nil {
		return err
	}
	if err := w.Hold(ctx); err != nil {
		return err
	}
	return d.each(ctx, w, func(ctx context.Context, t *tick) error {
		if err := t.provideImages(ctx); err != nil {
			return err
		}
		if err := t.assemble(ctx); err != nil {
			return err
		}
		return t.stack.Create(ctx, t.desired)
	})
}
