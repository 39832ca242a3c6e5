package k8scluster

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// scaleStart drains the workers that a scaling in removes, takes them out of the cluster, and refreshes the other
// nodes.
func (d *Driver) scaleStart(ctx context.Context, w *lcm.Execution) error {
	if w.Op.Scope == nil {
		return nil
	}
	return d.shrink(ctx, w, w.Op.Scope.Remove)
}

// scaleRollbackStart does the same with the nodes whose machines the rollback of a scaling out removes. They may have
// joined, or not.
func (d *Driver) scaleRollbackStart(ctx context.Context, w *lcm.Execution) error {
	return d.shrink(ctx, w, newVNFCs(w))
}

// shrink takes the workers of VNFCs out of the cluster.
func (d *Driver) shrink(ctx context.Context, w *lcm.Execution, vnfcs []string) error {
	if len(vnfcs) == 0 {
		return nil
	}
	op, err := d.begin(ctx, w, nil, vnfcs)
	if err != nil {
		return err
	}
	leaving, stay := pick(op.t.workers, vnfcs)
	if len(leaving) == 0 {
		return nil
	}
	if err := op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
		return op.cluster.leave(ctx, api, leaving)
	}); err != nil {
		return err
	}
	op.t.workers = stay
	return op.refresh(ctx, op.t.nodes())
}

// scaleEnd makes nodes of the machines that a scaling out has added.
func (d *Driver) scaleEnd(ctx context.Context, w *lcm.Execution) error {
	added := newVNFCs(w)
	if len(added) == 0 {
		return nil
	}
	op, err := d.begin(ctx, w, added, added)
	if err != nil {
		return err
	}
	return op.extend(ctx, added)
}

// newVNFCs lists the VNFCs whose machines did not exist before the operation, also when they have the ids of earlier
// VNFCs.
func newVNFCs(w *lcm.Execution) []string {
	existed := map[string]bool{}
	if b := w.Op.Before; b != nil && b.Instantiated != nil {
		for _, r := range b.Instantiated.VnfcResourceInfo {
			existed[r.ComputeResource.ResourceID] = true
		}
	}
	var out []string
	if i := w.Instance.Instantiated; i != nil {
		for _, c := range i.VnfcInfo {
			if _, r, ok := w.Instance.VNFC(c.ID); ok && !existed[r.ComputeResource.ResourceID] {
				out = append(out, c.ID)
			}
		}
	}
	return out
}
