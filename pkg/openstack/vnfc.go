package openstack

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (b *builder) vnfcResource(c *vnfc) sol.VnfcResourceInfo {
	r := sol.VnfcResourceInfo{
		ID: c.server.PhysicalID, VduID: c.vdu.Name, ComputeResource: b.handle(c.server),
		ZoneID: b.seen.servers[c.server.PhysicalID].Zone, Metadata: b.vnfcMetadata(c),
	}
	for _, s := range b.storages(c) {
		r.StorageResourceIds = append(r.StorageResourceIds, s.PhysicalID)
	}
	for _, p := range b.cps {
		if p.vnfc != c {
			continue
		}
		info := sol.VnfcCpInfo{ID: p.id(), CpdID: p.cp.Name}
		switch {
		case p.link >= 0:
			info.VnfExtCpID = p.extID()
		case b.onInternalLink(p):
			info.VnfLinkPortID = p.port.PhysicalID
			info.CpProtocolInfo = b.protocols(p)
		default:
			info.CpProtocolInfo = b.protocols(p)
		}
		r.VnfcCpInfo = append(r.VnfcCpInfo, info)
	}
	return r
}

// vnfcMetadata has what later operations need to find the VNFC again in Heat, and what it was made from.
func (b *builder) vnfcMetadata(c *vnfc) sol.KeyValuePairs {
	m := sol.KeyValuePairs{"creation_time": c.server.Created, "stack_id": c.server.owner().ref()}
	if c.numbered {
		m["vdu_idx"] = float64(c.index)
	} else if c.parent.PhysicalID != "" { // the member of a group, by the name that the group gave it
		m["parent_stack_id"] = c.parent.owner().ref()
		m["parent_resource_name"] = c.parent.Name
	}
	vdus, _ := b.seen.nfv["VDU"].(map[string]any)
	old := b.was.resource(c.server.PhysicalID)
	is := b.seen.servers[c.server.PhysicalID]
	// made copies what nfv says, unless an update has only begun: then the server is still made from what it was.
	made := func(member, key, name string, same bool) {
		e, _ := vdus[key].(map[string]any)
		s, ok := userdata.ValueOf(e, name)
		if before, had := b.was.metadata(c.server.PhysicalID)[member]; had && same {
			m[member] = before
		} else if ok {
			m[member] = s
		}
	}
	made("flavor", c.vduKey(), userdata.LeafFlavour, old.Flavour != "" && old.Flavour == is.flavour())
	suffix := c.vduKey()[len(c.vdu.Name):]
	made("image-"+c.vdu.Name+suffix, c.vdu.Name+suffix, userdata.LeafImage, old.Image != "" && old.Image == is.Image.ID)
	stored := b.storages(c)
	for _, node := range c.vdu.Storages {
		same := slices.ContainsFunc(stored, func(r resource) bool { return r.Name == node && b.was.resource(r.PhysicalID).ID != "" })
		made("image-"+node+suffix, node+suffix, userdata.LeafImage, same)
	}
	made("zone", c.vduKey(), "locationConstraints", old.ID != "") // a server never moves to another zone by itself
	return m
}

// vnfcInfo keeps the configurable properties that the VNFC had; one that has been made anew in its place has them still.
func (b *builder) vnfcInfo(c *vnfc) sol.VnfcInfo {
	out := sol.VnfcInfo{ID: c.id, VduID: c.vdu.Name, VnfcResourceInfoID: c.server.PhysicalID, VnfcState: sol.VnfOperationalStateStopped}
	if s, ok := b.seen.servers[c.server.PhysicalID]; ok {
		out.VnfcState = s.state()
	}
	if old, ok := b.was.vnfc(c); ok {
		out.VnfcConfigurableProperties = old.VnfcConfigurableProperties
	}
	return out
}
