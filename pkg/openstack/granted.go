package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
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
		req.ExtVirtualLinks = lcm.MergeLinks(req.ExtVirtualLinks, ext)
	}
	req.ExtManagedVirtualLinks = userdata.MergeManaged(req.ExtManagedVirtualLinks, managed)
}

// Granted implements lcm.Infra: it assembles the stacks with the grant, and compares them with it. It does not ask the
// VIM.
func (d *Driver) Granted(ctx context.Context, w *lcm.Execution) error {
	switch w.Op.Type { //nolint:exhaustive // the others assemble stacks
	case sol.LcmOperationTerminate, sol.LcmOperationOperate, sol.LcmOperationCreateSnapshot:
		return nil
	}
	parts := partsOf(w)
	for n := range parts {
		s := &parts[n]
		if !s.concerned() || s.ends() {
			continue
		}
		g, err := d.desiredAt(s)
		if err == nil && g.own != nil {
			g.made, err = d.runClassNow(ctx, s, g)
		}
		if err != nil {
			return err
		}
		st, err := d.build(g)
		if err != nil {
			return err
		}
		if err := g.ungranted(st); err != nil {
			return err
		}
	}
	return d.requireManaged(w)
}

// requireManaged is the error of a granted externally managed link that no template has: nothing would use it.
func (d *Driver) requireManaged(w *lcm.Execution) error {
	if len(w.Op.Grant.ExtManagedVirtualLinks) == 0 {
		return nil
	}
	b, err := d.templates.Load(w.Package, w.Flavour.ID)
	if err != nil {
		return desired{flavour: w.Flavour, pointer: flavourMember[w.Op.Type]}.packageFault(err)
	}
	for n, l := range w.Op.Grant.ExtManagedVirtualLinks {
		if !b.Template.Has(l.VnfVirtualLinkDescID) {
			return lcm.Errorf(lcm.CodeUpstream, "the grant has an externally managed link for %s "+
				"(/extManagedVirtualLinks/%d), but nothing would use it: the template %s has no resource of this name",
				l.VnfVirtualLinkDescID, n, b.Path).
				WithHint("grant no externally managed link for it")
		}
	}
	return nil
}

// renewed adds to the leaves that an operation decides again those that the grant decides for resources that are all
// new: VNFCs that are added or replaced, and groups of which no member stays.
func (g desired) renewed(fresh userdata.Fresh) userdata.Fresh {
	return func(kind, name, leaf string) bool {
		if kind != "VDU" || !g.isNew(name) {
			return fresh(kind, name, leaf)
		}
		node := name
		if g.nodeOwner(name) == "" {
			node, _, _ = userdata.SplitIndex(name)
		}
		switch {
		case leaf == "locationConstraints" && (g.grant.Zones[name] != "" || g.grant.Zones[node] != ""):
			return true
		case userdata.IsLeaf(leaf, userdata.LeafFlavour) && g.grant.Flavours[node] != "":
			return true
		case userdata.IsLeaf(leaf, userdata.LeafImage) && g.grant.Images[node] != "":
			return true
		}
		return fresh(kind, name, leaf)
	}
}

// nodeOwner is the VDU that is a node or has it as a storage; "" when the flavour does not have the node.
func (g desired) nodeOwner(node string) string {
	for _, v := range g.flavour.VDUs {
		if v.Name == node || slices.Contains(v.Storages, node) {
			return v.Name
		}
	}
	return ""
}

// isNew says whether all that an entry of nfv.VDU stands for is new: a node of one VNFC, or of all VNFCs of the VDU.
func (g desired) isNew(name string) bool {
	definition := func(vdu, node string, index int) string {
		id := lcm.DefinitionID(vdu, index)
		if node == vdu {
			return id
		}
		return lcm.DefinitionOf(id, node)
	}
	if vdu := g.nodeOwner(name); vdu != "" {
		count := 0
		for _, id := range g.grant.New {
			if _, index, ok := newResource(id); ok && id == definition(vdu, name, index) {
				count++
			}
		}
		return count > 0 && count == g.counts[vdu]
	}
	node, index, ok := userdata.SplitIndex(name)
	vdu := g.nodeOwner(node)
	return ok && vdu != "" && slices.Contains(g.grant.New, definition(vdu, node, index))
}

