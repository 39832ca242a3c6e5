package app

import (
	"context"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/telemetry"
)

// nodeName is the name of a node that has none: the host's, and something of its own, as a host may run several.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "gybe"
	}
	return host[:min(len(host), 50)] + "-" + uuid.NewString()[:4]
}

// measured counts ticks.
type measured struct {
	*lcm.Runner
	metrics *telemetry.Metrics
}

// Advance implements engine.Advancer.
func (m measured) Advance(ctx context.Context, opID string) (time.Duration, bool, error) {
	began := time.Now()
	after, again, err := m.Runner.Advance(ctx, opID)
	m.metrics.Tick(time.Since(began), err)
	return after, again, err
}
