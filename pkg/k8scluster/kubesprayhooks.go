package k8scluster

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const (
	titleMachine   = "wait for machine"
	titleDiscovery = "correct discovery"
)

// claim takes the inventory's directory before there are machines: a path that another cluster has must not cost them.
func (d *Kubespray) claim(ctx context.Context, w *lcm.Execution) error {
	k, err := sprayParamsOf(w)
	if err != nil {
		return err
	}
	return d.on(ctx, w, k, &topology{}, node{}, nil).claimInventory(ctx)
}

// instantiateEnd makes the cluster and its load balancer.
func (d *Kubespray) instantiateEnd(ctx context.Context, w *lcm.Execution) error {
	op, err := d.begin(ctx, w, nil)
	if err != nil {
		return err
	}
	return op.build(ctx)
}

// build makes all machines a new cluster. The load balancer is installed at the same time.
func (op *spray) build(ctx context.Context) error {
	err := together(ctx, []func(context.Context) error{
		op.installBalancer,
		func(ctx context.Context) error {
			if err := op.claimInventory(ctx); err != nil {
				return err
			}
			if err := op.booted(ctx, op.t.nodes()); err != nil {
				return err
			}
			return op.play(ctx, playbook{
				name: bookCluster, masters: op.t.masters, workers: op.t.workers, fresh: op.t.nodes(),
			})
		},
	})
	if err != nil {
		return err
	}
	if err := op.balance(ctx); err != nil {
		return err
	}
	return op.finish(ctx, op.t.nodes(), true)
}

// finish waits for new nodes, and publishes a cluster that is new. It is the end of an operation.
func (op *spray) finish(ctx context.Context, nodes []node, publish bool) error {
	err := op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
		if publish {
			if err := op.cluster.ensureAccount(ctx, api); err != nil {
				return err
			}
			if err := op.kubeconfig(ctx); err != nil {
				return err
			}
		}
		if err := op.cluster.waitReadyAndLabel(ctx, api, nodes); err != nil {
			return err
		}
		if !publish {
			return nil
		}
		return op.cluster.publish(ctx, api)
	})
	if err != nil {
		return err
	}
	op.tidy(ctx)
	return nil
}

// booted waits until machines accept logins and cloud-init has ended: it sets passwords, and holds the locks of the
// package manager.
func (op *spray) booted(ctx context.Context, nodes []node) error {
	return lcm.Each(ctx, op.o.Parallel, nodes, func(ctx context.Context, n node) error {
		return op.runScript(ctx, titleMachine, "boot", n, remote.Job{
			Command: "if command -v cloud-init >/dev/null 2>&1; then cloud-init status --wait; fi; true",
		})
	})
}

// scaleStart takes the workers that a scaling in removes out of the cluster.
func (d *Kubespray) scaleStart(ctx context.Context, w *lcm.Execution) error {
	if w.Op.Scope == nil {
		return nil
	}
	return d.shrink(ctx, w, w.Op.Scope.Remove)
}

// scaleRollbackStart does the same with the workers that a scaling out has added. They may have joined, or not.
func (d *Kubespray) scaleRollbackStart(ctx context.Context, w *lcm.Execution) error {
	if err := d.shrink(ctx, w, newVNFCs(w)); err != nil {
		return err
	}
	return d.leave(ctx, w)
}

func (d *Kubespray) shrink(ctx context.Context, w *lcm.Execution, vnfcs []string) error {
	if len(vnfcs) == 0 {
		return nil
	}
	op, err := d.begin(ctx, w, vnfcs)
	if err != nil {
		return err
	}
	leaving, _ := pick(op.t.workers, vnfcs)
	if len(leaving) == 0 {
		return nil
	}
	return op.remove(ctx, leaving)
}

// scaleEnd makes nodes of the machines that a scaling out has added, all in one run.
func (d *Kubespray) scaleEnd(ctx context.Context, w *lcm.Execution) error {
	if added := newVNFCs(w); len(added) > 0 {
		op, err := d.begin(ctx, w, added)
		if err != nil {
			return err
		}
		if err := op.extend(ctx, added); err != nil {
			return err
		}
	}
	return d.leave(ctx, w)
}

// remove takes nodes out of the cluster: they are drained, the load balancer forgets them, and Kubespray removes them
// in one run. Their machines are not reset: they are deleted next, and may not even answer.
func (op *spray) remove(ctx context.Context, leaving []node) error {
	names := make([]string, len(leaving))
	for i, n := range leaving {
		names[i] = n.name
	}
	// Kubespray works through the first master, which has to stay.
	masters := append(without(op.t.masters, leaving), among(op.t.masters, leaving)...)
	workers := op.t.workers
	return op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
		err := op.cluster.vacate(ctx, api, leaving, func(context.Context, node) error { return nil })
		if err != nil {
			return err
		}
		// A master that leaves etcd goes on accepting connections, and would not answer them.
		op.t.masters, op.t.workers = without(masters, leaving), without(workers, leaving)
		if err := op.balance(ctx); err != nil {
			return err
		}
		if err := op.play(ctx, playbook{
			name: bookRemove, masters: masters, workers: workers, leaves: leaving,
			args: []string{
				"-e", "node=" + strings.Join(names, ","), "-e", "delete_nodes_confirmation=yes",
				"-e", "skip_confirmation=true", "-e", "reset_nodes=false", "-e", "allow_ungraceful_removal=true",
			},
		}); err != nil {
			return err
		}
		return lcm.Each(ctx, op.o.Parallel, leaving, func(ctx context.Context, n node) error {
			return op.cluster.remove(ctx, api, n)
		})
	})
}

