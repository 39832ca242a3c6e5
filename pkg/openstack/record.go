package openstack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// resources makes the instance's inventory: every resource of the stack with the VNFC it belongs to and its addresses. Resources
// of the whole VNF come first, the others by VDU and index.
func (b *builder) resources() []lcm.Resource {
	all := slices.Clone(b.seen.tree.all)
	add := func(r resource) {
		if !slices.ContainsFunc(all, func(o resource) bool { return o.PhysicalID == r.PhysicalID }) {
			all = append(all, r)
		}
	}
	for i := range b.vnfcs { // what belongs to a VNFC and is not in the stack
		for _, v := range slices.Concat(b.storages(&b.vnfcs[i]), b.ownVolumes(&b.vnfcs[i])) {
			add(v)
		}
	}
	for _, c := range b.cps {
		add(c.port)
	}
	var out []lcm.Resource
	for _, r := range all {
		rec := lcm.Resource{Name: r.Name, Type: r.Type, ID: r.PhysicalID, Created: r.created()}
		c := b.belongsTo(r)
		if c != nil {
			rec.VNFC, rec.VDU, rec.Index = c.id, c.vdu.Name, c.index
		}
		b.describe(&rec, c)
		rec.Addresses = b.addresses(r)
		out = append(out, rec)
	}
	slices.SortFunc(out, func(x, y lcm.Resource) int {
		return cmp.Or(strings.Compare(x.VDU, y.VDU), cmp.Compare(x.Index, y.Index), strings.Compare(x.Name, y.Name), strings.Compare(x.ID, y.ID))
	})
	return out
}

// gone is the status of a resource that Heat names and its service does not have.
const gone = "NOT_FOUND"

// describe adds what the resource's own service says.
func (b *builder) describe(rec *lcm.Resource, c *vnfc) {
	switch rec.Type {
	case typeServer:
		s, ok := b.seen.servers[rec.ID]
		rec.Host, rec.Zone, rec.Status, rec.Flavour, rec.Image = s.Host, s.Zone, s.Status, s.flavour(), s.Image.ID
		if !ok {
			rec.Status = gone
		}
	case typeVolume:
		v, ok := b.seen.volumes[rec.ID]
		rec.Status, rec.Size, rec.Image = v.Status, v.Size, v.Image.ID
		if !ok && b.seen.volumes != nil {
			rec.Status = gone
		}
		if c != nil {
			a, _ := v.on(c.server.PhysicalID)
			rec.Device = a.Device
		}
	case typePort:
		if p, ok := b.seen.ports[rec.ID]; ok {
			rec.Status = p.Status
		} else {
			rec.Status = gone
		}
	}
}

// belongsTo finds the VNFC of a resource: the only one of its stack, or else the one that it is attached to.
func (b *builder) belongsTo(r resource) *vnfc {
	if f, ok := b.seen.floats[r.PhysicalID]; ok {
		if p, ok := b.seen.tree.byID[f.Port]; ok {
			r = p
		}
	}
	for i := range b.cps {
		if b.cps[i].port.PhysicalID == r.PhysicalID {
			return b.cps[i].vnfc
		}
	}
	var only *vnfc
	for i := range b.vnfcs {
		c := &b.vnfcs[i]
		switch {
		case c.server.PhysicalID == r.PhysicalID || b.seen.ports[r.PhysicalID].Device == c.server.PhysicalID:
			return c
		case r.Type == typeVolume && b.attached(c, r):
			return c
		case c.server.owner().ID == b.seen.tree.top:
			continue // a stack of the whole VNF belongs to nobody
		case c.server.owner().ID == r.owner().ID || c.server.owner().ID == r.PhysicalID:
			if only != nil {
				return nil
			}
			only = c
		}
	}
	return only
}

// attached says whether a volume is one of a VNFC's storages or attached to its server.
func (b *builder) attached(c *vnfc, r resource) bool {
	_, on := b.seen.volumes[r.PhysicalID].on(c.server.PhysicalID)
	return on || slices.ContainsFunc(slices.Concat(b.storages(c), b.ownVolumes(c)), func(v resource) bool { return v.PhysicalID == r.PhysicalID })
}

func (b *builder) addresses(r resource) []lcm.Address {
	var out []lcm.Address
	switch r.Type {
	case typePort:
		p := b.seen.ports[r.PhysicalID]
		for _, ip := range p.FixedIPs {
			out = append(out, lcm.Address{IP: ip.IP, MAC: p.MAC, Subnet: ip.Subnet, Network: p.Network})
		}
	case typeFloat:
		if f := b.seen.floats[r.PhysicalID]; f.Address != "" {
			out = append(out, lcm.Address{IP: f.Address, Network: f.Network, Floating: true})
		}
	case typeServer:
		s := b.seen.servers[r.PhysicalID]
		for _, net := range slices.Sorted(maps.Keys(s.Addresses)) {
			for _, a := range s.Addresses[net] {
				out = append(out, lcm.Address{IP: a.Addr, MAC: a.MAC, Floating: a.Type == "floating"})
			}
		}
	}
	return out
}
