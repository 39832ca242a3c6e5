package vnfpkg

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// maxAttempts bounds the attempts to onboard a package. The engine waits up to five seconds between two attempts, so
// that a content store that is unavailable for a minute does not matter. Attempts that end with the death of the
// process count, too: a package that kills every node must not do so for ever.
const maxAttempts = 20

// beginAttempt counts an attempt and returns the package, or nil when another node has finished it. exhausted is set
// when there have been too many attempts.
func (s *Services) beginAttempt(ctx context.Context, p *Package) (counted *Package, exhausted bool, err error) {
	counted, err = s.store.UpdatePackage(ctx, p.ID, func(q *Package, _ time.Time) error {
		if err := q.processes(p.Content.Digest); err != nil {
			return err
		}
		if exhausted = q.attempts() >= maxAttempts; exhausted {
			return nil
		}
		q.Onboarded = &Onboarded{Attempts: q.attempts() + 1}
		return nil
	})
	if err != nil {
		return nil, false, s.endOutdated(ctx, p, err)
	}
	return counted, exhausted, nil
}

func (p *Package) attempts() int {
	if p.Onboarded == nil {
		return 0
	}
	return p.Onboarded.Attempts
}

// retryLater keeps the reason of a failed attempt where users see it and returns the error, so that the engine tries
// again.
func (s *Services) retryLater(ctx context.Context, p *Package, reason string, cause error) error {
	cause = fmt.Errorf("onboard package %s: attempt %d of %d: %s: %w", p.ID, p.attempts(), maxAttempts, reason, cause)
	if ctx.Err() != nil { // the node stops; nothing is wrong
		return cause
	}

	_, err := s.store.UpdatePackage(ctx, p.ID, func(q *Package, _ time.Time) error {
		if err := q.processes(p.Content.Digest); err != nil {
			return err
		}
		q.Failure = &sol.ProblemDetails{
			Title: "The onboarding failed and is tried again", Status: http.StatusServiceUnavailable,
			Detail: fmt.Sprintf("attempt %d of %d: %s", p.attempts(), maxAttempts, reason),
		}
		return nil
	})
	if isOutdated(err) {
		return s.endOutdated(ctx, p, err)
	}
	if err != nil {
		s.log.WarnContext(ctx, "reason of a failed onboarding not stored", "package", p.ID, "error", err)
	}
	return cause
}

// exhaustedFailure is the failure of a package that could not be onboarded although nothing is known to be wrong with
// it.
func exhaustedFailure(last *sol.ProblemDetails) *sol.ProblemDetails {
	p := &sol.ProblemDetails{
		Title: "The VNF package could not be processed", Status: http.StatusInternalServerError,
		Detail: fmt.Sprintf("the onboarding failed %d times", maxAttempts),
		Hint:   "check the log and the content store of the Gybe nodes, then upload the package again",
	}
	if last != nil {
		p.Detail += "; " + last.Detail
	}
	return p
}
