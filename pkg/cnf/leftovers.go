package cnf

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// visit looks at an instance outside any operation.
func (d *Driver) visit(i *lcm.Instance) *lcm.Execution {
	return &lcm.Execution{Op: &lcm.Operation{InstanceID: i.ID}, Instance: i, Log: d.log, Clock: lcm.SystemClock{}}
}

// Leftovers implements lcm.Infra.
func (d *Driver) Leftovers(ctx context.Context, i *lcm.Instance, _ []*lcm.Snapshot) (*lcm.Leftovers, error) {
	out := &lcm.Leftovers{Extra: []lcm.Leftover{}, Missing: []lcm.Leftover{}}
	if _, _, ok := lcm.PrimaryVim(i.VimConnections); !ok {
		return out, nil
	}
	err := d.with(ctx, d.visit(i), func(ctx context.Context, t *tick) error {
		list, err := t.everywhere(ctx, &desired{namespace: t.fallbackNamespace()})
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, o := range list {
			r := resource(o)
			there[r.Type+" "+r.ID] = true
			if t.isVNFC(i.Inventory, o) || slices.ContainsFunc(i.Inventory, func(have lcm.Resource) bool {
				return have.Type == r.Type && have.ID == r.ID
			}) {
				continue
			}
			out.Extra = append(out.Extra, lcm.Leftover{
				Type: r.Type, ID: r.ID, Name: r.Name, Status: r.Status,
				Why: "it has the label " + objects.LabelInstance + "=" + i.ID,
			})
		}
		for _, r := range i.Inventory {
			missing := !there[r.Type+" "+r.ID]
			if isPod(r) {
				if missing, err = t.podMissing(ctx, i, r); err != nil {
					return err
				}
			}
			if missing {
				out.Missing = append(out.Missing, lcm.Leftover{Type: r.Type, ID: r.ID, Name: r.Name})
			}
		}
		return nil
	})
	return out, err
}

// podMissing says that the pod of a VNFC is gone. A stopped VNFC has none.
func (t *tick) podMissing(ctx context.Context, i *lcm.Instance, r lcm.Resource) (bool, error) {
	_, res, ok := i.VNFC(r.VNFC)
	if !ok || r.Status == lcm.StatusNotFound {
		return false, nil
	}
	ns, _ := res.Metadata["namespace"].(string)
	live, err := t.find(ctx, objects.Ref{APIVersion: "v1", Kind: r.Type, Namespace: ns, Name: r.ID, UID: res.ID})
	return live == nil, err
}

// RemoveLeftovers implements lcm.Infra.
func (d *Driver) RemoveLeftovers(
	ctx context.Context, i *lcm.Instance, _ []*lcm.Snapshot, extra []lcm.Leftover,
) ([]lcm.Leftover, error) {
	var left []lcm.Leftover
	err := d.with(ctx, d.visit(i), func(ctx context.Context, t *tick) error {
		for _, l := range extra {
			why, err := t.removeLeftover(ctx, l)
			if err != nil {
				return err
			}
			if l.Why = why; why != "" {
				left = append(left, l)
			}
		}
		return nil
	})
	return left, err
}

// removeLeftover deletes one object; it returns why the object is still there.
func (t *tick) removeLeftover(ctx context.Context, l lcm.Leftover) (why string, err error) {
	ref, ok := refAt(l.Type, l.ID)
	if !ok {
		return "it is not an object that the driver makes", nil
	}
	live, err := t.find(ctx, ref)
	if err != nil || live == nil {
		return "", err
	}
	if !t.owns(live) {
		return "it does not have the label of the VNF instance", nil
	}
	ref.UID = string(live.GetUID())
	err = t.Delete(ctx, ref, objects.DeleteOptions{UID: ref.UID, Propagation: metav1.DeletePropagationBackground})
	if err != nil {
		return lcm.AsError(err).Detail, nil
	}
	if live, err = t.find(ctx, ref); err != nil || live == nil {
		return "", err
	}
	return "it is being deleted", nil
}
