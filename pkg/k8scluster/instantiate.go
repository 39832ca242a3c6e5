package k8scluster

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// instantiateEnd builds the cluster.
func (d *Driver) instantiateEnd(ctx context.Context, w *lcm.Execution) error {
	op, err := d.begin(ctx, w, nil, nil)
	if err != nil {
		return err
	}
	if err := op.build(ctx); err != nil {
		return err
	}
	return op.finish(ctx)
}

// build makes all machines the nodes of a new cluster, with as much as possible at the same time.
func (op *operation) build(ctx context.Context) error {
	prepared := map[string]*gate{}
	for _, n := range op.t.masters[1:] {
		prepared[n.vnfc] = newGate(n.name + " to be prepared")
	}
	joinable := newGate("the cluster to be initialised")
	lanes := []func(context.Context) error{
		func(ctx context.Context) error { return op.buildMasters(ctx, prepared, joinable) },
	}
	for _, m := range op.t.masters[1:] {
		lanes = append(lanes, func(ctx context.Context) error {
			err := op.bounded(ctx, func() error { return op.makeReady(ctx, m) })
			prepared[m.vnfc].open(err)
			return err
		})
	}
	for _, n := range op.t.workers {
		lanes = append(lanes, func(ctx context.Context) error {
			if err := op.bounded(ctx, func() error { return op.makeReady(ctx, n) }); err != nil {
				return err
			}
			if err := joinable.pass(ctx); err != nil {
				return err
			}
			return op.bounded(ctx, func() error { return op.Join(ctx, n) })
		})
	}
	return together(ctx, append(lanes, op.nfs.serve))
}

// buildMasters makes the first master a cluster, and lets the others join one after the other: etcd takes one new
// member at a time. It opens joinable when workers may join.
func (op *operation) buildMasters(ctx context.Context, prepared map[string]*gate, joinable *gate) error {
	first := op.t.masters[0]
	err := op.makeReady(ctx, first) // every other node waits for this one, so it does not wait for a slot
	if err == nil {
		err = op.Init(ctx, first)
	}
	if !op.Traits().mastersFirst {
		joinable.open(err)
	}
	for _, m := range op.t.masters[1:] {
		if err == nil {
			err = prepared[m.vnfc].pass(ctx)
		}
		if err == nil {
			err = op.Join(ctx, m)
		}
	}
	if op.Traits().mastersFirst {
		joinable.open(err)
	}
	return err
}
