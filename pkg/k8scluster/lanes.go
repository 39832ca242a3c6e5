package k8scluster

import (
	"context"
	"errors"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// errSibling ends the other lanes when one has failed.
var errSibling = errors.New("another node failed")

// together runs lanes at the same time. When one fails the others stop following their nodes, so that the failure is
// reported immediately. The work on the nodes goes on, and a retry finds it.
func together(ctx context.Context, lanes []func(context.Context) error) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	return lcm.Each(ctx, 0, lanes, func(_ context.Context, lane func(context.Context) error) error {
		err := lane(inner)
		if after, why, waiting := lcm.Waiting(inner, err); waiting {
			return lcm.Wait(after, why)
		}
		if err != nil {
			stop(errSibling)
		}
		return err
	})
}

// gate lets lanes wait for the work of another lane.
type gate struct {
	what   string
	opened chan struct{}
	ok     bool
}

func newGate(what string) *gate { return &gate{what: what, opened: make(chan struct{})} }

// open lets the other lanes go on, or, with an error, stops them. It is called once.
func (g *gate) open(err error) {
	g.ok = err == nil
	close(g.opened)
}

// pass waits for the gate. When the other lane has failed it returns a wait: that lane reports the error.
func (g *gate) pass(ctx context.Context) error {
	select {
	case <-g.opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !g.ok {
		return lcm.Wait(0, "waits for "+g.what)
	}
	return nil
}
