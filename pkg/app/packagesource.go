package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/download"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/nfvo"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// fetcher sends requests for the content of packages: to the NFVO with the login to it, to other servers with that of
// the request.
type fetcher struct {
	*download.Client
	nfvo *nfvo.Client // nil without an NFVO
}

// Get implements vnfpkg.Fetcher.
func (f fetcher) Get(
	ctx context.Context, src *sol.UploadVnfPackageFromUriRequest, header http.Header,
) (*http.Response, error) {
	switch {
	case src.AuthType != nfvo.AuthType:
		return f.Client.Get(ctx, src, header)
	case f.nfvo == nil:
		return nil, lcm.Errorf(lcm.CodeUpstream, "the setting nfvo.url is not set any more")
	}
	return f.nfvo.GetContent(ctx, src, header)
}

// packageSource brings packages from the NFVO. It implements lcm.PackageSource.
type packageSource struct {
	nfvo     *nfvo.Client
	packages *vnfpkg.Services
}

const (
	// bringTime is how long a request waits for a package, bringLook the time between two looks.
	bringTime, bringLook = 5 * time.Second, 100 * time.Millisecond
)

// Bring implements lcm.PackageSource.
func (s *packageSource) Bring(ctx context.Context, p lcm.Principal, vnfdID string) error {
	// The package is not the effect of the request's Idempotency-Key; the operation is.
	work, cancel := context.WithTimeout(lcm.WithoutRequestKey(ctx), bringTime)
	defer cancel()
	find := func(ctx context.Context) (*sol.UploadVnfPackageFromUriRequest, error) {
		return s.nfvo.FindPackage(ctx, vnfdID)
	}
	var found *vnfpkg.Package
	for tick := time.NewTicker(bringLook); ; {
		looked, err := s.packages.Import(work, p, vnfdID, find)
		if err == nil {
			found = looked
		}
		if work.Err() != nil {
			tick.Stop()
			return onItsWay(found, vnfdID)
		}
		if err != nil || found.OnboardingState == sol.PackageOnboardingStateOnboarded ||
			found.OnboardingState == sol.PackageOnboardingStateCreated {
			tick.Stop()
			return brought(found, vnfdID, err)
		}
		select {
		case <-work.Done():
		case <-tick.C:
		}
	}
}

// brought is the outcome of an import that has ended.
func brought(p *vnfpkg.Package, vnfdID string, err error) error {
	switch {
	case err != nil:
		return err
	case p.OnboardingState == sol.PackageOnboardingStateOnboarded && p.VnfdID == vnfdID:
		return nil
	case p.OnboardingState == sol.PackageOnboardingStateOnboarded:
		return lcm.Errorf(lcm.CodeUnprocessable, "the NFVO's package for the vnfdId %q has the vnfdId %q", vnfdID,
			p.VnfdID)
	}
	reason := "the import was interrupted"
	if p.Failure != nil {
		reason = p.Failure.Detail
	}
	return lcm.Errorf(lcm.CodeUnprocessable, "the package with the vnfdId %q could not be brought from the NFVO: %s",
		vnfdID, reason).WithHint(fmt.Sprintf("see VNF package %s; another request after a minute tries again", p.ID))
}

// onItsWay is the answer to a request whose package is not there yet.
func onItsWay(p *vnfpkg.Package, vnfdID string) error {
	e := &lcm.Error{
		Code: lcm.CodeUnavailable, Title: "The package is on its way", RetryAfter: bringTime,
		Detail: fmt.Sprintf("the package with the vnfdId %q is being brought from the NFVO", vnfdID),
		Hint:   "send the request again",
	}
	if p != nil {
		e.Detail += fmt.Sprintf(" as VNF package %s, which is %s", p.ID, p.OnboardingState)
		if d := p.Download; d != nil && d.Total > 0 {
			e.Detail += fmt.Sprintf(" (%d of %d bytes)", d.Received, d.Total)
		}
	}
	return e
}