// among picks those nodes that are leaving.
func among(nodes, leaving []node) []node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n node) bool {
		return !slices.ContainsFunc(leaving, func(l node) bool { return l.vnfc == n.vnfc })
	})
}

// extend makes the machines of VNFCs nodes of the cluster. Workers alone need scale.yml; it needs fresh facts of all
// machines. A master needs cluster.yml.
func (op *spray) extend(ctx context.Context, vnfcs []string) error {
	masters, others := pick(op.t.masters, vnfcs)
	workers, _ := pick(op.t.workers, vnfcs)
	joining := append(slices.Clone(workers), masters...)
	lb := slices.Contains(vnfcs, op.lb.vnfc)
	lanes := []func(context.Context) error{}
	if lb {
		lanes = append(lanes, op.installBalancer)
	}
	if len(joining) > 0 {
		lanes = append(lanes, func(ctx context.Context) error {
			return op.join(ctx, append(slices.Clone(others), masters...), joining, len(masters) > 0)
		})
	}
	if err := together(ctx, lanes); err != nil {
		return err
	}
	if err := op.balance(ctx); err != nil {
		return err
	}
	if lb {
		if err := op.lostPorts(ctx); err != nil {
			return err
		}
	}
	return op.finish(ctx, joining, lb)
}

// join runs the playbooks that make machines nodes.
func (op *spray) join(ctx context.Context, masters, joining []node, master bool) error {
	if err := op.booted(ctx, joining); err != nil {
		return err
	}
	b := playbook{name: bookFacts, masters: masters, workers: op.t.workers, fresh: joining}
	if master {
		b.name, b.args = bookCluster, []string{"-e", "ignore_assert_errors=yes"}
		return op.play(ctx, b)
	}
	if err := op.play(ctx, b); err != nil {
		return err
	}
	var names []string
	for _, n := range joining {
		names = append(names, n.name)
	}
	b.name, b.args, b.fresh = bookScale, []string{"--limit", strings.Join(names, ",")}, nil
	return op.play(ctx, b)
}

// healStart takes the nodes that a heal replaces out of the cluster. When no master stays, the cluster is lost and
// healEnd builds a new one.
func (d *Kubespray) healStart(ctx context.Context, w *lcm.Execution) error {
	op, err := d.begin(ctx, w, w.Op.Scope.VNFCs)
	if err != nil {
		return err
	}
	if op.rebuilds() {
		w.RemoveVim(VimID(w.Instance.ID))
		return nil
	}
	masters, _ := pick(op.t.masters, w.Op.Scope.VNFCs)
	workers, _ := pick(op.t.workers, w.Op.Scope.VNFCs)
	if len(masters)+len(workers) == 0 {
		return nil
	}
	if err := op.remove(ctx, append(workers, masters...)); err != nil {
		return err
	}
	if len(masters) == 0 {
		return nil
	}
	// A machine that joins asks the cluster where its API server is. By default this is the first master.
	return op.w.Step(ctx, titleDiscovery, "", func(ctx context.Context, s *lcm.Step) error {
		endpoint := net.JoinHostPort(op.t.masters[0].ip, serverPort)
		gone := make([]string, len(masters))
		for i, m := range masters {
			gone[i] = m.ip
		}
		s.Detail(endpoint + " in place of " + strings.Join(gone, ", "))
		return op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
			return api.ReplaceEndpoint(ctx, gone, endpoint)
		})
	})
}

// healEnd makes nodes of the new machines, and installs a new load balancer.
func (d *Kubespray) healEnd(ctx context.Context, w *lcm.Execution) error {
	healed := newVNFCs(w)
	op, err := d.begin(ctx, w, healed)
	if err != nil {
		return err
	}
	switch {
	case op.rebuilds():
		err = d.instantiateEnd(ctx, w)
	case len(healed) > 0:
		err = op.extend(ctx, healed)
	}
	if err != nil {
		return err
	}
	return d.leave(ctx, w)
}

// rebuilds says that the operation's heal leaves no master of the cluster.
func (op *spray) rebuilds() bool {
	return mastersLost(cmp.Or(op.w.Op.Before, &lcm.Instance{}), op.w.Op.Scope, op.p.master.vdu)
}
