package vnfpkg

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Upload stores the content of a package (SOL005 clause 9.4.5.3.3) and returns when it is safe and its onboarding is
// under way; the package shows the outcome. It is CodePrecondition when the package does not have ifVersion,
// CodeConflict when it has content or another upload is running, CodeTooLarge when the content is over the limit, and
// CodeInvalid when r ends early. After an error the package is CREATED again and shows the reason.
func (s *Service) Upload(ctx context.Context, id string, ifVersion *int64, r io.Reader) error {
	token := uuid.NewString()
	if _, err := s.store.UpdatePackage(ctx, id, func(p *Package, now time.Time) error {
		if err := p.acceptsContent(ifVersion); err != nil {
			return err
		}
		p.OnboardingState, p.Failure = sol.PackageOnboardingStateUploading, nil
		p.Upload = &Upload{Token: token, LeaseUntil: now.Add(s.lease)}
		return nil
	}); err != nil {
		return err
	}
	digest, err := s.upload(ctx, id, token, r)
	if err == nil {
		return nil
	}
	// The request may be over, the package must come back all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if s.isDeleted(ctx, id) {
		s.release(ctx, &Content{Digest: digest}) // it may have got its name after the package was deleted
		return lcm.Errorf(lcm.CodeNotFound, "VNF package %s was deleted during the upload", id)
	}
	e := uploadError(err)
	why := &sol.ProblemDetails{Title: e.Title, Status: e.Status(), Detail: e.Detail, Hint: e.Hint}
	s.undoUpload(ctx, id, why, func(p *Package, _ time.Time) error { return p.owns(token) })
	if s.uploadIsCommitted(ctx, id, digest) {
		return nil
	}
	if same, ok := errors.AsType[*IdenticalError](err); ok {
		return same
	}
	return e
}

func (p *Package) acceptsContent(ifVersion *int64) error {
	if err := checkVersion(p, ifVersion); err != nil {
		return err
	}
	if p.OnboardingState != sol.PackageOnboardingStateCreated {
		return conflict(p, "it is %s, and content can only be uploaded to a package that is CREATED", p.OnboardingState)
	}
	return nil
}

func (s *Service) isDeleted(ctx context.Context, id string) bool {
	_, err := s.store.Package(ctx, id)
	return isNotFound(err)
}

// CheckSpace refuses an upload of this size, of which nothing has been read yet, if the content store does not have the
// space: CodeUnavailable.
func (s *Service) CheckSpace(size int64) error {
	if err := s.content.CheckSpace(size); err != nil {
		return uploadError(err)
	}
	return nil
}

// uploadIsCommitted reports whether the last transaction of an upload was committed and only its response was lost.
func (s *Service) uploadIsCommitted(ctx context.Context, id, digest string) bool {
	p, err := s.store.Package(ctx, id)
	return err == nil && digest != "" && p.Content != nil && p.Content.Digest == digest &&
		(p.OnboardingState == sol.PackageOnboardingStateProcessing ||
			p.OnboardingState == sol.PackageOnboardingStateOnboarded)
}

// cleanUp is the time for putting a package back after its request has ended.
const cleanUp = 10 * time.Second

// upload does the work between UPLOADING and PROCESSING. It returns the digest once it is known.
func (s *Service) upload(ctx context.Context, id, token string, r io.Reader) (string, error) {
	ctx, stop := s.keepLease(ctx, id, token)
	defer stop()
	staged, err := s.content.Stage(ctx, r, s.limits.ArchiveBytes)
	if err != nil {
		return "", err
	}
	digest := string(staged.Digest)
	same, err := s.store.OnboardedContent(ctx, digest)
	if err == nil {
		return "", errors.Join(identical(same), staged.Publish())
	}
	if !isNotFound(err) {
		return "", errors.Join(err, staged.Discard())
	}
	// First the reference, then the archive: a concurrent deletion of the same content sees that it is needed.
	if _, err := s.store.UpdatePackage(ctx, id, func(p *Package, _ time.Time) error {
		p.Content = &Content{Digest: digest, Size: staged.Size}
		return p.owns(token)
	}); err != nil {
		return digest, errors.Join(err, staged.Discard())
	}
	if err := staged.Publish(); err != nil {
		return digest, err
	}
	_, err = s.store.UpdatePackage(ctx, id, func(p *Package, _ time.Time) error {
		if err := p.owns(token); err != nil {
			return err
		}
		p.OnboardingState, p.Upload = sol.PackageOnboardingStateProcessing, nil
		return nil
	})
	return digest, err
}