// newResource reads the id of the definition of a new resource of a VNFC: the node and the index of the VNFC.
func newResource(id string) (node string, index int, ok bool) {
	machine, template, isPart := strings.Cut(id, "/")
	node, index, ok = userdata.SplitIndex(machine)
	if isPart {
		node = template
	}
	return node, index, ok
}

// ungranted is the error of a stack that does not have what an NFVO's grant decides for new resources; nil if it has.
// Zones of VNFCs whose template takes no zone are left to the template.
func (g desired) ungranted(st *userdata.Stack) error {
	asks, err := st.Asks()
	if err != nil {
		return fmt.Errorf("read the assembled template: %w", err)
	}
	c := compared{g, st.NFV, asks}
	for _, id := range g.grant.New {
		node, index, ok := newResource(id)
		vdu := g.nodeOwner(node)
		if !ok || vdu == "" {
			continue
		}
		own := fmt.Sprintf("%s-%d", node, index)
		if node == vdu {
			if err := c.hasZone(own, node, g.grant.Zones[own]); err != nil {
				return err
			}
		}
		if g.grant.Assets == nil { // those of an earlier grant were compared then
			continue
		}
		for _, asset := range []struct{ what, leaf, want string }{
			{"flavour", userdata.LeafFlavour, g.grant.Assets.Flavours[node]},
			{"image", userdata.LeafImage, g.grant.Assets.Images[node]},
		} {
			if asset.want == "" {
				continue
			}
			if err := c.hasAsset(asset.what, asset.leaf, own, node, asset.want); err != nil {
				return err
			}
		}
	}
	if err := c.hasMachines(st); err != nil {
		return err
	}
	return c.hasLinks()
}

// compared is a stack that is compared with the grant.
type compared struct {
	desired
	nfv  map[string]any
	asks map[userdata.Leaf]bool
}

// value is the value of a leaf; asked says whether the template takes it.
func (c compared) value(l userdata.Leaf) (value any, asked bool) {
	names, _ := c.nfv[l.Kind].(map[string]any)
	leaves, _ := names[l.Name].(map[string]any)
	return leaves[l.Leaf], c.asks[l]
}

// hasLeaf says whether the nfv of additionalParams has a value for a leaf.
func hasLeaf(params sol.KeyValuePairs, l userdata.Leaf) bool {
	nfv, _ := params["nfv"].(map[string]any)
	kind, _ := nfv[l.Kind].(map[string]any)
	leaves, _ := kind[l.Name].(map[string]any)
	return leaves[l.Leaf] != nil
}

// overruled says whether the grant itself has another value for a leaf in its additionalParams, and whether the
// request has one.
func (c compared) overruled(l userdata.Leaf) (byGrant, byRequest bool) {
	for n, p := range c.patches {
		if hasLeaf(p, l) {
			byGrant, byRequest = byGrant || n == 1, byRequest || n == 0
		}
	}
	return byGrant, byRequest
}

// hasZone compares the zone of a VNFC.
func (c compared) hasZone(vnfc, vdu, zone string) error {
	for _, name := range []string{vnfc, vdu} {
		l := userdata.Leaf{Kind: "VDU", Name: name, Leaf: "locationConstraints"}
		has, asked := c.value(l)
		if zone == "" || !asked || has == zone {
			continue
		}
		return lcm.Errorf(lcm.CodeUpstream, "the grant places %s in the zone %s, but it would %s: %s", vnfc, zone,
			wouldBe("be in", has), c.reason(l, vdu, "zone")).
			WithHint("grant one zone for all VNFCs of the VDU, or use a template with a zone for each VNFC")
	}
	return nil
}

