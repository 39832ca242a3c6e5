package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Terminate implements lcm.Infra: stacks by name, by stored id and by tag, then images by tag, until none is left. It
// is the rollback of an instantiation too.
func (d *Driver) Terminate(ctx context.Context, w *lcm.Execution) error {
	if err := w.WaitGracefully(ctx, d.cfg.GracefulTimeout); err != nil {
		return err
	}
	err := d.each(ctx, w, func(ctx context.Context, t *tick) error {
		if err := t.stack.Delete(ctx); err != nil {
			return err
		}
		return t.images().DeleteAll(ctx)
	})
	if err != nil {
		return err
	}
	if w.Op.Type == sol.LcmOperationInstantiate {
		w.Op.ResourceChanges = nil // all that was added is gone again
	} else {
		was := inventory.RecordOf(w.Op.Before)
		if was.Info == nil {
			was = inventory.RecordOf(w.Instance)
		}
		w.Op.ResourceChanges = inventory.Changes(was, inventory.Record{})
	}
	return nil
}
