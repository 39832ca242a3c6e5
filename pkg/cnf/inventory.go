package cnf

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/cnf/podvnfc"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Inventory implements lcm.Infra.
func (d *Driver) Inventory(ctx context.Context, w *lcm.Execution) error {
	return d.with(ctx, w, func(ctx context.Context, t *tick) error {
		want, err := t.desired()
		if err != nil {
			return err
		}
		previous := t.previous()
		info := &sol.InstantiatedVnfInfo{
			FlavourID: w.Flavour.ID, Metadata: sol.KeyValuePairs{"namespace": want.namespace},
		}
		var all []lcm.Resource
		for _, wl := range t.watched(want, previous) {
			seen, err := t.observe(ctx, wl)
			if err != nil {
				return err
			}
			places := podvnfc.Places(seen, w.Instance.Inventory)
			all = append(all, podvnfc.Record(info, seen, places, t.key, w.Op.Before)...)
		}
		present, err := t.own(ctx, want, previous)
		if err != nil {
			return err
		}
		for _, o := range present {
			if !t.isVNFC(all, o) {
				all = append(all, resource(o))
			}
		}
		w.Instance.Instantiated, w.Instance.Inventory = info, all
		w.Op.ResourceChanges = nil
		if changes := podvnfc.Changes(w.Op.Before, info); len(changes) > 0 {
			w.Op.ResourceChanges = &sol.ResourceChanges{AffectedVnfcs: changes}
		}
		return nil
	})
}

// isVNFC says that an object is a pod that is listed as the machine of a VNFC.
func (t *tick) isVNFC(all []lcm.Resource, o *unstructured.Unstructured) bool {
	return o.GetKind() == podvnfc.Type && slices.ContainsFunc(all, func(r lcm.Resource) bool {
		return isPod(r) && r.ID == o.GetName()
	})
}

// watched lists the workloads of both revisions.
func (t *tick) watched(want, previous *desired) []workload {
	out := slices.Clone(want.workloads)
	if previous == nil {
		return out
	}
	for _, w := range previous.workloads {
		if want.workload(w.vdu) == nil {
			out = append(out, w)
		}
	}
	return out
}

// observe reads the pods of a workload.
func (t *tick) observe(ctx context.Context, w workload) (podvnfc.Workload, error) {
	out := podvnfc.Workload{
		VDU: w.vdu, Kind: w.obj.GetKind(), Ordered: w.obj.GetKind() == "StatefulSet", Stopped: t.stops(),
		Want: countsOf(t.w.Op.Before)[w.vdu],
	}
	if out.Stopped {
		return out, nil
	}
	pods, err := t.pods(ctx, w.ref())
	out.Pods = pods
	return out, err
}
