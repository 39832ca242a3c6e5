package vnfpkg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Onboard reads and checks the content of a package in PROCESSING and makes it ONBOARDED, or CREATED with the reason.
// It is the work of the job "vnfpkg.onboard". It may be called any number of times, by several nodes at the same time
// and after a crash at any line; a package in another state is left alone, and the work on one that is deleted ends.
// An error is the machine's or the database's, and means that it must be called again; after maxAttempts the package is
// CREATED with the last error.
func (s *Services) Onboard(ctx context.Context, id string) error {
	p, err := s.store.Package(ctx, id)
	if err != nil || p.OnboardingState != sol.PackageOnboardingStateProcessing || p.Content == nil {
		if isNotFound(err) {
			return nil
		}
		return err
	}
	p, exhausted, err := s.beginAttempt(ctx, p)
	if err != nil || p == nil {
		return err
	}
	if exhausted {
		return s.rejectPackage(ctx, p, exhaustedFailure(p.Failure))
	}

	work, stop := s.watchProcessing(ctx, p)
	contents, err := s.read(work, p.Content.Digest)
	stop()
	if isOutdated(err) {
		return s.endOutdated(ctx, p, err)
	}
	if why := rejectionFailure(err); why != nil {
		return s.rejectPackage(ctx, p, why)
	}
	if err != nil {
		return s.retryLater(ctx, p, err.Error(), err)
	}

	// Before the state: a model without a package is harmless, a package without a model is slow.
	if err := s.saveModel(ctx, p.Content.Digest, contents.VNFD); err != nil {
		return s.retryLater(ctx, p, "the VNFD could not be stored", err)
	}
	checked, err := checkFiles(
		func() (fs.FS, error) { return s.files(ctx, p.Content.Digest) }, contents.VNFD, s.mgmt,
	)
	if err != nil {
		return s.retryLater(ctx, p, "the files of the package cannot be read", err)
	}
	_, err = s.store.UpdatePackage(ctx, id, func(q *Package, now time.Time) error {
		if err := q.processes(p.Content.Digest); err != nil {
			return err
		}
		q.OnboardingState, q.OperationalState = sol.PackageOnboardingStateOnboarded, sol.PackageOperationalStateEnabled
		q.VnfdID, q.Onboarded, q.Failure = contents.VNFD.ID, contents.describe(now), nil
		ignored, warnings := checkMgmt(contents.VNFD, s.mgmt, ignoredNames(q.UserDefinedData))
		q.Onboarded.IgnoredDrivers = ignored
		warnings = slices.Concat(contents.Warnings, warnings, checked)
		q.Onboarded.Warnings = warnings[:min(len(warnings), maxWarnings)]
		return nil
	})
	switch {
	case err == nil:
		s.log.InfoContext(ctx, "package onboarded", "package", id, "vnfd", contents.VNFD.ID,
			"files", contents.Report.Files, "bytes", contents.Report.Bytes, "warnings", len(contents.Warnings),
			"signature", contents.Signature.State)
		return nil
	case errors.Is(err, ErrVnfdTaken):
		other := ""
		if o, err := s.In(lcm.Principal{Project: p.Project}).store.OnboardedPackage(ctx, contents.VNFD.ID); err == nil {
			other = o.ID
		}
		return s.rejectPackage(ctx, p, vnfdTakenFailure(contents.VNFD.ID, other))
	}
	return s.endOutdated(ctx, p, err)
}

// rejectPackage returns a package to CREATED with a failure.
func (s *Services) rejectPackage(ctx context.Context, p *Package, why *sol.ProblemDetails) error {
	_, err := s.store.UpdatePackage(ctx, p.ID, func(q *Package, _ time.Time) error {
		if err := q.processes(p.Content.Digest); err != nil {
			return err
		}
		q.OnboardingState, q.Content, q.Onboarded, q.Failure = sol.PackageOnboardingStateCreated, nil, nil, why
		return nil
	})
	if err != nil {
		return s.endOutdated(ctx, p, err)
	}
	s.log.WarnContext(ctx, "package refused", "package", p.ID, "detail", why.Detail)
	s.release(ctx, p.Content)
	return nil
}

