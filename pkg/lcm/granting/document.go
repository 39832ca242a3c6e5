package granting

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Document is the grant of an operation in the form of the standard (SOL003 Grant), for code of packages: also for a
// grant that Gybe itself has decided on, and with images that were uploaded for the operation.
func Document(w *lcm.Execution, asked *sol.GrantRequest) sol.Grant {
	g := lcm.Grant{}
	if w.Op.Grant != nil {
		g = *w.Op.Grant
	}
	out := sol.Grant{
		ID: g.ID, VnfInstanceID: w.Op.InstanceID, VnfLcmOpOccID: w.Op.ID, ExtVirtualLinks: g.ExtVirtualLinks,
		ExtManagedVirtualLinks: g.ExtManagedVirtualLinks, AdditionalParams: w.Op.GrantParams,
		VimAssets: &sol.VimAssets{},
	}
	for _, r := range asked.AddResources {
		info := sol.GrantInfo{ResourceDefinitionID: r.ID}
		if r.Type == sol.ResourceTypeCompute {
			info.ZoneID = cmp.Or(g.Zones[r.ID], g.Zones[r.ResourceTemplateID])
		}
		known := slices.ContainsFunc(out.Zones, func(z sol.ZoneInfo) bool { return z.ID == info.ZoneID })
		if info.ZoneID != "" && !known {
			out.Zones = append(out.Zones, sol.ZoneInfo{ID: info.ZoneID, ZoneID: info.ZoneID})
		}
		out.AddResources = append(out.AddResources, info)
	}
	for _, node := range slices.Sorted(maps.Keys(g.Flavours)) {
		out.VimAssets.ComputeResourceFlavours = append(out.VimAssets.ComputeResourceFlavours,
			sol.VimComputeResourceFlavour{VnfdVirtualComputeDescID: node, VimFlavourID: g.Flavours[node]})
	}
	for _, node := range slices.Sorted(maps.Keys(g.Images)) {
		out.VimAssets.SoftwareImages = append(out.VimAssets.SoftwareImages,
			sol.VimSoftwareImage{VnfdSoftwareImageID: node, VimSoftwareImageID: g.Images[node]})
	}
	return out
}
