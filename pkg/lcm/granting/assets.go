package granting

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// setAssets sets the flavours and images of a grant. A grant that names none leaves those of an earlier grant for the
// same package.
func (a *application) setAssets(out *lcm.Grant, vims map[string]sol.VimConnectionInfo) error {
	given := a.grant.VimAssets
	if given == nil {
		if has := a.w.Instance.Assets; has != nil && a.request.DstVnfdID == "" {
			out.Flavours, out.Images = maps.Clone(has.Flavours), maps.Clone(has.Images)
		}
		return nil
	}
	if len(given.SnapshotResources) > 0 {
		return invalid("vimAssets has snapshotResources, and the operation does not use snapshots")
	}
	assets := &lcm.VimAssets{Flavours: map[string]string{}, Images: map[string]string{}}
	for _, f := range given.ComputeResourceFlavours {
		if !slices.ContainsFunc(a.w.VNFD.Flavours, func(o vnfd.Flavour) bool {
			return o.VDU(f.VnfdVirtualComputeDescID) != nil
		}) && a.after.VDU(f.VnfdVirtualComputeDescID) == nil {
			return invalid("vimAssets names a flavour for %q, and the VNFD has no VDU of this name",
				f.VnfdVirtualComputeDescID)
		}
		if a.serves(vims, f.VnfdVirtualComputeDescID, f.VimConnectionID) {
			assets.Flavours[f.VnfdVirtualComputeDescID] = f.VimFlavourID
		}
	}
	for _, i := range given.SoftwareImages {
		nodes := a.nodesOf(i.VnfdSoftwareImageID)
		if len(nodes) == 0 {
			return invalid("vimAssets names an image for %q, and the VNFD has no such software image",
				i.VnfdSoftwareImageID)
		}
		for _, node := range nodes {
			if a.serves(vims, a.owner(node), i.VimConnectionID) {
				assets.Images[node] = i.VimSoftwareImageID
			}
		}
	}
	out.Assets, out.Flavours, out.Images = assets, maps.Clone(assets.Flavours), maps.Clone(assets.Images)
	return nil
}

// serves says whether an asset of a VIM connection is for a VDU; without a connection it is for all.
func (a *application) serves(vims map[string]sol.VimConnectionInfo, vdu, vim string) bool {
	key, _, _ := lcm.VimOf(vims, vdu)
	return cmp.Or(vim, key) == key
}

// nodesOf lists the VDUs and storages with a software image: the one that has this name, or those whose image has it.
func (a *application) nodesOf(image string) []string {
	var named, byImage []string
	add := func(node string, img *vnfd.SwImage) {
		switch {
		case img == nil:
		case node == image:
			named = append(named, node)
		case img.Name == image:
			byImage = append(byImage, node)
		}
	}
	flavours := a.w.VNFD.Flavours
	if len(flavours) == 0 {
		flavours = []vnfd.Flavour{*a.after}
	}
	for _, f := range flavours {
		for _, v := range f.VDUs {
			add(v.Name, v.Image)
		}
		for _, s := range f.Storages {
			add(s.Name, s.Image)
		}
	}
	if len(named) > 0 {
		return named
	}
	return byImage
}

// owner is the VDU that a node belongs to.
func (a *application) owner(node string) string {
	for _, v := range a.after.VDUs {
		if slices.Contains(v.Storages, node) {
			return v.Name
		}
	}
	return node
}
