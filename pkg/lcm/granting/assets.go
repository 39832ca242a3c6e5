package granting

import (
	"cmp"
	"fmt"
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
		return invalid("/vimAssets/snapshotResources", "is present: this VNFM reverts to snapshots that it has made, "+
			"not to those of VNF snapshot packages")
	}
	flavours, images := mapping{what: "flavour"}, mapping{what: "image"}
	for n, f := range given.ComputeResourceFlavours {
		at := fmt.Sprintf("/vimAssets/computeResourceFlavours/%d", n)
		if err := a.addFlavour(&flavours, at, f, vims); err != nil {
			return err
		}
	}
	for n, i := range given.SoftwareImages {
		if err := a.addImage(&images, fmt.Sprintf("/vimAssets/softwareImages/%d", n), i, vims); err != nil {
			return err
		}
	}
	for _, m := range []mapping{flavours, images} {
		if err := m.complete(); err != nil {
			return err
		}
	}
	assets := &lcm.VimAssets{Flavours: flavours.chosen(), Images: images.chosen()}
	out.Assets, out.Flavours, out.Images = assets, maps.Clone(assets.Flavours), maps.Clone(assets.Images)
	return nil
}

func (a *application) addFlavour(
	m *mapping, at string, f sol.VimComputeResourceFlavour, vims map[string]sol.VimConnectionInfo,
) error {
	if err := indirect(at, f.ResourceProviderID); err != nil {
		return err
	}
	vdu := f.VnfdVirtualComputeDescID
	has := func(o vnfd.Flavour) bool { return o.VDU(vdu) != nil }
	if !slices.ContainsFunc(a.w.VNFD.Flavours, has) && !has(*a.after) {
		return invalid(at+"/vnfdVirtualComputeDescId", "is %q, and the VNFD has no VDU of this name", vdu)
	}
	return m.add(at, vdu, f.VimFlavourID, a.serves(vims, vdu, f.VimConnectionID))
}

func (a *application) addImage(
	m *mapping, at string, i sol.VimSoftwareImage, vims map[string]sol.VimConnectionInfo,
) error {
	if err := indirect(at, i.ResourceProviderID); err != nil {
		return err
	}
	nodes := a.nodesOf(i.VnfdSoftwareImageID)
	if len(nodes) == 0 {
		return invalid(at+"/vnfdSoftwareImageId", "is %q, and the VNFD has no such software image",
			i.VnfdSoftwareImageID)
	}
	for _, node := range nodes {
		if err := m.add(at, node, i.VimSoftwareImageID, a.serves(vims, a.owner(node), i.VimConnectionID)); err != nil {
			return err
		}
	}
	return nil
}

// mapping collects the assets of one kind: by node, those of the VIM that the node uses.
type mapping struct {
	what  string
	of    map[string]string
	other map[string]string // nodes for which there are assets of other VIMs, and where the grant has the first
}

// add adds an asset. A grant has the assets of all VIMs in which the package can be used; those of others are left out.
func (m *mapping) add(at, node, asset string, serves bool) error {
	if asset == "" {
		return invalid(at, "names no %s", m.what)
	}
	if m.of == nil {
		m.of, m.other = map[string]string{}, map[string]string{}
	}
	if !serves {
		if m.other[node] == "" {
			m.other[node] = at
		}
		return nil
	}
	if has := m.of[node]; has != "" && has != asset {
		return invalid(at, "gives %s the %s %s, and another entry gives it %s", node, m.what, asset, has)
	}
	m.of[node] = asset
	return nil
}

// complete is the error of a node for which there are only assets of VIMs that it does not use.
func (m *mapping) complete() error {
	for _, node := range slices.Sorted(maps.Keys(m.other)) {
		if m.of[node] == "" {
			return invalid(m.other[node]+"/vimConnectionId", "is another VIM than that of %s, and no entry names "+
				"its %s in that VIM", node, m.what)
		}
	}
	return nil
}

// chosen are the assets; an empty map without any.
func (m *mapping) chosen() map[string]string {
	if m.of == nil {
		return map[string]string{}
	}
	return m.of
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
