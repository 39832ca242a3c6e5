package openstack

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Inventory implements lcm.Infra. It changes nothing in the VIM.
func (d *Driver) Inventory(ctx context.Context, w *lcm.Execution) error {
	parts, err := presentParts(w)
	if err != nil {
		return err
	}
	var records []inventory.Part
	var changes []*sol.ResourceChanges
	for n := range parts {
		t, err := d.begin(ctx, parts[n])
		if err != nil {
			return err
		}
		absent, err := t.absent(ctx)
		if err == nil && absent {
			changes = append(changes, t.removed())
			continue
		}
		if err != nil {
			return t.settle(err)
		}
		is, changed, err := t.record(ctx)
		if err != nil {
			return t.settle(err)
		}
		records, changes = append(records, inventory.Part{Record: is, Vim: parts[n].vim}), append(changes, changed)
	}
	is := inventory.Merge(records)
	w.Op.ResourceChanges = inventory.Differences(changes)
	w.Instance.Instantiated, w.Instance.Inventory = is.Info, is.Resources
	w.Op.ChangedExtConnectivity = inventory.ChangedLinks(inventory.RecordOf(w.Op.Before).Info, is.Info)
	return nil
}

// record makes the record of the part's stack, and lists what the operation has changed there.
func (t *tick) record(ctx context.Context) (inventory.Record, *sol.ResourceChanges, error) {
	w := t.w
	g, err := t.desiredAt(&t.part)
	if err != nil {
		return inventory.Record{}, nil, err
	}
	var former *desired
	if w.Op.Type != sol.LcmOperationInstantiate {
		f, err := t.previousAt(&t.part)
		if err != nil {
			return inventory.Record{}, nil, err
		}
		former = &f
	}
	if former != nil && w.Op.State == sol.LcmOperationStateRollingBack {
		g, *former = *former, g
	}
	seen, err := t.observe(ctx, g)
	if err != nil {
		return inventory.Record{}, nil, err
	}
	keepAssembled(w, seen.Stack != nil && slices.Contains(seen.Stack.Tags, w.Op.ID))
	was := inventory.RecordOf(w.Op.Before)
	in := inventory.Input{
		Snapshot: seen, Vim: t.part.key, Instance: w.Instance, Before: w.Op.Before, Desired: g.target(),
		Operation: w.Op.ID, Params: w.Op.Params,
		Settled: expected(w), Exchanged: exchanged(w.Op.Type) && w.Op.State != sol.LcmOperationStateRollingBack,
	}
	if old := outdated(w); len(old) > 0 {
		in.Updated = map[string]bool{}
		for key := range old {
			in.Updated[key] = true
		}
	}
	if former != nil {
		target := former.target()
		in.Previous = &target
	}
	is := inventory.Build(in)
	changed := inventory.Changes(was.Present(), is)
	if seen.Stack == nil && was.Info != nil {
		is = was.Lost()
	}
	return is, changed, nil
}

// target is the part of a desired state that an inventory needs.
func (g desired) target() inventory.Target {
	return inventory.Target{Flavour: g.flavour, Class: g.class, Ext: g.ext, Managed: g.managed}
}

// expected says whether the phase under way begins where the resources are as they should be: then a stack that is not
// there is an error, and not what a failure has left.
func expected(w *lcm.Execution) bool {
	return strings.HasSuffix(w.Op.Phase, "inventory") || w.Op.Phase == ""
}

// observe reads the stack and everything in it: a few calls, however many VNFCs there are.
func (t *tick) observe(ctx context.Context, g desired) (*inventory.Snapshot, error) {
	name := t.stack.Name()
	st, err := t.cloud.FindStack(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &inventory.Snapshot{Stack: st, Project: t.cloud.Project()}
	if st == nil {
		if !expected(t.w) {
			return out, nil
		}
		hint := stack.LostHint
		if t.w.Op.Type == sol.LcmOperationInstantiate {
			hint = "roll the operation back and send it again"
		}
		return nil, lcm.Errorf(lcm.CodeUpstream, "the stack %s is not in the VIM %s any more", name,
			t.cloud.URL()).WithHint(hint)
	}
	var created time.Time
	err = parallel(ctx,
		func(ctx context.Context) error {
			all, err := t.cloud.ListResources(ctx, st)
			out.Tree = inventory.NewTree(st, all)
			out.Tree.OldestFirst = t.signalledVDUs(g)
			return early(err)
		},
		func(ctx context.Context) (err error) {
			out.NFV, created, err = t.stackParameters(ctx, st, g)
			return early(err)
		})
	if err != nil {
		return nil, err
	}
	err = parallel(ctx,
		func(ctx context.Context) (err error) {
			out.Servers, err = t.cloud.ReadServers(ctx, out.Tree.IDs(cloud.TypeServer), created)
			return err
		},
		func(ctx context.Context) (err error) {
			ids := slices.Compact(
				slices.Sorted(slices.Values(append(out.Tree.IDs(cloud.TypePort), userdata.GivenPorts(g.ext)...))),
			)
			out.Ports, err = t.cloud.ReadPorts(ctx, ids)
			return err
		},
		func(ctx context.Context) (err error) {
			out.FloatingIPs, err = t.cloud.ReadFloatingIPs(ctx, out.Tree.IDs(cloud.TypeFloatingIP))
			return err
		})
	if err != nil {
		return nil, err
	}
	out.Volumes, err = t.cloud.ReadVolumes(ctx, out.VolumeIDs(), created)
	return out, err
}

// early makes a transient failure of a 404 for something that a list has just shown: the services of a VIM learn of new
// things one after another.
func early(err error) error {
	if !cloud.NotFound(err) {
		return err
	}
	return lcm.AsError(err).AsTransient()
}

// parallel runs calls at the same time and returns the first failure.
func parallel(ctx context.Context, calls ...func(context.Context) error) error {
	return lcm.Each(
		ctx, 0, calls, func(ctx context.Context, call func(context.Context) error) error { return call(ctx) },
	)
}

// stackParameters reads nfv as Heat has it. Where Heat hides it, what was sent is taken.
func (t *tick) stackParameters(ctx context.Context, st *cloud.Stack, g desired) (map[string]any, time.Time, error) {
	has, created, err := t.cloud.StackParameters(ctx, st)
	if err != nil {
		return nil, time.Time{}, err
	}
	nfv := inventory.DecodeNFV(has["nfv"])
	if nfv == nil {
		nfv = g.nfv
		if sent, err := t.build(g); err == nil {
			nfv = inventory.Plain(sent.NFV)
		}
	}
	return userdata.Compact(nfv), created, nil
}
