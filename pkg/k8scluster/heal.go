package k8scluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// healStart takes the nodes that are to be healed out of the cluster: pods of workers that still live move away, the etcd members of masters
// go. When no master stays, the cluster goes with them and is built anew.
func (d *Driver) healStart(ctx context.Context, w *lcm.Work) error {
	in, err := d.installer(ctx, w, w.Op.Scope.VNFCs...)
	if err != nil {
		return err
	}
	if in.rebuilds() {
		w.RemoveVim(VimID(w.Instance.ID))
		return nil
	}
	masters, _ := pick(in.c.masters, w.Op.Scope.VNFCs)
	workers, _ := pick(in.c.workers, w.Op.Scope.VNFCs)
	return in.withAPI(ctx, func(api *kubernetes.Client) error {
		if in.storageAmong(w.Op.Scope.VNFCs) {
			if err := in.release(ctx, api); err != nil {
				return err
			}
		}
		for _, m := range masters {
			if err := in.forgetMember(ctx, m); err != nil {
				return err
			}
			if err := in.remove(ctx, api, m); err != nil {
				return err
			}
		}
		if len(workers) == 0 {
			return nil
		}
		return in.leave(ctx, api, workers)
	})
}

// healEnd makes nodes of the new machines.
func (d *Driver) healEnd(ctx context.Context, w *lcm.Work) error {
	healed := fresh(w)
	in, err := d.installer(ctx, w, healed...)
	if err != nil {
		return err
	}
	if in.rebuilds() {
		return d.instantiateEnd(ctx, w)
	}
	if len(healed) == 0 {
		return nil
	}
	return in.extend(ctx, healed)
}

// rebuilds says that the operation's heal leaves no master of the cluster.
func (in *installer) rebuilds() bool {
	return mastersLost(cmp.Or(in.w.Op.Before, &lcm.Instance{}), in.w.Op.Scope, in.p.master.vdu)
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
