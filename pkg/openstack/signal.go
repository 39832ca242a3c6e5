package openstack

import (
	"context"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// policies are those by which the operation scales, by VDU.
func (t *tick) policies(g desired) (map[string]*hot.Policy, error) {
	if t.w.Op.Type != sol.LcmOperationScale || g.class == userdata.Standard || g.own != nil {
		return nil, nil
	}
	for _, p := range g.patches { // with another nfv, members are replaced: the update does both together
		if _, ok := p["nfv"]; ok {
			return nil, nil
		}
	}
	b, err := t.bundle(g)
	if err != nil {
		return nil, err
	}
	out := map[string]*hot.Policy{}
	for _, v := range g.flavour.VDUs {
		if p := b.Policy(v.Name, g.counts[v.Name]-g.existing[v.Name]); p != nil {
			out[v.Name] = p
		}
	}
	return out, nil
}

// signalGroups scales groups by signals, as far as that goes.
func (t *tick) signalGroups(ctx context.Context, g desired, remove []string) error {
	policies, err := t.policies(g)
	if err != nil {
		return err
	}
	victims := memberNames(t.stack.Before(), remove)
	for _, vdu := range slices.Sorted(maps.Keys(policies)) {
		if err := t.stack.Signal(ctx, *policies[vdu], g.counts[vdu], victims); err != nil {
			return err
		}
	}
	return nil
}

// memberNames are the names of the members of groups that VNFCs are.
func memberNames(i *lcm.Instance, vnfcs []string) map[string]bool {
	out := map[string]bool{}
	for _, id := range vnfcs {
		_, r, _ := i.VNFC(id)
		if name, ok := r.Metadata["parent_resource_name"].(string); ok {
			out[name] = true
		}
	}
	return out
}

// signalledVDUs are the VDUs whose groups are scaled in by signals. Those whose VNFCs have names that the user chose
// are not: names go by index, and each would pass on to another VNFC when the oldest goes.
func (t *tick) signalledVDUs(g desired) map[string]bool {
	out := map[string]bool{}
	b, err := t.bundle(g)
	if err != nil || g.class == userdata.Standard || g.own != nil { // a package without templates has no groups
		return out
	}
	named := inventory.VNFCIDs(t.w.Instance)
	for _, v := range g.flavour.VDUs {
		if len(named[v.Name]) == 0 && b.Policy(v.Name, -1) != nil {
			out[v.Name] = true
		}
	}
	return out
}

// signalledGroups are the groups to which the operation may have sent signals.
func (t *tick) signalledGroups() ([]string, error) {
	if t.w.Op.Type != sol.LcmOperationScale {
		return nil, nil
	}
	g, err := t.desiredAt(&t.part)
	if err != nil {
		return nil, err
	}
	policies, err := t.policies(g)
	var out []string
	for _, vdu := range slices.Sorted(maps.Keys(policies)) {
		out = append(out, policies[vdu].Group)
	}
	return out, err
}
