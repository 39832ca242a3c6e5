package k8scluster

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// operation is one tick of an operation on a cluster: the Installer that makes nodes, and the Cluster that they form.
// Its methods are straight-line code over durable steps: a step that is done returns immediately, so every tick runs
// through the code from the beginning and gets to the place where the last one stopped.
type operation struct {
	*session
	Installer
	cluster *Cluster
	nfs     nfs
	addons  addons
	script  installScript
}

// begin makes the operation for the instance as it is now. late are VNFCs whose machines join an existing cluster. The
// cluster is never reached through the nodes of the VNFCs in avoid.
func (d *Driver) begin(ctx context.Context, w *lcm.Execution, late, avoid []string) (*operation, error) {
	additional, err := w.Params()
	if err != nil {
		return nil, err
	}
	s, err := d.session(ctx, w, additional, avoid)
	if err != nil {
		return nil, err
	}
	s.late = late
	script, err := loadScript(w.Package, s.p.script)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "The script_path in the additionalParams is invalid: %w.", err)
	}
	in, err := newInstaller(ctx, s, script)
	if err != nil {
		return nil, err
	}
	c := &Cluster{session: s}
	if !in.Traits().namesEndpoint && s.t.external != s.t.internal {
		c.serverName = s.t.internal
	}
	return &operation{session: s, Installer: in, cluster: c, nfs: nfs{s}, addons: addons{s}, script: script}, nil
}

// session reads the parameters and finds the machines of the instance.
func (d *Driver) session(
	ctx context.Context, w *lcm.Execution, additional sol.KeyValuePairs, avoid []string,
) (*session, error) {
	p, bad := parse(additional, w.Flavour, w.Instance.SSHKey)
	if len(bad) > 0 {
		return nil, lcm.Unprocessable(bad...)
	}
	t, err := resolve(w.Instance, p, d.o.SSHPort)
	if err != nil {
		return nil, err
	}
	return newSession(ctx, d.o, w, p, t, avoid), nil
}

// makeReady does everything that a machine needs before it becomes a node.
func (op *operation) makeReady(ctx context.Context, n node) error {
	if err := op.Prepare(ctx, n); err != nil {
		return err
	}
	return op.nfs.client(ctx, n)
}

// finish waits for the nodes, labels them, and publishes the cluster.
func (op *operation) finish(ctx context.Context) error {
	err := op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
		if err := op.cluster.ensureAccount(ctx, api); err != nil {
			return err
		}
		if err := op.addons.install(ctx, op.t.nodes()); err != nil {
			return err
		}
		if err := op.cluster.waitReadyAndLabel(ctx, api, op.t.nodes()); err != nil {
			return err
		}
		if err := op.nfs.register(ctx, api); err != nil {
			return err
		}
		return op.cluster.publish(ctx, api)
	})
	if err != nil {
		return err
	}
	op.tidy(ctx)
	return nil
}

// extend makes the machines of VNFCs nodes of the cluster: all are prepared and join at the same time, masters one
// after the other. The other nodes learn their names at the same time.
func (op *operation) extend(ctx context.Context, vnfcs []string) error {
	masters, others := pick(op.t.masters, vnfcs)
	workers, rest := pick(op.t.workers, vnfcs)
	lanes := []func(context.Context) error{
		func(ctx context.Context) error { return op.refresh(ctx, append(others, rest...)) },
		func(ctx context.Context) error { return op.joinMasters(ctx, masters) },
	}
	for _, n := range workers {
		lanes = append(lanes, func(ctx context.Context) error {
			return op.bounded(ctx, func() error {
				if err := op.makeReady(ctx, n); err != nil {
					return err
				}
				return op.Join(ctx, n)
			})
		})
	}
	storage := op.nfs.among(vnfcs)
	if storage {
		lanes = append(lanes, op.nfs.serve)
	}
	if err := together(ctx, lanes); err != nil {
		return err
	}
	if err := op.addons.install(ctx, slices.Concat(masters, workers)); err != nil {
		return err
	}
	err := op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
		if err := op.cluster.waitReadyAndLabel(ctx, api, append(masters, workers...)); err != nil {
			return err
		}
		if op.p.helm != "" && len(masters) > 0 { // the published connection lists the masters
			if err := op.cluster.publish(ctx, api); err != nil {
				return err
			}
		}
		if !storage {
			return nil
		}
		return op.nfs.register(ctx, api)
	})
	if err != nil {
		return err
	}
	op.tidy(ctx)
	return nil
}

// joinMasters prepares masters at the same time and lets them join one after the other: etcd takes one new member at a
// time.
func (op *operation) joinMasters(ctx context.Context, masters []node) error {
	err := lcm.Each(ctx, 0, masters, func(ctx context.Context, n node) error { return op.makeReady(ctx, n) })
	for _, n := range masters {
		if err == nil {
			err = op.Join(ctx, n)
		}
	}
	return err
}

// refresh brings the hosts files, and the masters' load balancers, up to date with the nodes that there are. A node
// that has failed is left out: it needs a heal of its own, and must not prevent a heal or a scaling of the others.
func (op *operation) refresh(ctx context.Context, nodes []node) error {
	return op.onEach(ctx, titleRefresh, nodes, op.Refresh)
}

// detach takes the masters of VNFCs, which will leave, out of the load balancers of those that stay, where that has to
// be done.
func (op *operation) detach(ctx context.Context, vnfcs []string) error {
	leaving, stay := pick(op.t.masters, vnfcs)
	if len(leaving) == 0 || !op.Traits().detaches {
		return nil
	}
	all := op.t.masters
	defer func() { op.t.masters = all }()
	op.t.masters = stay
	return op.onEach(ctx, titleDetach, stay, op.Detach)
}

// onEach does work on nodes at the same time, a step on each, and leaves out nodes that have failed.
func (op *operation) onEach(
	ctx context.Context, title string, nodes []node, work func(context.Context, *lcm.Step, node) error,
) error {
	return lcm.Each(ctx, op.o.Parallel, nodes, func(ctx context.Context, n node) error {
		return op.w.Step(ctx, title, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
			if why := op.cluster.unreachable(ctx, n); why != "" {
				s.Detail(n.String() + " is left out, it has failed: " + why)
				return nil
			}
			return work(ctx, s, n)
		})
	})
}
