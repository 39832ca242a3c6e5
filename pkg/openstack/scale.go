package openstack

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// scale brings the stack to the number of VNFCs that the operation's scope says.
func (j *job) scale(ctx context.Context) error {
	if s := j.w.Op.Scope; s != nil && len(s.Add) > 0 {
		if err := j.provideImages(ctx); err != nil {
			return err
		}
	}
	g, err := j.goalOf(j.w)
	if err != nil {
		return err
	}
	if err := j.signalled(ctx, g, removed(j.w)); err != nil {
		return err
	}
	return j.resized(ctx, j.goalOf, removed(j.w))
}

// restoreStack brings the stack back to what it was before the operation.
func (j *job) restoreStack(ctx context.Context) error {
	return j.resized(ctx, func(w *lcm.Work) (goal, error) {
		g, err := j.formerGoal(w)
		g.renew = w.Op.ID
		return g, err
	}, nil)
}

// removed are the VNFCs that the operation takes away.
func removed(w *lcm.Work) []string {
	if w.Op.Scope == nil {
		return nil
	}
	return w.Op.Scope.Remove
}

// resized updates the stack and sees to it that groups lose the right members: those of remove, then those that were not there
// before the operation.
func (j *job) resized(ctx context.Context, want func(*lcm.Work) (goal, error), remove []string) error {
	return j.stackUpdated(ctx, j.stackName(),
		func(context.Context) (*userdata.Stack, error) {
			g, err := want(j.w)
			if err != nil {
				return nil, err
			}
			return j.build(g)
		},
		func(ctx context.Context) error {
			g, err := want(j.w)
			if err != nil || g.class == userdata.Standard {
				return err
			}
			return j.shrinkGroups(ctx, g, remove)
		})
}

// shrinkGroups sees to it that AutoScalingGroups lose the right members when they get smaller: Heat takes away those that have failed first, and
// then the oldest. So the members that are to go are marked as failed, and those that have failed and are to stay no longer are.
func (j *job) shrinkGroups(ctx context.Context, g goal, remove []string) error {
	all, err := j.resources(ctx)
	if err != nil {
		return err
	}
	for _, group := range all {
		if group.Type != "OS::Heat::AutoScalingGroup" || group.PhysicalID == "" {
			continue
		}
		members := slices.DeleteFunc(slices.Clone(all), func(r resource) bool { return r.owner().ID != group.PhysicalID })
		vdu := vduOf(g, members, all)
		surplus := len(members) - g.counts[vdu]
		if vdu == "" || surplus <= 0 {
			continue
		}
		goes, stays := losers(members, surplus, j.before(), remove)
		for _, m := range goes {
			if m.failed() {
				continue
			}
			if err := j.mark(ctx, m, true, "goes with operation "+j.w.Op.ID); err != nil {
				return err
			}
		}
		for _, m := range stays {
			if !m.failed() {
				continue
			}
			if err := j.spare(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// spare makes a failed resource count as a good one; what is wrong inside is put right by the next update that changes its definition.
func (j *job) spare(ctx context.Context, r resource) error {
	why := "stays with operation " + j.w.Op.ID
	if r.Status != "CHECK_FAILED" { // Heat takes back only what was marked
		if err := j.mark(ctx, r, true, why); err != nil {
			return err
		}
	}
	return j.mark(ctx, r, false, why)
}

// vduOf is the VDU whose servers the members of a group have.
func vduOf(g goal, members, all []resource) string {
	for _, r := range all {
		if r.Type == typeServer && g.flavour.VDU(r.Name) != nil &&
			slices.ContainsFunc(members, func(m resource) bool { return m.PhysicalID != "" && m.PhysicalID == r.owner().ID }) {
			return r.Name
		}
	}
	return ""
}

// losers chooses the members that a group has to lose, and those that stay: first the VNFCs of remove go, in their order, then members that the instance
// did not have before, those that failed and then the youngest first.
func losers(members []resource, surplus int, before *lcm.Instance, remove []string) (goes, stays []resource) {
	vnfcs := map[string]string{} // vnfcInfo id by the member's name
	if before.Instantiated != nil {
		for _, c := range before.Instantiated.VnfcInfo {
			_, r, _ := before.VNFC(c.ID)
			if name, ok := r.Metadata["parent_resource_name"].(string); ok {
				vnfcs[name] = c.ID
			}
		}
	}
	rank := func(m resource) int {
		id, known := vnfcs[m.Name]
		at := slices.Index(remove, id)
		switch {
		case known && at >= 0:
			return at
		case known: // only if there are not enough others
			return len(remove) + 2
		case m.failed():
			return len(remove)
		}
		return len(remove) + 1
	}
	out := slices.Clone(members)
	slices.SortStableFunc(out, func(a, b resource) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.created().Compare(a.created()), strings.Compare(a.Name, b.Name))
	})
	return out[:surplus], out[surplus:]
}
