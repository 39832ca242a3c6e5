package openstack

import (
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/openstack/preview"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// Replaces implements lcm.Infra: the stack as it is and as it would be are compared, without the VIM.
func (d *Driver) Replaces(r lcm.Request) ([]string, error) {
	var out []string
	w := planned(r)
	parts, err := presentParts(w)
	if err != nil {
		return nil, err
	}
	for n := range parts {
		s := &parts[n]
		former, err := d.previousAt(s)
		if err != nil {
			return nil, err
		}
		s.w.Op.Grant = &lcm.Grant{Images: keptImages(former, s.w)}
		next, err := d.desiredAt(s)
		if err != nil {
			return nil, err
		}
		if next.own != nil {
			return replacedByClass(r), nil
		}
		before, err := d.side(former)
		if err != nil {
			return nil, err
		}
		after, err := d.side(next)
		if err != nil {
			return nil, err
		}
		more, err := preview.Replaced(s.request(r), before, after)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// side is the stack of a desired state for a comparison.
func (d *Driver) side(g desired) (*preview.Side, error) {
	st, err := d.build(g)
	if err != nil {
		return nil, err
	}
	return &preview.Side{Stack: st, Flavour: g.flavour}, nil
}

// keptImages are the ids of images that the instance has already: the content in the new package is the same.
func keptImages(former desired, w *lcm.Execution) map[string]string {
	out := map[string]string{}
	_, before := origins(w)
	was := map[string]string{}
	for _, n := range images.Packaged(former.flavour) {
		was[n.Name] = images.ContentTag(n.Image, before.VNFD.ID)
	}
	held, _ := former.nfv["VDU"].(map[string]any)
	for _, n := range images.Packaged(w.Flavour) {
		if was[n.Name] == "" || was[n.Name] != images.ContentTag(n.Image, w.VNFD.ID) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(held)) {
			node, _, _ := userdata.SplitIndex(name)
			leaves, _ := held[name].(map[string]any)
			id, ok := userdata.ValueOf(leaves, userdata.LeafImage)
			if ok && (name == n.Name || node == n.Name) && !strings.EqualFold(id, n.Image.Name) {
				out[n.Name] = id
				break
			}
		}
	}
	return out
}
