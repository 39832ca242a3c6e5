package k8scluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// healStart takes the nodes that a heal replaces out of the cluster: workers that still work are drained, masters leave
// the load balancers that would go on using them, and their etcd members are removed. When no master stays, the cluster
// is lost with its masters and healEnd builds a new one.
func (d *Driver) healStart(ctx context.Context, w *lcm.Execution) error {
	op, err := d.begin(ctx, w, nil, w.Op.Scope.VNFCs)
	if err != nil {
		return err
	}
	if op.rebuilds() {
		w.RemoveVim(VimID(w.Instance.ID))
		return nil
	}
	masters, _ := pick(op.t.masters, w.Op.Scope.VNFCs)
	workers, _ := pick(op.t.workers, w.Op.Scope.VNFCs)
	if err := op.detach(ctx, w.Op.Scope.VNFCs); err != nil {
		return err
	}
	return op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
		if op.nfs.among(w.Op.Scope.VNFCs) {
			if err := op.nfs.release(ctx, api); err != nil {
				return err
			}
		}
		for _, m := range masters {
			if err := op.cluster.removeMember(ctx, m); err != nil {
				return err
			}
			if err := op.cluster.remove(ctx, api, m); err != nil {
				return err
			}
		}
		if len(workers) == 0 {
			return nil
		}
		return op.cluster.leave(ctx, api, workers)
	})
}

// healEnd makes nodes of the new machines.
func (d *Driver) healEnd(ctx context.Context, w *lcm.Execution) error {
	healed := newVNFCs(w)
	op, err := d.begin(ctx, w, healed, healed)
	if err != nil {
		return err
	}
	if op.rebuilds() {
		return d.instantiateEnd(ctx, w)
	}
	if len(healed) == 0 {
		return nil
	}
	return op.extend(ctx, healed)
}

// rebuilds says that the operation's heal leaves no master of the cluster.
func (op *operation) rebuilds() bool {
	return mastersLost(cmp.Or(op.w.Op.Before, &lcm.Instance{}), op.w.Op.Scope, op.p.master.vdu)
}

// mastersLost says that a heal of this scope leaves an instance no master.
func mastersLost(i *lcm.Instance, scope *lcm.Scope, masters string) bool {
	if scope.Whole {
		return true
	}
	return i.Instantiated != nil && !slices.ContainsFunc(i.Instantiated.VnfcInfo, func(c sol.VnfcInfo) bool {
		return c.VduID == masters && !slices.Contains(scope.VNFCs, c.ID)
	})
}
