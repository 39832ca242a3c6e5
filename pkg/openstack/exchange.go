package openstack

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// exchanged says whether an operation is one that replaces the VDUs of an instance.
func exchanged(t sol.LcmOperationType) bool {
	return t == sol.LcmOperationChangeFlavour || t == sol.LcmOperationChangeVnfpkg
}

// begins says whether the operation gives the part its first VDU, so that it has no stack before.
func (s *part) begins() bool {
	return s.away != nil && exchanged(s.w.Op.Type) && !s.primary() && !slices.Contains(
		recordedVims(s.whole.Op.Before), s.vim,
	)
}

// ends says whether the operation takes the part its last VDU, so that it has no stack afterwards.
func (s *part) ends() bool {
	after, _ := origins(s.w)
	return s.away != nil && exchanged(s.w.Op.Type) && !s.primary() && after.Flavour != nil &&
		len(after.Flavour.VDUs) == 0
}

// created and deleted say what becomes of the stack of a part that begins or ends; a rollback does the opposite.
func (s *part) created() bool {
	if s.w.Op.State == sol.LcmOperationStateRollingBack {
		return s.ends()
	}
	return s.begins()
}

func (s *part) deleted() bool {
	if s.w.Op.State == sol.LcmOperationStateRollingBack {
		return s.begins()
	}
	return s.ends()
}

// exchange brings the stacks of an instance to another flavour or package, or back. Stacks of parts that end, and
// images that no stack uses, are deleted when all other stacks are done.
func (d *Driver) exchange(
	ctx context.Context, w *lcm.Execution, change func(*tick, context.Context) (stack.Desired, error),
) error {
	var all []stack.Desired
	err := d.each(ctx, w, func(ctx context.Context, t *tick) error {
		do := change
		switch {
		case t.part.deleted():
			return nil
		case t.part.created():
			do = (*tick).establish
		}
		s, err := do(t, ctx)
		all = append(all, s)
		return err
	})
	if err != nil {
		return err
	}
	holds := func(ctx context.Context) ([]*userdata.Stack, error) {
		var out []*userdata.Stack
		for _, desired := range all {
			s, err := desired(ctx)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, nil
	}
	err = d.each(ctx, w, func(ctx context.Context, t *tick) error {
		if !t.part.deleted() {
			return nil
		}
		return t.stack.Delete(ctx)
	})
	if err != nil {
		return err
	}
	return d.each(ctx, w, func(ctx context.Context, t *tick) error { // no rollback is possible from here on
		switch {
		case t.part.deleted():
			return t.images().Prune(ctx, holds, nil)
		case w.Op.Type == sol.LcmOperationChangeVnfpkg:
			return t.images().Prune(ctx, holds, w.Flavour)
		}
		return nil
	})
}

// establish creates the stack of a part that begins, or recreates that of a part that would have ended, and returns it.
func (t *tick) establish(ctx context.Context) (stack.Desired, error) {
	desired, back := stack.Desired(t.desired), t.w.Op.State == sol.LcmOperationStateRollingBack
	if back {
		g, err := t.previousAt(&t.part)
		if err != nil {
			return nil, err
		}
		desired = t.built(g)
		st, err := t.stack.Find(ctx)
		if err != nil {
			return nil, err
		}
		if st != nil && st.ID == stack.Recorded(t.w.Op.Before) && !st.Deleting() && !st.Failed() { // it was not deleted
			return desired, nil
		}
	} else if err := t.images().Provide(ctx, images.Packaged(t.w.Flavour)); err != nil {
		return nil, err
	}
	return desired, t.stack.Create(ctx, desired)
}

// absent says whether the part has no stack, because the operation has not created it yet, or has deleted it.
func (t *tick) absent(ctx context.Context) (bool, error) {
	if !t.part.begins() && !t.part.ends() {
		return false, nil
	}
	st, err := t.stack.Find(ctx)
	return st == nil, err
}

// removed lists what the operation has deleted with the stack of the part.
func (t *tick) removed() *sol.ResourceChanges {
	return inventory.Changes(inventory.RecordOf(t.w.Op.Before).Present(), inventory.Record{})
}
