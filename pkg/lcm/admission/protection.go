package admission

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Protect protects an instance against requests that delete machines, and returns the protection. A protected instance
// gets the new reason; the time stays if the reason is the same.
func (s *Service) Protect(ctx context.Context, id, reason string) (*lcm.Protection, error) {
	i, err := s.Store.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	if p := i.Protection; p != nil && p.Reason == reason {
		return p, nil
	}
	p := &lcm.Protection{Reason: reason, By: s.principal.Subject, Since: s.Clock.Now()}
	return p, s.Store.SetProtection(ctx, id, p)
}

// Unprotect removes the protection of an instance, if it has one.
func (s *Service) Unprotect(ctx context.Context, id string) error {
	return s.Store.SetProtection(ctx, id, nil)
}

// requireUnused returns CodeConflict, with the instances, if others have resources in a cluster that an instance has
// made. One that is instantiated at the same time may be missed: its cluster is gone then, as after a FORCEFUL
// termination.
func (s *Service) requireUnused(ctx context.Context, i *lcm.Instance) error {
	for _, vim := range i.MadeVims() {
		users, err := s.Store.VimUsers(ctx, vim)
		if err != nil {
			return err
		}
		if len(users) == 0 {
			continue
		}
		e := lcm.Errorf(lcm.CodeConflict,
			"VNF instance %s is a cluster in which other VNF instances have resources: %s", i.ID, lcm.NameUsers(users))
		e.Title = "Cluster is in use"
		return e.WithHint("terminate them first; terminationType FORCEFUL (gybe vnf terminate --force) deletes the " +
			"cluster with their resources")
	}
	return nil
}
