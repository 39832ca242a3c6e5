package granting

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// scopes are the scopes of rules of the VNFD in a grant request. network_link_and_node is not known there.
var scopes = map[string]sol.PlacementScope{
	"nfvi_node": sol.PlacementScopeNfviNode, "zone": sol.PlacementScopeZone, "zone_group": sol.PlacementScopeZoneGroup,
	"nfvi_pop": sol.PlacementScopeNfviPop,
}

// placement makes constraints of the affinity rules of the VNFD that concern new resources.
func (p *plan) placement() []sol.PlacementConstraint {
	var out []sol.PlacementConstraint
	for _, rule := range p.after.Placement {
		scope, ok := scopes[rule.Scope]
		if !ok {
			continue
		}
		isMember := func(name string) bool { return slices.Contains(rule.Targets, name) }
		c := sol.PlacementConstraint{AffinityOrAntiAffinity: sol.Affinity, Scope: scope}
		if rule.Anti {
			c.AffinityOrAntiAffinity = sol.AntiAffinity
		}
		fresh := p.newRefs(func(r resource) bool {
			return isMember(r.ResourceTemplateID) && (r.Type == sol.ResourceTypeCompute || r.Type == sol.ResourceTypeVl)
		})
		c.Resource = slices.Concat(fresh, p.remainingRefs(isMember))
		if len(fresh) > 0 && len(c.Resource) > 1 {
			out = append(out, c)
		}
	}
	return out
}

// newRefs refers to new resources.
func (p *plan) newRefs(matches func(resource) bool) []sol.ConstraintResourceRef {
	var out []sol.ConstraintResourceRef
	for _, r := range p.add {
		if matches(r) {
			out = append(out, sol.ConstraintResourceRef{IDType: sol.ResourceIDTypeGrant, ResourceID: r.ID})
		}
	}
	return out
}

// remainingRefs refers to machines and networks that the operation leaves.
func (p *plan) remainingRefs(matches func(template string) bool) []sol.ConstraintResourceRef {
	leaves := map[string]bool{}
	for _, r := range p.remove {
		leaves[r.ID] = true
	}
	var out []sol.ConstraintResourceRef
	add := func(template string, h sol.ResourceHandle) {
		if matches(template) && h.ResourceID != "" && !leaves[h.ResourceID] {
			out = append(out, sol.ConstraintResourceRef{
				IDType: sol.ResourceIDTypeResMgmt, ResourceID: h.ResourceID, VimConnectionID: h.VimConnectionID,
			})
		}
	}
	for _, c := range p.has.vnfcs {
		r := p.has.resources[c.ID]
		add(r.VduID, r.ComputeResource)
	}
	for _, l := range p.has.info.VnfVirtualLinkResourceInfo {
		add(l.VnfVirtualLinkDescID, l.NetworkResource)
	}
	return out
}

// vimConstraints asks for one VIM connection for resources that belong together: the VNFCs of a VDU, and those of VDUs
// that share an internal link of the VNF. A machine that exists fixes the connection.
func (p *plan) vimConstraints() []sol.VimConstraint {
	var out []sol.VimConstraint
	for _, together := range p.components() {
		isMember := func(name string) bool { return slices.Contains(together, name) }
		refs := p.newRefs(func(r resource) bool {
			return r.vdu != "" && isMember(r.vdu) || r.vdu == "" && isMember(r.ResourceTemplateID)
		})
		if remaining := p.remainingRefs(isMember); len(refs) > 0 && len(remaining) > 0 {
			refs = append(refs, remaining[0])
		}
		if len(refs) > 1 {
			out = append(out, sol.VimConstraint{Resource: refs})
		}
	}
	return out
}

// components divides the VDUs and the internal links of the flavour into sets that are connected with each other.
func (p *plan) components() [][]string {
	var out [][]string
	join := func(names ...string) {
		joined := names
		out = slices.DeleteFunc(out, func(set []string) bool {
			shared := slices.ContainsFunc(set, func(n string) bool { return slices.Contains(names, n) })
			if shared {
				joined = append(slices.Clone(set), joined...)
			}
			return shared
		})
		out = append(out, joined)
	}
	for _, v := range p.after.VDUs {
		join(v.Name)
	}
	for _, cp := range p.after.CPs {
		if cp.VDU != "" && cp.VL != "" && !p.managed(cp.VL) {
			join(cp.VDU, cp.VL)
		}
	}
	return out
}
