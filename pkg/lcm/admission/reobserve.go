package admission

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// reobserve repeats the inventory of an instance whose last operation ended without one, stores it and returns the
// instance. Any other instance is returned as it is, and so is every instance for tasks that do not depend on the
// inventory: one of them corrects the login without which the VIM cannot be read.
func (s *Service) reobserve(ctx context.Context, i *lcm.Instance, t lcm.Task) (*lcm.Instance, error) {
	if i.Unobserved == "" || !t.Kind.VIM || t.Kind.Unchecked {
		return i, nil
	}
	if err := s.busy(ctx, i.ID); err != nil {
		return nil, err
	}
	w, err := s.inventoryAfter(ctx, i, t)
	if err != nil {
		e := *lcm.AsError(err)
		e.Detail = fmt.Sprintf(
			"operation %s of this VNF instance ended without an inventory, and the inventory cannot be taken now: %s",
			i.Unobserved, e.Error(),
		)
		if e.Hint == "" {
			e.Hint = "send the request again when the VIM can be read, or correct the instance's vimConnectionInfo"
		}
		return nil, &e
	}
	err = s.Store.UpdateInstance(ctx, i.ID, func(locked *lcm.Instance) ([]string, error) {
		if locked.Version == i.Version {
			locked.Instantiated, locked.Inventory, locked.Unobserved = w.Instance.Instantiated, w.Instance.Inventory, ""
			return w.Effects().ForgetVNFCs, nil
		}
		if locked.Unobserved == "" { // another request has repeated it
			return nil, nil
		}
		return nil, lcm.Errorf(lcm.CodeConflict, "VNF instance %s has been changed in the meantime", i.ID).WithHint(
			"send the request again",
		)
	})
	if err != nil {
		return nil, err
	}
	return s.Store.Instance(ctx, i.ID)
}

// inventoryTime bounds an inventory during an admission.
const inventoryTime = 20 * time.Second

// inventoryAfter takes the inventory that an ended operation lacks. The instance still is as that operation found it.
func (s *Service) inventoryAfter(ctx context.Context, i *lcm.Instance, t lcm.Task) (*lcm.Execution, error) {
	ctx, cancel := context.WithTimeout(ctx, inventoryTime)
	defer cancel()
	op, err := s.Store.Operation(ctx, i.Unobserved)
	if err != nil {
		return nil, err
	}
	op.Before, op.State, op.Phase = i, op.FailedIn, "infra" // in this phase, a stack that is gone is not an error
	op.VnfPkgID = s.packageOf(ctx, op)

	instance := *i
	if len(t.Connections) > 0 {
		given, err := s.connections(ctx, i.ID, t.Connections)
		if err != nil {
			return nil, err
		}
		if instance.VimConnections, err = mergeConnections(i.VimConnections, given); err != nil {
			return nil, err
		}
	}
	infra, err := s.infra(&instance)
	if err != nil {
		return nil, err
	}
	w, err := lcm.NewExecution(ctx, lcm.ExecutionInput{
		Op: op, Instance: &instance, Packages: s.Packages, Clock: s.Clock, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	return w, lcm.TakeInventory(ctx, infra, w)
}

// packageOf is the package that an ended operation led to; "" when that was none, or it does not exist any more.
func (s *Service) packageOf(ctx context.Context, op *lcm.Operation) string {
	t, err := lcm.ParseTask(op.Type, op.Params)
	if err != nil || t.VnfdID == "" {
		return ""
	}
	_, id, err := s.Packages.Model(ctx, s.principal, t.VnfdID)
	if err != nil {
		return ""
	}
	return id
}
