package lcm

import "context"

// The phases that read what the VIM has once an operation, or its rollback, has done its work.
const (
	PhaseInventory         = "inventory"
	PhaseRollbackInventory = "rollback_inventory"
)

// TakeInventory reads what is there and completes it. A half-read inventory is not kept.
func TakeInventory(ctx context.Context, infra Infra, w *Execution) error {
	instance, op := *w.Instance, *w.Op
	complete := false
	defer func() {
		if !complete {
			*w.Instance, *w.Op = instance, op
		}
	}()
	err := infra.Inventory(ctx, w)
	if err == nil {
		err = w.settle(instance.Instantiated)
		w.nameDefinitions()
	}
	if err != nil {
		return err
	}
	complete, w.Instance.Unobserved = true, ""
	return nil
}

// inventoryPhase makes a phase of TakeInventory.
func inventoryPhase(name string, infra Infra) Phase {
	return Phase{Name: name, ReadOnly: true, Run: func(ctx context.Context, w *Execution) error {
		return TakeInventory(ctx, infra, w)
	}}
}
