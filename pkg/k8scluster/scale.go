package k8scluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const titleRefresh = "refresh node"

// scaleStart empties the workers that a scaling in takes away, takes them out of the cluster, and has the other nodes forget them.
func (d *Driver) scaleStart(ctx context.Context, w *lcm.Work) error {
	if w.Op.Scope == nil {
		return nil
	}
	return d.shrink(ctx, w, w.Op.Scope.Remove)
}

// scaleRollbackStart does the same with the nodes whose machines the rollback of a scaling out takes away. They may have joined, or not.
func (d *Driver) scaleRollbackStart(ctx context.Context, w *lcm.Work) error {
	return d.shrink(ctx, w, fresh(w))
}

// shrink takes the workers of VNFCs out of the cluster.
func (d *Driver) shrink(ctx context.Context, w *lcm.Work, vnfcs []string) error {
	if len(vnfcs) == 0 {
		return nil
	}
	in, err := d.installer(ctx, w, vnfcs...)
	if err != nil {
		return err
	}
	leaving, stay := pick(in.c.workers, vnfcs)
	if len(leaving) == 0 {
		return nil
	}
	if err := in.withAPI(ctx, func(api *kubernetes.Client) error { return in.leave(ctx, api, leaving) }); err != nil {
		return err
	}
	in.c.workers = stay
	return in.refresh(ctx, in.c.nodes())
}

// scaleEnd makes nodes of the machines that a scaling out has added.
func (d *Driver) scaleEnd(ctx context.Context, w *lcm.Work) error {
	added := fresh(w)
	if len(added) == 0 {
		return nil
	}
	in, err := d.installer(ctx, w, added...)
	if err != nil {
		return err
	}
	return in.extend(ctx, added)
}

// extend makes nodes of the machines of VNFCs: all are prepared and join at the same time, masters one after the other. The nodes that were there
// learn of them meanwhile.
func (in *installer) extend(ctx context.Context, vnfcs []string) error {
	in.late = vnfcs
	masters, others := pick(in.c.masters, vnfcs)
	workers, rest := pick(in.c.workers, vnfcs)
	lanes := []func(context.Context) error{
		func(ctx context.Context) error { return in.refresh(ctx, append(others, rest...)) },
		func(ctx context.Context) error { return in.joinMasters(ctx, masters) },
	}
	for _, n := range workers {
		lanes = append(lanes, func(ctx context.Context) error {
			return in.bounded(ctx, func() error {
				if err := in.ready(ctx, n); err != nil {
					return err
				}
				return in.step(ctx, titleJoin, phaseJoin, n)
			})
		})
	}
	storage := in.storageAmong(vnfcs)
	if storage {
		lanes = append(lanes, in.serveStorage)
	}
	if err := together(ctx, lanes); err != nil {
		return err
	}
	if err := in.equip(ctx, slices.Concat(masters, workers)); err != nil {
		return err
	}
	err := in.withAPI(ctx, func(api *kubernetes.Client) error {
		if err := in.welcome(ctx, api, append(masters, workers...)); err != nil {
			return err
		}
		if err := in.republish(ctx, api, masters); err != nil || !storage {
			return err
		}
		return in.register(ctx, api)
	})
	if err != nil {
		return err
	}
	in.tidy(ctx)
	return nil
}

// joinMasters prepares masters at the same time and lets them join one after the other: etcd takes one new member at a time.
func (in *installer) joinMasters(ctx context.Context, masters []node) error {
	err := lcm.Each(ctx, 0, masters, func(ctx context.Context, n node) error { return in.ready(ctx, n) })
	for _, n := range masters {
		if err == nil {
			err = in.step(ctx, titleJoin, phaseJoin, n)
		}
	}
	return err
}

// refresh brings the hosts files, and the masters' load balancers, up to date with the nodes that there are. A node that is dead is left out: it
// needs to be healed itself, and must not keep the others from being healed or scaled.
func (in *installer) refresh(ctx context.Context, nodes []node) error {
	return lcm.Each(ctx, in.d.o.Parallel, nodes, func(ctx context.Context, n node) error {
		return in.w.Step(ctx, titleRefresh, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
			if why := in.dead(ctx, n); why != "" {
				s.Detail(n.String() + " is left out, it is dead: " + why)
				return nil
			}
			return in.run(titleRefresh, phaseRefresh, n, s).follow(ctx)
		})
	})
}

// graceTimeout is how long to wait for the cluster to notice that a node is dead; it takes 50 s by default.
const graceTimeout = 2 * time.Minute

// dead says why a node is given up: it cannot be reached, and the cluster does not hear of it either. "" means that it lives, or that nobody knows.
func (in *installer) dead(ctx context.Context, n node) string {
	pause, began := backoff{first: 250 * time.Millisecond, longest: 2 * time.Second}, in.w.Clock.Now()
	for {
		err := in.reach(ctx, n)
		if e, ok := errors.AsType[*lcm.Error](nodeError(n, "", err)); err == nil || !ok || e.Class != lcm.Transient {
			return ""
		}
		why := ""
		asked := in.withAPI(ctx, func(api *kubernetes.Client) error {
			all, err := api.Nodes(ctx)
			if err == nil {
				why = strings.Join(missing([]node{n}, all), "")
			}
			return err
		})
		if asked != nil || why != "" {
			return why
		}
		if in.w.Clock.Now().Sub(began) > graceTimeout || pause.wait(ctx) != nil {
			return ""
		}
	}
}

// withAPI calls fn with a client of the cluster.
func (in *installer) withAPI(ctx context.Context, fn func(*kubernetes.Client) error) error {
	api, closeAPI, err := in.api(ctx)
	if err != nil {
		return err
	}
	defer closeAPI()
	return fn(api)
}

// fresh lists the VNFCs whose machines were not there before the operation, also when they have taken the ids of others.
func fresh(w *lcm.Work) []string {
	had := map[string]bool{}
	if b := w.Op.Before; b != nil && b.Instantiated != nil {
		for _, r := range b.Instantiated.VnfcResourceInfo {
			had[r.ComputeResource.ResourceID] = true
		}
	}
	var out []string
	if i := w.Instance.Instantiated; i != nil {
		for _, c := range i.VnfcInfo {
			if _, r, ok := w.Instance.VNFC(c.ID); ok && !had[r.ComputeResource.ResourceID] {
				out = append(out, c.ID)
			}
		}
	}
	return out
}
