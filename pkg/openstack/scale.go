package openstack

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// scale brings the stack to the number of VNFCs that the operation's scope says.
func (t *tick) scale(ctx context.Context) error {
	if s := t.w.Op.Scope; s != nil && len(s.Add) > 0 {
		if err := t.provideImages(ctx); err != nil {
			return err
		}
	}
	if err := t.assemble(ctx); err != nil {
		return err
	}
	g, err := t.desiredAt(&t.part)
	if err != nil {
		return err
	}
	if err := t.signalGroups(ctx, g, victims(t.w)); err != nil {
		return err
	}
	return t.resize(ctx, g, victims(t.w))
}

// restoreStack brings the stack back to what it was before the operation.
func (t *tick) restoreStack(ctx context.Context) error {
	g, err := t.previousAt(&t.part)
	if err != nil {
		return err
	}
	return t.resize(ctx, g, nil)
}

// victims are the VNFCs that the operation takes away.
func victims(w *lcm.Execution) []string {
	if w.Op.Scope == nil {
		return nil
	}
	return w.Op.Scope.Remove
}

// resize updates the stack so that groups lose the right members: those of remove, then those that were not there
// before the operation.
func (t *tick) resize(ctx context.Context, g desired, remove []string) error {
	before := func(ctx context.Context) error { return t.shrinkGroups(ctx, g, remove) }
	if g.class == userdata.Standard {
		before = nil
	}
	return t.stack.Update(ctx, t.stack.Name(), t.built(g), before)
}

// shrinkGroups sees to it that AutoScalingGroups lose the right members when they get smaller: Heat takes away those
// that have failed first, and then the oldest. So the members that are to go are marked as failed, and those that have
// failed and are to stay no longer are.
func (t *tick) shrinkGroups(ctx context.Context, g desired, remove []string) error {
	all, err := t.stack.Resources(ctx)
	if err != nil {
		return err
	}
	for _, group := range all {
		if group.Type != cloud.TypeScalingGroup || group.PhysicalID == "" {
			continue
		}
		members := slices.DeleteFunc(
			slices.Clone(all), func(r cloud.Resource) bool { return r.Owner().ID != group.PhysicalID },
		)
		vdu := vduOf(g, members, all)
		surplus := len(members) - g.counts[vdu]
		if vdu == "" || surplus <= 0 {
			continue
		}
		goes, stays := chooseVictims(members, surplus, t.stack.Before(), remove)
		for _, m := range goes {
			if m.Failed() {
				continue
			}
			if err := t.stack.Mark(ctx, m, true, "goes with operation "+t.w.Op.ID); err != nil {
				return err
			}
		}
		for _, m := range stays {
			if !m.Failed() {
				continue
			}
			if err := t.unmark(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmark makes a failed resource count as a good one; the next update that changes its definition repairs it.
func (t *tick) unmark(ctx context.Context, r cloud.Resource) error {
	why := "stays with operation " + t.w.Op.ID
	if r.Status != "CHECK_FAILED" { // Heat takes back only what was marked
		if err := t.stack.Mark(ctx, r, true, why); err != nil {
			return err
		}
	}
	return t.stack.Mark(ctx, r, false, why)
}

// vduOf is the VDU whose servers the members of a group have.
func vduOf(g desired, members, all []cloud.Resource) string {
	for _, r := range all {
		if r.Type == cloud.TypeServer && g.flavour.VDU(r.Name) != nil &&
			slices.ContainsFunc(
				members, func(m cloud.Resource) bool { return m.PhysicalID != "" && m.PhysicalID == r.Owner().ID },
			) {
			return r.Name
		}
	}
	return ""
}

// chooseVictims chooses the members that a group loses, and those that stay: first the VNFCs of remove go, in their
// order, then members that the instance did not have before, those that failed and then the youngest first.
func chooseVictims(
	members []cloud.Resource, surplus int, before *lcm.Instance, remove []string,
) (goes, stays []cloud.Resource) {
	vnfcs := map[string]string{} // vnfcInfo id by the member's name
	if before.Instantiated != nil {
		for _, c := range before.Instantiated.VnfcInfo {
			_, r, _ := before.VNFC(c.ID)
			if name, ok := r.Metadata["parent_resource_name"].(string); ok {
				vnfcs[name] = c.ID
			}
		}
	}
	rank := func(m cloud.Resource) int {
		id, known := vnfcs[m.Name]
		at := slices.Index(remove, id)
		switch {
		case known && at >= 0:
			return at
		case known: // only if there are not enough others
			return len(remove) + 2
		case m.Failed():
			return len(remove)
		}
		return len(remove) + 1
	}
	out := slices.Clone(members)
	slices.SortStableFunc(out, func(a, b cloud.Resource) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.Created().Compare(a.Created()), strings.Compare(a.Name, b.Name))
	})
	return out[:surplus], out[surplus:]
}
