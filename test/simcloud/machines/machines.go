// Package machines starts a simulated cloud whose servers are simulated machines.
package machines

import (
	"context"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// StartTest starts a cloud whose servers are machines; both end with the test. opts.Machines is ignored.
func StartTest(tb simcloud.TB, opts simcloud.Options, inside machine.Options) (*simcloud.Cloud, *machine.Fleet) {
	tb.Helper()
	f := machine.NewFleet(context.WithoutCancel(tb.Context()), inside)
	tb.Cleanup(f.Close)
	opts.Machines = f
	return simcloud.StartTest(tb, opts), f
}
