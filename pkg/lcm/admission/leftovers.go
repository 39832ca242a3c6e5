package admission

import (
	"context"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Leftovers compares what the instance should have in its VIM with what is there under its name or tag. An instance
// that is not instantiated should have nothing.
func (s *Service) Leftovers(ctx context.Context, id string) (*lcm.Leftovers, error) {
	i, err := s.Store.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	infra, seen, err := s.leftoverTarget(ctx, i)
	if err != nil {
		return nil, err
	}
	snapshots, err := s.SnapshotsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return infra.Leftovers(ctx, seen, snapshots)
}

// RemoveLeftovers removes what Leftovers reports as extra, and returns what it removed and what remains, with the
// reasons. It holds a lease during this time: it returns CodeConflict while an operation is active, and no operation is
// admitted until it ends. It also returns CodeConflict for a protected instance: the inventory, by which leftovers are
// found, can be out of date. An instance that is NOT_INSTANTIATED does not hold resources any more when nothing
// remains.
func (s *Service) RemoveLeftovers(ctx context.Context, id string) (removed, left []lcm.Leftover, err error) {
	err = s.underLease(ctx, id, "it removes leftovers from the VIM",
		func(ctx context.Context, i *lcm.Instance) (func(*lcm.Instance), error) {
			if err := i.Protection.RefuseDeletion(i.ID, "resources in the VIM are not deleted"); err != nil {
				return nil, err
			}
			infra, seen, err := s.leftoverTarget(ctx, i)
			if err != nil {
				return nil, err
			}
			snapshots, err := s.SnapshotsOf(ctx, i.ID)
			if err != nil {
				return nil, err
			}
			found, err := infra.Leftovers(ctx, seen, snapshots)
			if err != nil {
				return nil, err
			}
			if len(found.Extra) > 0 {
				if left, err = infra.RemoveLeftovers(ctx, seen, snapshots, found.Extra); err != nil {
					return nil, err
				}
			}
			removed = slices.DeleteFunc(slices.Clone(found.Extra), func(e lcm.Leftover) bool {
				return slices.ContainsFunc(left, func(l lcm.Leftover) bool { return l.Type == e.Type && l.ID == e.ID })
			})
			if i.State == sol.InstantiationStateNotInstantiated && len(left) == 0 {
				return (*lcm.Instance).Release, nil
			}
			return nil, nil //nolint:nilnil // the contract: nothing to change
		})
	if err != nil {
		return nil, nil, err
	}
	return removed, left, nil
}

// leftoverTarget is the instance whose leftovers are looked for: with the connections of the last instantiation, or
// else the default VIM, when it has none now.
func (s *Service) leftoverTarget(ctx context.Context, i *lcm.Instance) (lcm.Infra, *lcm.Instance, error) {
	seen := *i
	if seen.State == sol.InstantiationStateNotInstantiated {
		seen.Instantiated, seen.Inventory = nil, nil
	}
	for _, conns := range []map[string]sol.VimConnectionInfo{i.VimConnections, i.PreviousVims} {
		if _, _, ok := lcm.PrimaryVim(conns); ok {
			seen.VimConnections = maps.Clone(conns)
			infra, err := s.infra(&seen)
			return infra, &seen, err
		}
	}
	conns, err := s.connections(ctx, i.ID, nil)
	if err != nil {
		return nil, nil, err
	}
	if len(conns) == 0 {
		return nil, nil, lcm.Errorf(lcm.CodeConflict,
			"VNF instance %s has never had a VIM, and no default VIM is registered", i.ID).
			WithHint("register the VIM as the default one to look for leftovers there")
	}
	seen.VimConnections = conns
	infra, err := s.infra(&seen)
	return infra, &seen, err
}
