package vnfpkg

import (
	"context"
	"errors"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// errOutdated ends the work of a node on a package that was deleted, or that another node has finished.
var errOutdated = errors.New("the package is not being processed any more")

func (p *Package) processes(digest string) error {
	if p.OnboardingState != sol.PackageOnboardingStateProcessing || p.Content == nil || p.Content.Digest != digest {
		return errOutdated
	}
	return nil
}

// watchProcessing returns a context that ends with errOutdated when p is no longer processed, so that the work on a
// large archive ends soon after the package is deleted. stop ends the watch.
func (s *Services) watchProcessing(ctx context.Context, p *Package) (_ context.Context, stop func()) {
	return repeat(ctx, s.lease/10, func(ctx context.Context) error {
		q, err := s.store.Package(ctx, p.ID)
		if err == nil {
			err = q.processes(p.Content.Digest)
		}
		if isOutdated(err) {
			return errOutdated
		}
		return nil
	})
}

// repeat calls look at intervals until stop is called. An error of look ends the returned context with this cause.
func repeat(
	ctx context.Context, interval time.Duration, look func(context.Context) error,
) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := look(ctx); err != nil {
				cancel(err)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

func isOutdated(err error) bool { return errors.Is(err, errOutdated) || isNotFound(err) }

// endOutdated handles an error of the work on a package. If the package is no longer processed, it removes the content
// unless another package needs it, because this node may have extracted files after the package was deleted, and
// returns nil.
func (s *Services) endOutdated(ctx context.Context, p *Package, err error) error {
	if !isOutdated(err) {
		return err
	}
	s.log.InfoContext(ctx, "onboarding ended, the package was deleted or another node has finished it", "package", p.ID)
	s.release(ctx, p.Content)
	return nil
}
