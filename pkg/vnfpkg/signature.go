package vnfpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

// Signatures says how the signatures of packages decide about their onboarding.
type Signatures struct {
	// Policy is signature.Off when it is empty.
	Policy signature.Policy
	// Trust reads the trust store. It is called for each package, so that changed files count at once. It is not called
	// if the policy is Off.
	Trust func() (*signature.Trust, error)
	// Now is time.Now when it is nil.
	Now func() time.Time
}

// opened is a package archive with the container that it came in.
type opened struct {
	*csar.Archive
	container *csar.Container // nil without one
	bytes     io.ReaderAt     // of the archive; nil if only its files are used
	blob      io.Closer       // the upload, nil if the caller closes it
}

// Close closes the upload and removes what was unpacked from a container.
func (o *opened) Close() error {
	err := o.container.Close()
	if o.blob != nil {
		err = errors.Join(err, o.blob.Close())
	}
	return err
}

// checker returns a checker for the signatures of a package, nil if they are not read. With Require, a package that is
// not signed by a trusted signer is a *csar.Rejection.
func (s Signatures) checker(ctx context.Context, o opened) (*signature.Checker, error) {
	if s.Policy != signature.Require && s.Policy != signature.Warn {
		return nil, nil //nolint:nilnil // no checks
	}
	trust, err := s.Trust()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTrustStore, err)
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	c, err := signature.NewChecker(ctx, o.Archive, o.container, trust, now())
	if err != nil {
		return nil, err
	}
	return c, s.decide(c.Result())
}

// errTrustStore reports that the trust store of this node cannot be read.
var errTrustStore = errors.New("the trust store of this node (packages.trust_dir, packages.trust_files) cannot be read")

// decide returns the rejection of a package that the policy does not accept.
func (s Signatures) decide(r *signature.Result) error {
	if s.Policy != signature.Require || r.State == signature.Trusted {
		return nil
	}
	out := &csar.Rejection{
		Reason: csar.Untrusted, Detail: "this node requires signed packages, and the package is " + string(r.State),
	}
	if c := r.Problem(); c != nil {
		out.Detail = fmt.Sprintf("the check %q of the package's signature failed: %s", c.Name, c.Detail)
		if c.Subject != "" {
			out.Detail = fmt.Sprintf(
				"the check %q of the package's signature failed for %s: %s", c.Name, c.Subject, c.Detail,
			)
		}
		out.Hint = c.Hint
	}
	return out
}

// Signature returns the result of checking the signatures of a package; CodeConflict when it is not ONBOARDED.
func (s *Service) Signature(ctx context.Context, id string) (*signature.Result, error) {
	p, err := onboarded(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	if p.Onboarded.Signature == nil { // of an earlier release
		return &signature.Result{State: signature.NotChecked, Option: signature.Option1}, nil
	}
	return p.Onboarded.Signature, nil
}
