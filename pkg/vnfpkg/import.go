package vnfpkg

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// importRetry is the time after which a package that could not be imported is downloaded again.
const importRetry = time.Minute

// errImported ends a change of a package whose import is under way, or has failed a short time ago.
var errImported = errors.New("the package is being imported")

// Import brings the package with a vnfdId from another system into the project of a principal, and returns it as it is
// now: UPLOADING or PROCESSING while it is on its way, ONBOARDED, or CREATED with the failure of the last attempt. find
// finds the source when a download begins; it MUST NOT take it from a client. Import may be called any number of times
// and by several nodes at once: the id of the package follows from project and vnfdId, so there is one.
func (s *Services) Import(
	ctx context.Context, p lcm.Principal, vnfdID string,
	find func(context.Context) (*sol.UploadVnfPackageFromUriRequest, error),
) (*Package, error) {
	if s.fetcher == nil {
		return nil, lcm.Errorf(lcm.CodeUnavailable, "this node does not download packages")
	}
	service := s.In(p)
	if found, err := service.store.OnboardedPackage(ctx, vnfdID); !isNotFound(err) {
		return found, err
	}
	id := importID(service.project, vnfdID)
	found, err := service.store.Package(ctx, id)
	if err != nil && !isNotFound(err) ||
		err == nil && found.OnboardingState != sol.PackageOnboardingStateCreated ||
		err == nil && found.Failure != nil && time.Since(found.Updated) < importRetry {
		return found, err
	}
	src, err := find(ctx)
	if err != nil {
		return nil, err
	}
	if found == nil {
		if found, err = service.insertImport(ctx, id); err != nil {
			return nil, err
		}
	}
	started, err := service.store.UpdatePackage(ctx, id, func(p *Package, now time.Time) error {
		if p.OnboardingState != sol.PackageOnboardingStateCreated || p.Version != found.Version {
			return errImported // by another request
		}
		p.OnboardingState, p.Failure, p.Source = sol.PackageOnboardingStateUploading, nil, src
		p.Download = &Download{Token: uuid.NewString(), Started: now, Address: src.AddressInformation}
		return nil
	})
	if errors.Is(err, errImported) {
		return service.store.Package(ctx, id)
	}
	return started, err
}

// importID is the id of the package that is imported for a vnfdId.
func importID(project, vnfdID string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("gybe-import:"+project+":"+vnfdID)).String()
}

// insertImport creates the package of an import, or returns the one that another request has created.
func (s *Service) insertImport(ctx context.Context, id string) (*Package, error) {
	p := &Package{
		ID: id, OnboardingState: sol.PackageOnboardingStateCreated,
		OperationalState: sol.PackageOperationalStateDisabled, UsageState: sol.PackageUsageStateNotInUse,
	}
	failure := s.store.InsertPackage(ctx, p)
	if failure == nil {
		return p, nil
	}
	if found, err := s.store.Package(ctx, id); err == nil {
		return found, nil
	}
	return nil, failure
}