// hasAsset compares the flavour or image of a node of a VNFC.
func (c compared) hasAsset(what, kind, own, node, want string) error {
	taken := false
	for _, name := range []string{own, node} {
		for _, leaf := range userdata.Leaves(kind) {
			l := userdata.Leaf{Kind: "VDU", Name: name, Leaf: leaf}
			has, asked := c.value(l)
			taken = taken || asked
			if byGrant, _ := c.overruled(l); !asked || has == want || byGrant {
				continue
			}
			return lcm.Errorf(lcm.CodeUpstream, "the grant gives %s the %s %s (/vimAssets), but it would %s: %s", own,
				what, want, wouldBe("have", has), c.reason(l, node, what)).
				WithHint("grant the " + what + " that its VNFCs have, or use a template with one for each VNFC")
		}
	}
	if !taken {
		return lcm.Errorf(lcm.CodeUpstream, "the grant gives %s the %s %s (/vimAssets), but the template does not "+
			"take it from nfv.VDU.%s.%s", own, what, want, node, kind).
			WithHint("grant no " + what + " for " + node + ", or use a template that takes it")
	}
	return nil
}

func wouldBe(verb string, has any) string {
	if has == nil {
		return "have none"
	}
	return fmt.Sprintf("%s %v", verb, has)
}

// reason says why a leaf has not the value of the grant.
func (c compared) reason(l userdata.Leaf, node, what string) string {
	byGrant, byRequest := c.overruled(l)
	switch {
	case c.own != nil:
		return c.decides()
	case byGrant:
		return "additionalParams.nfv of the grant decides it"
	case byRequest:
		return "additionalParams.nfv of the request decides it"
	case l.Name == node:
		return fmt.Sprintf("the template has one %s for all VNFCs of the VDU", what)
	}
	return "it keeps the one that it has"
}

// hasLinks compares the networks of external connection points.
func (c compared) hasLinks() error {
	for n, l := range c.grant.ExtVirtualLinks {
		for m, cp := range l.ExtCps {
			if err := c.hasLink(l, cp.CpdID, fmt.Sprintf("/extVirtualLinks/%d/extCps/%d", n, m)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c compared) hasLink(link sol.ExtVirtualLinkData, cpd, pointer string) error {
	cp := c.flavour.CP(cpd)
	if cp == nil || cp.VDU != "" && c.counts[cp.VDU] == 0 {
		return nil // it is in another part, or has no VNFC yet
	}
	taken := false
	for l := range c.asks {
		name := l.Name
		if c.flavour.CP(name) == nil {
			name, _, _ = userdata.SplitIndex(name)
		}
		if l.Kind != "CP" || name != cpd || l.Leaf != "network" && l.Leaf != "port" {
			continue
		}
		taken = true
		_, byRequest := c.overruled(l)
		if l.Leaf != "network" || !byRequest && c.own == nil {
			continue
		}
		if has, _ := c.value(l); has != link.ResourceID {
			if c.own != nil {
				return lcm.Errorf(lcm.CodeUpstream, "the grant connects %s to the network %s (%s), but it would be on "+
					"%v: %s", l.Name, link.ResourceID, pointer, has, c.decides()).WithHint(followGrant)
			}
			return lcm.Errorf(lcm.CodeUpstream, "the grant connects %s to the network %s (%s), but it would be on "+
				"%v: additionalParams.nfv of the request decides it", l.Name, link.ResourceID, pointer, has).
				WithHint("leave nfv.CP." + l.Name + ".network out of additionalParams")
		}
	}
	if !taken {
		return lcm.Errorf(lcm.CodeUpstream, "the grant connects %s to the network %s (%s), but the template takes "+
			"neither its network nor its port from nfv.CP", cpd, link.ResourceID, pointer).
			WithHint("grant no external link for " + cpd)
	}
	return nil
}
