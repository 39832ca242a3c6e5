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

// shrinkGroups marks the members that AutoScalingGroups have to lose as unhealthy: Heat takes such members first when a group gets smaller, and the
// oldest ones otherwise.
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
		if vdu == "" {
			continue
		}
		for _, m := range losers(members, len(members)-g.counts[vdu], j.before(), remove) {
			if err := j.mark(ctx, m, "goes with operation "+j.w.Op.ID); err != nil {
				return err
			}
		}
	}
	return nil
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

// losers chooses the members that a group has to lose, besides those that have failed and go anyway: first the VNFCs of remove in their
// order, then members that the instance did not have before, the youngest first.
func losers(members []resource, surplus int, before *lcm.Instance, remove []string) []resource {
	vnfcs := map[string]string{} // vnfcInfo id by the member's name
	if before.Instantiated != nil {
		for _, c := range before.Instantiated.VnfcInfo {
			_, r, _ := before.VNFC(c.ID)
			if name, ok := r.Metadata["parent_resource_name"].(string); ok {
				vnfcs[name] = c.ID
			}
		}
	}
	var out []resource
	for _, m := range members {
		id, known := vnfcs[m.Name]
		switch {
		case strings.HasSuffix(m.Status, "_FAILED"):
			surplus--
		case !known || slices.Contains(remove, id):
			out = append(out, m)
		}
	}
	rank := func(m resource) int {
		if at := slices.Index(remove, vnfcs[m.Name]); at >= 0 {
			return at
		}
		return len(remove)
	}
	slices.SortStableFunc(out, func(a, b resource) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.created().Compare(a.created()), strings.Compare(a.Name, b.Name))
	})
	return out[:max(min(surplus, len(out)), 0)]
}
