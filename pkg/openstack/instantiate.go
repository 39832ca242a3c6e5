package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Instantiate implements lcm.Infra: the package's images, then the stack.
func (d *Driver) Instantiate(ctx context.Context, w *lcm.Work) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	if err := w.Hold(ctx); err != nil {
		return err
	}
	if err := j.provideImages(ctx); err != nil {
		return j.settle(err)
	}
	return j.settle(j.stack.Create(ctx, j.desired))
}
