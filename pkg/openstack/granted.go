package openstack

import (
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// addGranted puts the links of the grant over those of the request, as far as they are in the part.
func (s *part) addGranted(req *connections) {
	g := s.w.Op.Grant
	if g == nil {
		return
	}
	ext, managed := g.ExtVirtualLinks, g.ExtManagedVirtualLinks
	if s.away != nil {
		ext, managed = s.links(ext), s.managed(managed)
	}
	if len(ext) > 0 {
		req.ExtVirtualLinks = userdata.MergeLinks(req.ExtVirtualLinks, ext)
	}
	req.ExtManagedVirtualLinks = userdata.MergeManaged(req.ExtManagedVirtualLinks, managed)
}

// healed adds to the leaves that a HEAL decides again those that the grant decides for the VNFCs that it replaces.
func healed(g desired, w *lcm.Execution, fresh userdata.Fresh) userdata.Fresh {
	replaced := map[string]bool{}
	for _, r := range w.Op.Before.Inventory {
		if w.Op.Scope != nil && (w.Op.Scope.Whole || slices.Contains(w.Op.Scope.VNFCs, r.VNFC)) && r.VDU != "" {
			replaced[fmt.Sprintf("%s-%d", r.VDU, r.Index)] = true
		}
	}
	return func(kind, name, leaf string) bool {
		if kind == "VDU" && replaced[name] {
			vdu, _, _ := userdata.SplitIndex(name)
			switch {
			case leaf == "locationConstraints":
				if g.grant.Zones[name] != "" {
					return true
				}
			case userdata.IsLeaf(leaf, userdata.LeafFlavour):
				if g.grant.Flavours[vdu] != "" {
					return true
				}
			case userdata.IsLeaf(leaf, userdata.LeafImage):
				if g.grant.Images[vdu] != "" {
					return true
				}
			}
		}
		return fresh(kind, name, leaf)
	}
}

// ungranted is the error of a stack that does not have the zones of an NFVO's grant; nil if it has them. Zones of VNFCs
// whose template takes no zone are left to the template.
func (g desired) ungranted(st *userdata.Stack) error {
	vdus, _ := st.NFV["VDU"].(map[string]any)
	for vnfc, zone := range g.grant.Zones {
		vdu, index, ok := userdata.SplitIndex(vnfc)
		if !ok || index < 0 || g.flavour.VDU(vnfc) != nil || g.flavour.VDU(vdu) == nil {
			continue
		}
		entry, own := vdus[vnfc].(map[string]any)
		if !own {
			entry, _ = vdus[vdu].(map[string]any)
		}
		has, asked := entry["locationConstraints"]
		if !asked || has == zone {
			continue
		}
		would := fmt.Sprintf("would be in %v", has)
		if has == nil {
			would = "would have none"
		}
		why := "additionalParams.nfv decides it"
		if !own {
			why = "the template has one zone for all VNFCs of the VDU"
		}
		return lcm.Errorf(lcm.CodeUpstream, "the grant places %s in the zone %s, but it %s: %s", vnfc, zone, would,
			why).
			WithHint("grant one zone for all VNFCs of the VDU, or use a template with a zone for each VNFC")
	}
	return nil
}
