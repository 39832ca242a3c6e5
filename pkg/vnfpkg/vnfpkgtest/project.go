package vnfpkgtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// AllPackages implements vnfpkg.Stores.
func (m *Memory) AllPackages() vnfpkg.Store { return m }

// PackagesOf implements vnfpkg.Stores.
func (m *Memory) PackagesOf(p lcm.Principal) vnfpkg.Store {
	return ofProject{m, cmp.Or(p.Project, lcm.DefaultProject)}
}

// ofProject is the packages of one project.
type ofProject struct {
	*Memory
	project string
}

// has refuses a package of another project.
func (m ofProject) has(p *vnfpkg.Package) error {
	switch {
	case p.Project == m.project:
		return nil
	case p.Shared:
		return lcm.Errorf(lcm.CodeForbidden, "VNF package %s belongs to another project, which shares it", p.ID)
	}
	return notFound("VNF package", p.ID)
}

// sees refuses a package of another project that does not share it.
func (m ofProject) sees(p *vnfpkg.Package) error {
	if p.Shared {
		return nil
	}
	return m.has(p)
}

// InsertPackage implements vnfpkg.Store.
func (m ofProject) InsertPackage(ctx context.Context, p *vnfpkg.Package) error {
	p.Project = m.project
	return m.Memory.InsertPackage(ctx, p)
}

// Package implements vnfpkg.Store.
func (m ofProject) Package(ctx context.Context, id string) (*vnfpkg.Package, error) {
	p, err := m.Memory.Package(ctx, id)
	if err == nil {
		err = m.sees(p)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// OnboardedContent implements vnfpkg.Store.
func (m ofProject) OnboardedContent(_ context.Context, digest string) (_ *vnfpkg.Package, err error) {
	end, err := m.begin("OnboardedContent")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	if p := m.byContent(m.project, digest); p != nil {
		return m.clone(p), nil
	}
	return nil, notFound("onboarded VNF package with the content", digest)
}

// Packages implements vnfpkg.Store.
func (m ofProject) Packages(ctx context.Context, q vnfpkg.Query) ([]*vnfpkg.Package, error) {
	every := q
	every.Limit = 0
	all, err := m.Memory.Packages(ctx, every)
	all = slices.DeleteFunc(all, func(p *vnfpkg.Package) bool { return m.sees(p) != nil })
	if q.Limit > 0 && len(all) > q.Limit {
		all = all[:q.Limit]
	}
	return all, err
}

// OnboardedPackage implements vnfpkg.Store.
func (m ofProject) OnboardedPackage(_ context.Context, vnfdID string) (_ *vnfpkg.Package, err error) {
	end, err := m.begin("OnboardedPackage")
	if err != nil {
		return nil, err
	}
	defer end(&err)
	if p := m.byVnfd(m.project, vnfdID); p != nil {
		return m.clone(p), nil
	}
	if p := m.sharedByVnfd(vnfdID); p != nil {
		return m.clone(p), nil
	}
	return nil, notFound("onboarded VNF package of", vnfdID)
}

// UpdatePackage implements vnfpkg.Store.
func (m ofProject) UpdatePackage(
	ctx context.Context, id string, change func(*vnfpkg.Package, time.Time) error,
) (*vnfpkg.Package, error) {
	return m.Memory.UpdatePackage(ctx, id, func(p *vnfpkg.Package, now time.Time) error {
		if err := m.has(p); err != nil {
			return err
		}
		return change(p, now)
	})
}

// DeletePackage implements vnfpkg.Store.
func (m ofProject) DeletePackage(
	ctx context.Context, id string, check func(*vnfpkg.Package) error,
) (*vnfpkg.Package, error) {
	return m.Memory.DeletePackage(ctx, id, func(p *vnfpkg.Package) error {
		if err := m.has(p); err != nil {
			return err
		}
		return check(p)
	})
}
