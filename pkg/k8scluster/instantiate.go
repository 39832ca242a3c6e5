package k8scluster

import (
	"context"
	"errors"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The titles of the steps, as users see them.
const (
	titlePrepare = "prepare node"
	titleInit    = "initialise cluster"
	titleJoin    = "join node"
	titleAccount = "make account"
	titleReady   = "wait for nodes"
	titleLabel   = "label node"
)

// instantiateEnd builds the cluster. It is straight-line code over durable steps: a step that is done returns at once, so every
// tick runs through it from the beginning and comes to where the last one stopped.
func (d *Driver) instantiateEnd(ctx context.Context, w *lcm.Work) error {
	in, err := d.installer(ctx, w)
	if err != nil {
		return err
	}
	if err := in.install(ctx); err != nil {
		return err
	}
	return in.finish(ctx)
}

// install runs the script on all nodes, everything at the same time that can be.
func (in *installer) install(ctx context.Context) error {
	if in.foreign {
		return in.installForeign(ctx)
	}
	prepared := map[string]*gate{}
	for _, n := range in.c.nodes() {
		prepared[n.vnfc] = newGate(n.name + " to be prepared")
	}
	initialised := newGate("the cluster to be initialised")

	first := in.c.masters[0]
	lanes := []func(context.Context) error{
		// The masters one after the other: etcd takes one new member at a time.
		func(ctx context.Context) error {
			err := in.prepare(ctx, first)
			if err == nil {
				err = in.step(ctx, titleInit, phaseInit, first)
			}
			initialised.open(err)
			for _, m := range in.c.masters[1:] {
				if err == nil {
					err = prepared[m.vnfc].pass(ctx)
				}
				if err == nil {
					err = in.step(ctx, titleJoin, phaseJoin, m)
				}
			}
			return err
		},
	}
	for _, m := range in.c.masters[1:] {
		lanes = append(lanes, func(ctx context.Context) error {
			err := in.prepare(ctx, m)
			prepared[m.vnfc].open(err)
			return err
		})
	}
	for _, n := range in.c.workers {
		lanes = append(lanes, func(ctx context.Context) error {
			if err := in.prepare(ctx, n); err != nil {
				return err
			}
			if err := initialised.pass(ctx); err != nil {
				return err
			}
			return in.bounded(ctx, func() error { return in.step(ctx, titleJoin, phaseJoin, n) })
		})
	}
	return together(ctx, append(lanes, in.serveStorage))
}

// errSibling ends the lanes beside one that has failed.
var errSibling = errors.New("another node failed")

// together runs lanes at the same time. When one fails the others stop following their nodes, so that the failure is dealt with
// now and not when the last of them is done; the work on the nodes goes on and is found again by a retry.
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

func (in *installer) prepare(ctx context.Context, n node) error {
	if n.vnfc == in.c.masters[0].vnfc { // everybody waits for this one
		return in.ready(ctx, n)
	}
	return in.bounded(ctx, func() error { return in.ready(ctx, n) })
}

// ready does all that a machine needs before it becomes a node.
func (in *installer) ready(ctx context.Context, n node) error {
	if err := in.step(ctx, titlePrepare, phasePrepare, n); err != nil {
		return err
	}
	return in.client(ctx, n)
}

// bounded runs fn when a slot is free.
func (in *installer) bounded(ctx context.Context, fn func() error) error {
	select {
	case in.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-in.slots }()
	return fn()
}

// gate lets lanes wait for something that another lane does.
type gate struct {
	what   string
	opened chan struct{}
	ok     bool
}

func newGate(what string) *gate { return &gate{what: what, opened: make(chan struct{})} }

// open lets the others go on, or, with an error, tells them that there is nothing to go on with. It is called once.
func (g *gate) open(err error) {
	g.ok = err == nil
	close(g.opened)
}

// pass waits for the gate. When the other lane did not get there it returns a wait: what happened is that lane's to report.
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
