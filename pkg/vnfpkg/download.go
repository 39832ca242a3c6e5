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

// Download is the progress of a download. It has no secrets.
type Download struct {
	// Token distinguishes this download from a later one of the same package, and names its partial content.
	Token   string    `json:"token"`
	Started time.Time `json:"started"`
	// Address is the address without its query, which can have a secret.
	Address string `json:"address"`
	// Received is the number of bytes that are durable, Total that of the whole content, 0 while it is not known.
	Received int64 `json:"received"`
	Total    int64 `json:"total,omitempty"`
	// Validator is the entity tag or the date of the content, for If-Range; "" when it has none that is strong.
	Validator string `json:"validator,omitempty"`
	// Attempts counts all attempts, Failures those since more than Most bytes were received, the most so far.
	Attempts int   `json:"attempts"`
	Failures int   `json:"failures,omitempty"`
	Most     int64 `json:"most,omitempty"`
	// Reason says why the last attempt failed; "" when it did not.
	Reason string `json:"reason,omitempty"`
}

// Fetcher sends requests for the content of packages to other servers.
type Fetcher interface {
	// Check rejects a source that is not valid or not allowed: CodeInvalid or CodeUnprocessable.
	Check(src *sol.UploadVnfPackageFromUriRequest) error
	// Address returns the address of a source as it may be shown.
	Address(src *sol.UploadVnfPackageFromUriRequest) string
	// Get asks for the content; header may have Range and If-Range. The response can have any status, and its body
	// must be closed. An error is lcm.Error, and says whether another attempt can help.
	Get(ctx context.Context, src *sol.UploadVnfPackageFromUriRequest, header http.Header) (*http.Response, error)
}

// UploadFrom begins to download the content of a package (SOL005 clause 9.4.6.3.1) and returns; the package shows the
// outcome. CodePrecondition when the package does not have ifVersion; CodeConflict when it has content or another
// upload is running; CodeInvalid or CodeUnprocessable for a source that is not valid or not allowed.
func (s *Service) UploadFrom(
	ctx context.Context, id string, ifVersion *int64, src *sol.UploadVnfPackageFromUriRequest,
) error {
	if s.fetcher == nil {
		return lcm.Errorf(lcm.CodeUnavailable, "this node does not download packages")
	}
	if err := s.fetcher.Check(src); err != nil {
		return err
	}
	_, err := s.store.UpdatePackage(ctx, id, func(p *Package, now time.Time) error {
		if err := p.acceptsContent(ifVersion); err != nil {
			return err
		}
		p.OnboardingState, p.Failure, p.Source = sol.PackageOnboardingStateUploading, nil, src
		p.Download = &Download{Token: uuid.NewString(), Started: now, Address: s.fetcher.Address(src)}
		return nil
	})
	return err
}

