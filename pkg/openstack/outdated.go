package openstack

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// A MODIFY_INFO with a vnfdId changes nothing in the VIM, and marks the VNFCs as made from the VNFD before. A HEAL
// makes the servers of such VNFCs that it recreates from the images of the package that the instance has now, and also
// their volumes if it recreates them. Members of a group have one image: a HEAL of some of them keeps it, because
// another one would rebuild the servers of the others.

// outdated lists the nodes (VDUs and storages) by the names below nfv.VDU whose image a HEAL decides again. Nodes that
// have no image in the package are not among them.
func outdated(w *lcm.Execution) map[string]string {
	scope, before := w.Op.Scope, w.Op.Before
	if w.Op.Type != sol.LcmOperationHeal || scope == nil || before == nil || before.Instantiated == nil {
		return nil
	}
	out := map[string]string{}
	for _, v := range w.Flavour.VDUs {
		nodes := []string{v.Name}
		if scope.Whole || scope.Fresh {
			nodes = append(nodes, v.Storages...)
		}
		for _, suffix := range outdatedVNFCs(w, v.Name) {
			for _, n := range nodes {
				if imageOf(w.Flavour, n) != nil {
					out[n+suffix] = n
				}
			}
		}
	}
	return out
}

// outdatedVNFCs lists the VNFCs of a VDU that a HEAL recreates and that were made from another VNFD, as suffixes of the
// names below nfv.VDU: "-1", and "" for all members of a group.
func outdatedVNFCs(w *lcm.Execution, vdu string) []string {
	var out []string
	some, all := false, true // of the members of a group
	for _, c := range w.Op.Before.Instantiated.VnfcInfo {
		if c.VduID != vdu {
			continue
		}
		_, r, _ := w.Op.Before.VNFC(c.ID)
		made, _ := r.Metadata[lcm.MadeFromVnfd].(string)
		old := made != "" && made != w.Instance.VnfdID
		healed := w.Op.Scope.Whole || slices.Contains(w.Op.Scope.VNFCs, c.ID)
		if index, numbered := r.Metadata["vdu_idx"].(float64); !numbered {
			some, all = some || old, all && healed
		} else if old && healed {
			out = append(out, fmt.Sprintf("-%d", int(index)))
		}
	}
	if some && all {
		out = append(out, "")
	}
	return out
}

// imageOf is the image of a VDU or storage of a flavour; nil when it has none.
func imageOf(f *vnfd.Flavour, node string) *vnfd.SwImage {
	if v := f.VDU(node); v != nil {
		return v.Image
	}
	for _, s := range f.Storages {
		if s.Name == node {
			return s.Image
		}
	}
	return nil
}

// outdatedImages are the images of the package that a HEAL needs for VNFCs that were made from another one.
func outdatedImages(w *lcm.Execution) []images.Node {
	nodes := slices.Collect(maps.Values(outdated(w)))
	return slices.DeleteFunc(
		images.Packaged(w.Flavour), func(n images.Node) bool { return !slices.Contains(nodes, n.Name) },
	)
}

// updateImages makes a HEAL decide the images of outdated VNFCs again.
func (g *desired) updateImages(w *lcm.Execution) {
	old := outdated(w)
	if len(old) == 0 {
		return
	}
	granted := maps.Clone(g.grant.Images)
	if granted == nil {
		granted = map[string]string{}
	}
	for _, node := range old {
		if granted[node] == "" { // the other VNFCs of the VDU, which keep theirs, do not decide
			granted[node] = imageOf(w.Flavour, node).Name
		}
	}
	g.grant.Images = granted
	fresh := g.overridable
	g.overridable = func(kind, name, leaf string) bool {
		return kind == "VDU" && old[name] != "" && userdata.IsLeaf(leaf, userdata.LeafImage) || fresh(kind, name, leaf)
	}
}
