package app

import (
	"context"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// nodeName is the name of a node that has none: the host's, and something of its own, as a host may run several.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "gybe"
	}
	return host[:min(len(host), 50)] + "-" + uuid.NewString()[:4]
}

// measured counts and times the calls of a kind of jobs.
func (a *App) measured(run runJob) runJob {
	return func(ctx context.Context, id string) (time.Duration, bool, error) {
		began := time.Now()
		after, again, err := run(ctx, id)
		a.metrics.Tick(time.Since(began), err)
		return after, again, err
	}
}

// runJob works on the row of a job.
type runJob = func(ctx context.Context, id string) (after time.Duration, again bool, err error)

const (
	maxOnboards = 4
	// onboardTimeout is long: an archive can have any size. The death of a node is noticed anyway.
	onboardTimeout = 30 * time.Minute
	maxDownloads   = 8
	// downloadTimeout bounds one run of a download, which the next one continues.
	downloadTimeout = 10 * time.Minute
)

// onboarding runs the onboarding of packages.
func onboarding(packages *vnfpkg.Services) runJob {
	return func(ctx context.Context, id string) (time.Duration, bool, error) {
		err := packages.Onboard(ctx, id)
		return 0, ctx.Err() != nil && err != nil, err
	}
}
