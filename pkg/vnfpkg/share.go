package vnfpkg

import (
	"context"
	"errors"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Share lets all projects use a package of this project, or ends that. Instances of other projects that use it stay and
// go on. CodeConflict when the package is not ONBOARDED, or another package with its vnfdId is shared.
func (s *Service) Share(ctx context.Context, id string, shared bool) error {
	_, err := s.store.UpdatePackage(ctx, id, func(p *Package, _ time.Time) error {
		if shared && p.OnboardingState != sol.PackageOnboardingStateOnboarded {
			return conflict(p, "it is %s, and only an ONBOARDED package can be shared", p.OnboardingState)
		}
		p.Shared = shared
		return nil
	})
	if errors.Is(err, ErrVnfdShared) {
		return lcm.Errorf(lcm.CodeConflict, "a package with the same vnfdId is shared already").WithHint(
			"find it in the list of packages; a project's own package precedes it there",
		)
	}
	return err
}

// Shared lists the shared packages, of all projects. Own says which of them belong to this project.
func (s *Service) Shared(ctx context.Context) (shared []*Package, own map[string]bool, err error) {
	all, err := s.store.Packages(ctx, Query{Brief: true})
	if err != nil {
		return nil, nil, err
	}
	own = map[string]bool{}
	for _, p := range all {
		if p.Shared {
			shared = append(shared, p)
			own[p.ID] = p.Project == s.project
		}
	}
	return shared, own, nil
}
