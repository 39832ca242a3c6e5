package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// resources makes the instance's inventory: every resource of the stack with the VNFC it belongs to and its addresses.
// Resources of the whole VNF come first, the others by VDU and index.
func (b *builder) resources() []lcm.Resource {
	all := slices.Clone(b.Snapshot.Tree.all)
	add := func(r cloud.Resource) {
		if !slices.ContainsFunc(all, func(o cloud.Resource) bool { return o.PhysicalID == r.PhysicalID }) {
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
		rec := lcm.Resource{Name: r.Name, Kind: kindOf(r.Type), Type: r.Type, ID: r.PhysicalID, Created: r.Created()}
		c := b.belongsTo(r)
		if c != nil {
			rec.VNFC, rec.VDU, rec.Index = c.ID, c.VDU.Name, c.Index
		}
		b.describe(&rec, c)
		rec.Addresses = b.addresses(r)
		out = append(out, rec)
	}
	slices.SortFunc(out, func(x, y lcm.Resource) int {
		return cmp.Or(strings.Compare(x.VDU, y.VDU), cmp.Compare(x.Index, y.Index), strings.Compare(x.Name, y.Name),
			strings.Compare(x.ID, y.ID))
	})
	return out
}

// describe adds what the resource's own service says.
func (b *builder) describe(rec *lcm.Resource, c *VNFC) {
	switch rec.Type {
	case cloud.TypeServer:
		s, ok := b.Snapshot.Servers[rec.ID]
		rec.Host, rec.Zone, rec.Status, rec.Flavour, rec.Image = s.Host, s.Zone, s.Status, s.FlavourName(), s.Image.ID
		if !ok {
			rec.Status = lcm.StatusNotFound
		}
	case cloud.TypeVolume:
		v, ok := b.Snapshot.Volumes[rec.ID]
		rec.Status, rec.Size, rec.Image = v.Status, v.Size, v.Image.ID
		if !ok && b.Snapshot.Volumes != nil {
			rec.Status = lcm.StatusNotFound
		}
		if c != nil {
			a, _ := v.On(c.Server.PhysicalID)
			rec.Device = a.Device
		}
	case cloud.TypePort:
		if p, ok := b.Snapshot.Ports[rec.ID]; ok {
			rec.Status = p.Status
		} else {
			rec.Status = lcm.StatusNotFound
		}
	}
}

// belongsTo finds the VNFC of a resource: the only one of its stack, or else the one that it is attached to.
func (b *builder) belongsTo(r cloud.Resource) *VNFC {
	if f, ok := b.Snapshot.FloatingIPs[r.PhysicalID]; ok {
		if p, ok := b.Snapshot.Tree.byID[f.Port]; ok {
			r = p
		}
	}
	for i := range b.cps {
		if b.cps[i].port.PhysicalID == r.PhysicalID {
			return b.cps[i].vnfc
		}
	}
	var only *VNFC
	for i := range b.vnfcs {
		c := &b.vnfcs[i]
		switch {
		case c.Server.PhysicalID == r.PhysicalID || b.Snapshot.Ports[r.PhysicalID].Device == c.Server.PhysicalID:
			return c
		case r.Type == cloud.TypeVolume && b.attached(c, r):
			return c
		case c.Server.Owner().ID == b.Snapshot.Tree.top:
			continue // a stack of the whole VNF belongs to no VNFC
		case c.Server.Owner().ID == r.Owner().ID || c.Server.Owner().ID == r.PhysicalID:
			if only != nil {
				return nil
			}
			only = c
		}
	}
	return only
}

// attached says whether a volume is one of a VNFC's storages or attached to its server.
func (b *builder) attached(c *VNFC, r cloud.Resource) bool {
	_, on := b.Snapshot.Volumes[r.PhysicalID].On(c.Server.PhysicalID)
	return on || slices.ContainsFunc(slices.Concat(b.storages(c), b.ownVolumes(c)), func(v cloud.Resource) bool {
		return v.PhysicalID == r.PhysicalID
	})
}

func (b *builder) addresses(r cloud.Resource) []lcm.Address {
	var out []lcm.Address
	switch r.Type {
	case cloud.TypePort:
		p := b.Snapshot.Ports[r.PhysicalID]
		for _, ip := range p.FixedIPs {
			out = append(out, lcm.Address{IP: ip.IP, MAC: p.MAC, Subnet: ip.Subnet, Network: p.Network})
		}
	case cloud.TypeFloatingIP:
		if f := b.Snapshot.FloatingIPs[r.PhysicalID]; f.Address != "" {
			out = append(out, lcm.Address{IP: f.Address, Network: f.Network, Floating: true})
		}
	case cloud.TypeServer:
		s := b.Snapshot.Servers[r.PhysicalID]
		for _, net := range slices.Sorted(maps.Keys(s.Addresses)) {
			for _, a := range s.Addresses[net] {
				out = append(out, lcm.Address{IP: a.Addr, MAC: a.MAC, Floating: a.Type == "floating"})
			}
		}
	}
	return out
}
