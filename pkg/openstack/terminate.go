package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Terminate implements lcm.Infra: stacks by name, by stored id and by tag, then images by tag, until none is left. It
// is the rollback of an instantiation too.
func (d *Driver) Terminate(ctx context.Context, w *lcm.Execution) error {
	if err := d.waitForTermination(ctx, w); err != nil {
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

// waitForTermination gives a VNF that is terminated gracefully the time to finish its work.
func (d *Driver) waitForTermination(ctx context.Context, w *lcm.Execution) error {
	if w.Op.Type != sol.LcmOperationTerminate {
		return nil
	}
	var req sol.TerminateVnfRequest
	if err := json.Unmarshal(w.Op.Params, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	if req.TerminationType != sol.TerminationTypeGraceful {
		return nil
	}
	return d.waitGracefully(ctx, w, "graceful termination", req.GracefulTerminationTimeout)
}

// waitGracefully gives a VNF time to finish its work, as a step: so many seconds, or the default for 0.
func (d *Driver) waitGracefully(ctx context.Context, w *lcm.Execution, name string, seconds int) error {
	timeout := d.cfg.GracefulTimeout
	if seconds > 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	return w.Step(ctx, name, "", func(_ context.Context, s *lcm.Step) error {
		if left := s.Started().Add(timeout).Sub(w.Clock.Now()); left > 0 {
			return lcm.Wait(
				left, fmt.Sprintf("%s: %s left for the VNF to finish its work", name, left.Round(time.Second)),
			)
		}
		s.Detail("waited " + timeout.String())
		return nil
	})
}
