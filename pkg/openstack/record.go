package openstack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// resources makes the instance's inventory: every resource of the stack with the VNFC it belongs to and its addresses. Resources
// of the whole VNF come first, the others by VDU and index.
func (b *builder) resources() []lcm.Resource {
	var out []lcm.Resource
	for _, r := range b.seen.tree.all {
		rec := lcm.Resource{Name: r.Name, Type: r.Type, ID: r.PhysicalID, Created: r.created()}
		if c := b.belongsTo(r); c != nil {
			rec.VNFC, rec.VDU, rec.Index = c.id, c.vdu.Name, c.index
		}
		if s, ok := b.seen.servers[r.PhysicalID]; ok {
			rec.Host, rec.Zone = s.Host, s.Zone
		}
		rec.Addresses = b.addresses(r)
		out = append(out, rec)
	}
	slices.SortFunc(out, func(x, y lcm.Resource) int {
		return cmp.Or(strings.Compare(x.VDU, y.VDU), cmp.Compare(x.Index, y.Index), strings.Compare(x.Name, y.Name), strings.Compare(x.ID, y.ID))
	})
	return out
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
		case r.Type == typeVolume && slices.ContainsFunc(b.storages(c), func(v resource) bool { return v.PhysicalID == r.PhysicalID }):
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

// changes lists everything of an instance as added or removed (SOL003 clause 5.5.2.13, resourceChanges).
func changes(t sol.ChangeType, i *sol.InstantiatedVnfInfo) *sol.ResourceChanges {
	if i == nil {
		return nil
	}
	out := &sol.ResourceChanges{}
	for _, r := range i.VnfcResourceInfo {
		a := sol.AffectedVnfc{
			ID: r.ID, VduID: r.VduID, ChangeType: t, ComputeResource: r.ComputeResource, ZoneID: r.ZoneID, Metadata: r.Metadata,
		}
		for _, cp := range r.VnfcCpInfo {
			a.AffectedVnfcCpIds = append(a.AffectedVnfcCpIds, cp.ID)
		}
		if t == sol.ChangeTypeRemoved {
			a.RemovedStorageResourceIds = r.StorageResourceIds
		} else {
			a.AddedStorageResourceIds = r.StorageResourceIds
		}
		out.AffectedVnfcs = append(out.AffectedVnfcs, a)
	}
	for _, l := range i.VnfVirtualLinkResourceInfo {
		a := sol.AffectedVirtualLink{ID: l.ID, VnfVirtualLinkDescID: l.VnfVirtualLinkDescID, ChangeType: t, NetworkResource: l.NetworkResource}
		for _, p := range l.VnfLinkPorts {
			a.VnfLinkPortIds = append(a.VnfLinkPortIds, p.ID)
		}
		out.AffectedVirtualLinks = append(out.AffectedVirtualLinks, a)
	}
	for _, l := range i.ExtVirtualLinkInfo {
		for _, p := range l.ExtLinkPorts {
			out.AffectedExtLinkPorts = append(out.AffectedExtLinkPorts, sol.AffectedExtLinkPort{
				ID: p.ID, ChangeType: t, ExtCpInstanceID: p.CpInstanceID, ResourceHandle: p.ResourceHandle,
			})
		}
	}
	for _, s := range i.VirtualStorageResourceInfo {
		out.AffectedVirtualStorages = append(out.AffectedVirtualStorages, sol.AffectedVirtualStorage{
			ID: s.ID, VirtualStorageDescID: s.VirtualStorageDescID, ChangeType: t, StorageResource: s.StorageResource, Metadata: s.Metadata,
		})
	}
	return out
}
