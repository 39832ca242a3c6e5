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