// read checks an archive, parses its VNFD and extracts it.
func (s *Services) read(ctx context.Context, digest string) (*Contents, error) {
	var contents *Contents
	err := s.withArchive(ctx, digest, func(d content.Digest, a opened) error {
		checker, err := s.checkSignatures(ctx, a)
		if err != nil {
			return err
		}
		p, err := s.parse(a.Archive)
		if err != nil {
			return err
		}
		p.checker, p.signatures, p.container = checker, s.signatures, a.container != nil
		tree, err := s.content.Extract(ctx, d, func(ctx context.Context, dst *os.Root) error {
			if err := s.content.CheckSpace(a.UnpackedBytes()); err != nil {
				return err
			}
			if contents, err = p.verify(ctx, dst); err != nil {
				return err
			}
			return s.keepArchive(ctx, dst, a.container)
		})
		if err != nil {
			return err
		}
		if contents == nil { // extracted already, by a predecessor or for another package
			contents, err = p.verify(ctx, nil)
		}
		return errors.Join(err, tree.Close())
	})
	return contents, err
}

// checkSignatures returns the checker of a package. Without Require, a package is onboarded even if the trust store
// cannot be read.
func (s *Services) checkSignatures(ctx context.Context, a opened) (*signature.Checker, error) {
	c, err := s.signatures.checker(ctx, a)
	if !errors.Is(err, errTrustStore) || s.signatures.Policy == signature.Require {
		return c, err
	}
	s.log.WarnContext(ctx, "signatures are checked without the trust store", "error", err)
	without := s.signatures
	without.Trust = func() (*signature.Trust, error) { return signature.LoadTrust("", nil) }
	return without.checker(ctx, a)
}

func (s *Services) withArchive(
	ctx context.Context, digest string, do func(content.Digest, opened) error,
) (err error) {
	d, err := content.ParseDigest(digest)
	if err != nil {
		return err
	}
	a, err := s.openArchive(ctx, d)
	if err != nil {
		return asContentLost(err)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return do(d, *a)
}

// openArchive opens the archive of a package, or the one in its container. It has to be closed.
func (s *Services) openArchive(ctx context.Context, d content.Digest) (*opened, error) {
	blob, err := s.content.Open(d)
	if err != nil {
		return nil, err
	}
	a, container, err := csar.OpenUpload(ctx, blob, blob.Size(), s.limits.Archive, s.scratch(d))
	if err != nil {
		return nil, errors.Join(err, blob.Close())
	}
	o := &opened{Archive: a, container: container, bytes: blob, blob: blob}
	if container != nil {
		o.bytes = container.Archive()
	}
	return o, nil
}

func (s *Services) parse(a *csar.Archive) (*parsed, error) {
	s.parsing.Lock()
	defer s.parsing.Unlock()
	return parse(a, s.limits.VNFD)
}

// files gives the extracted files of an onboarded archive, and extracts it again where they are missing: another node
// may have onboarded it into a store of which only the archives were restored.
func (s *Services) files(ctx context.Context, digest string) (fs.FS, error) {
	d, err := content.ParseDigest(digest)
	if err != nil {
		return nil, err
	}
	fsys, err := s.content.Files(d)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return fsys, err
	}
	err = s.withArchive(ctx, digest, func(d content.Digest, a opened) error {
		tree, err := s.content.Extract(ctx, d, func(ctx context.Context, dst *os.Root) error {
			if _, err := a.Verify(ctx, dst); err != nil {
				return err
			}
			return s.keepArchive(ctx, dst, a.container)
		})
		if err != nil {
			return err
		}
		return tree.Close()
	})
	if err != nil {
		return nil, err
	}
	return s.content.Files(d)
}

func (s *Services) saveModel(ctx context.Context, digest string, model *vnfd.VNFD) error {
	data, err := json.Marshal(model)
	if err != nil {
		return fmt.Errorf("encode VNFD: %w", err)
	}
	return s.store.SavePackageModel(ctx, ModelKey{Digest: digest, Format: modelFormat}, data)
}