// Downloading returns the progress of the download of a package; CodeConflict when it is not downloaded now.
func (s *Service) Downloading(ctx context.Context, id string) (*Download, error) {
	p, err := s.store.Package(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.Download == nil {
		return nil, conflict(p, "it is %s, and its content is not downloaded now", p.OnboardingState)
	}
	return p.Download, nil
}

// downloads refuses a download that was given up, or replaced by a later one.
func (p *Package) downloads(token string) error {
	if p.OnboardingState != sol.PackageOnboardingStateUploading || p.Download == nil || p.Download.Token != token {
		return ErrUploadLost
	}
	return nil
}

// Download continues the download of a package that is UPLOADING from an address. It is the work of the job
// "vnfpkg.download". It may be called any number of times, by several nodes and after a crash at any line; a package
// that is not downloaded is left alone. again says that it must be called again after that time. An error is the
// machine's or the database's, and means that it must be called again.
func (s *Services) Download(ctx context.Context, id string) (after time.Duration, again bool, err error) {
	p, err := s.store.Package(ctx, id)
	if err != nil || p.Download == nil || p.Source == nil {
		if isNotFound(err) {
			err = nil
		}
		return 0, false, err
	}
	d := &transfer{Services: s, p: p, state: *p.Download}
	after, again, err = d.run(ctx)
	if errors.Is(err, ErrUploadLost) || isNotFound(err) {
		s.log.InfoContext(ctx, "download ended, the package was deleted or another node goes on", "package", id)
		if s.isGone(ctx, id, d.state.Token) {
			s.removePartial(ctx, p.Download)
			s.release(ctx, d.published)
		}
		return 0, false, nil
	}
	return after, again, err
}

// isGone reports that a package does not need the partial content of a download any more.
func (s *Services) isGone(ctx context.Context, id, token string) bool {
	p, err := s.store.Package(context.WithoutCancel(ctx), id)
	return isNotFound(err) || err == nil && p.downloads(token) != nil
}

// removePartial removes what a download has received. If this fails, Run removes it later.
func (s *Services) removePartial(ctx context.Context, d *Download) {
	if d == nil {
		return
	}
	if err := s.content.RemovePartial(d.Token); err != nil {
		s.log.WarnContext(ctx, "partial content is not removed yet", "error", err)
	}
}

// sweepPartials removes the partial content that no download needs.
func (s *Services) sweepPartials(ctx context.Context) error {
	tokens, err := s.content.Partials() // first: a download exists in the database before it has content
	if err != nil || len(tokens) == 0 {
		return err
	}
	all, err := s.store.Packages(ctx, Query{Brief: true})
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, p := range all {
		if p.Download != nil {
			needed[p.Download.Token] = true
		}
	}
	for _, token := range tokens {
		if !needed[token] {
			err = errors.Join(err, s.content.RemovePartial(token))
		}
	}
	return err
}

// transfer is one attempt of a download.
type transfer struct {
	*Services
	p       *Package
	state   Download
	partial *content.Partial
	// published is the content that was published.
	published *Content
}

const (
	// maxFailures bounds the attempts that bring nothing new.
	maxFailures = 12
	// saveEvery is how often the progress is stored; a node that dies loses as much.
	saveEvery = 2 * time.Second
	// maxPause bounds the time between two attempts, maxRetryAfter the one that the other server asks for.
	maxPause, maxRetryAfter = time.Minute, 10 * time.Minute
)

func (t *transfer) run(ctx context.Context) (after time.Duration, again bool, err error) {
	if done, err := t.adoptContent(ctx); done || err != nil {
		return 0, false, err
	}
	if time.Since(t.state.Started) > t.downloadTime {
		return 0, false, t.fail(ctx, &lcm.Error{
			Code: lcm.CodeTimeout, Title: "The download took too long",
			Detail: "it was not complete after " + t.downloadTime.String() + lastReason(t.state.Reason),
		})
	}
	ctx, cancel := context.WithDeadline(ctx, t.state.Started.Add(t.downloadTime)) // a server may send for ever
	defer cancel()
	if t.state.Failures >= maxFailures { // the last node died at the last attempt
		return 0, false, t.fail(ctx, exhausted(t.state))
	}
	t.state.Attempts++
	t.state.Failures++ // it counts also if this process dies
	if err := t.store.SaveDownload(ctx, t.p.ID, t.state); err != nil {
		return 0, false, err
	}
	if t.partial, err = t.content.OpenPartial(t.state.Token); err == nil {
		if err = t.receive(ctx); err == nil {
			err = t.finish(ctx)
		} else {
			err = errors.Join(err, t.partial.Close())
		}
	}
	switch {
	case err == nil, errors.Is(err, ErrUploadLost), isNotFound(err):
		return 0, false, err
	case errors.Is(err, content.ErrBusy) && t.state.Failures < 3: // its process may be about to end
		return time.Second, true, nil
	case errors.Is(err, content.ErrBusy):
		return time.Second, true, t.restart(ctx)
	case ctx.Err() != nil: // the node stops, or the time of the job is over; nothing is wrong
		t.state.Failures--
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		return 0, true, t.store.SaveDownload(ctx, t.p.ID, t.state)
	}
	return t.judge(ctx, downloadError(err))
}

// restart begins again with other partial content: a process that is frozen holds the lock of this one. Failures are
// counted.
func (t *transfer) restart(ctx context.Context) error {
	old := t.state
	_, err := t.store.UpdatePackage(ctx, t.p.ID, func(p *Package, _ time.Time) error {
		if err := p.downloads(old.Token); err != nil {
			return err
		}
		next := old
		next.Token, next.Received, next.Validator = uuid.NewString(), 0, ""
		p.Download = &next
		return nil
	})
	if err == nil {
		t.removePartial(ctx, &old)
	}
	return err
}

// adoptContent makes a package PROCESSING whose content a node has published before it died.
func (t *transfer) adoptContent(ctx context.Context) (bool, error) {
	if t.p.Content == nil {
		return false, nil
	}
	digest, err := content.ParseDigest(t.p.Content.Digest)
	if err != nil {
		return false, err
	}
	blob, err := t.content.Open(digest)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := blob.Close(); err != nil {
		return false, err
	}
	return true, t.process(ctx)
}

// receive asks for the bytes that are missing and stores them.
func (t *transfer) receive(ctx context.Context) error {
	if err := t.partial.Truncate(t.state.Received); err != nil { // more of it may not have reached the disk
		return err
	}
	t.state.Received = t.partial.Size()
	if t.state.Total > 0 && t.state.Received == t.state.Total {
		return nil
	}
	resp, err := t.fetcher.Get(ctx, t.p.Source, t.rangeHeader())
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // its errors do not matter: all bytes that are needed were read
	complete, err := t.accept(resp)
	if complete || err != nil {
		return err
	}
	if err := t.content.CheckSpace(max(0, t.state.Total-t.state.Received)); err != nil {
		return err
	}
	state := t.state // of the goroutine
	work, stop := repeat(ctx, saveEvery, func(ctx context.Context) error {
		var err error
		if state.Received, err = t.partial.Sync(); err == nil {
			state.countProgress()
			err = t.store.SaveDownload(ctx, t.p.ID, state)
		}
		if errors.Is(err, ErrUploadLost) {
			return err
		}
		if err != nil && ctx.Err() == nil { // the database may be back in time
			t.log.WarnContext(ctx, "progress of a download not stored", "package", t.p.ID, "error", err)
		}
		return nil
	})
	unblock := context.AfterFunc(work, func() { _ = resp.Body.Close() })
	err = t.partial.Append(work, resp.Body, t.limits.ArchiveBytes)
	unblock()
	stop()
	if cause := context.Cause(work); errors.Is(cause, ErrUploadLost) {
		return cause
	}
	received, failed := t.partial.Sync()
	if failed != nil {
		return errors.Join(err, failed)
	}
	t.state.Received = received
	if err == nil && t.state.Total > 0 && received != t.state.Total {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		t.state.Total = received
	}
	return err
}

// countProgress forgets the failures before an attempt that has received more than all before it.
func (d *Download) countProgress() {
	if d.Received > d.Most {
		d.Most, d.Failures = d.Received, 1
	}
}

// finish publishes the content and makes the package PROCESSING.
func (t *transfer) finish(ctx context.Context) error {
	work, stop := repeat(ctx, saveEvery, func(ctx context.Context) error {
		if t.isGone(ctx, t.p.ID, t.state.Token) {
			return ErrUploadLost
		}
		return nil
	})
	staged, err := t.partial.Stage(work)
	stop()
	if err != nil {
		if cause := context.Cause(work); errors.Is(cause, ErrUploadLost) {
			return cause
		}
		return err
	}
	same, err := t.In(lcm.Principal{Project: t.p.Project}).store.OnboardedContent(ctx, string(staged.Digest))
	if err == nil {
		return errors.Join(staged.Publish(), t.fail(ctx, lcm.AsError(identical(same))))
	}
	if !isNotFound(err) {
		return errors.Join(err, staged.Close())
	}
	c := &Content{Digest: string(staged.Digest), Size: staged.Size}
	// First the reference, then the archive: a concurrent deletion of the same content sees that it is needed.
	if _, err := t.store.UpdatePackage(ctx, t.p.ID, func(p *Package, _ time.Time) error {
		err := p.downloads(t.state.Token)
		p.Content, p.Download = c, &t.state
		return err
	}); err != nil {
		if known, ok := errors.AsType[*lcm.Error](err); ok && !isNotFound(err) && known.Class == lcm.Permanent {
			return errors.Join(staged.Discard(), t.fail(ctx, known)) // a quota, for example
		}
		return errors.Join(err, staged.Close())
	}
	if err := staged.Publish(); err != nil {
		return err
	}
	t.published = c
	return t.process(ctx)
}

// process makes the package PROCESSING.
func (t *transfer) process(ctx context.Context) error {
	_, err := t.store.UpdatePackage(ctx, t.p.ID, func(p *Package, _ time.Time) error {
		if err := p.downloads(t.state.Token); err != nil {
			return err
		}
		p.OnboardingState, p.Source, p.Download = sol.PackageOnboardingStateProcessing, nil, nil
		p.Failure = nil
		return nil
	})
	if err == nil {
		t.removePartial(ctx, &t.state)
		t.log.InfoContext(ctx, "package downloaded", "package", t.p.ID, "bytes", t.state.Total, "attempts",
			t.state.Attempts)
	}
	return err
}