// owns refuses an upload that was given up, or replaced by a later one.
func (p *Package) owns(token string) error {
	if p.OnboardingState != sol.PackageOnboardingStateUploading || p.Upload == nil || p.Upload.Token != token {
		return ErrUploadLost
	}
	return nil
}

// keepLease renews the lease of an upload until stop is called, and cancels the returned context when it is lost.
func (s *Services) keepLease(ctx context.Context, id, token string) (context.Context, func()) {
	return repeat(ctx, s.lease/3, func(ctx context.Context) error {
		err := s.store.RenewUpload(ctx, id, token, s.lease)
		if errors.Is(err, ErrUploadLost) {
			return err
		}
		if err != nil && ctx.Err() == nil { // the database is away; it may be back in time
			s.log.WarnContext(ctx, "lease of upload not renewed", "package", id, "error", err)
		}
		return nil
	})
}

// abandoned refuses to end an upload whose lease is not over.
func (p *Package) abandoned(now time.Time) error {
	if p.OnboardingState != sol.PackageOnboardingStateUploading || p.Upload != nil && !p.Upload.LeaseUntil.Before(now) {
		return ErrUploadLost
	}
	return nil
}

// undoUpload returns a package to CREATED if may agrees; ErrUploadLost of may means that there is nothing to undo.
func (s *Services) undoUpload(
	ctx context.Context, id string, why *sol.ProblemDetails, may func(p *Package, now time.Time) error,
) {
	var content *Content
	_, err := s.store.UpdatePackage(ctx, id, func(p *Package, now time.Time) error {
		if err := may(p, now); err != nil {
			return err
		}
		content = p.Content
		p.OnboardingState, p.Upload, p.Content, p.Failure = sol.PackageOnboardingStateCreated, nil, nil, why
		return nil
	})
	switch {
	case err == nil:
		s.release(ctx, content)
	case !errors.Is(err, ErrUploadLost) && !isNotFound(err):
		s.log.WarnContext(ctx, "upload not undone yet", "package", id, "error", err)
	}
}

// uploadError tells the client's faults from ours.
func uploadError(err error) *lcm.Error {
	var (
		known *lcm.Error
		limit *content.LimitError
		space *content.SpaceError
		body  *http.MaxBytesError
		disk  *fs.PathError
	)
	const again = "upload the package again"
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &limit):
		return &lcm.Error{
			Code: lcm.CodeTooLarge, Title: "The VNF package is too large", Detail: limit.Error(), Cause: err,
		}
	case errors.As(err, &space):
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Not enough disk space", Detail: space.Error(),
			Hint:  "delete packages that are not used, or ask the operator for more disk space (limits.free_space)",
			Cause: err, RetryAfter: time.Minute,
		}
	case errors.As(err, &body):
		return &lcm.Error{
			Code: lcm.CodeTooLarge, Title: "The VNF package is too large",
			Detail: (&content.LimitError{Limit: body.Limit}).Error(), Cause: err,
		}
	case errors.Is(err, ErrUploadLost):
		return &lcm.Error{
			Code: lcm.CodeConflict, Title: "The upload timed out",
			Detail: "the upload made no progress for so long that it was cancelled", Hint: again, Cause: err,
		}
	case errors.As(err, &disk):
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "The VNF package cannot be stored",
			Detail: "the content store does not take it now; the log has the cause", Hint: again, Cause: err,
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "The upload was interrupted",
			Detail: "the request ended before all content had arrived", Hint: again, Cause: err,
		}
	}
	return &lcm.Error{
		Code: lcm.CodeInvalid, Title: "The upload was interrupted",
		Detail: "the content could not be read to its end", Hint: again, Cause: err,
	}
}
