package inventory

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (b *builder) vnfcResource(c *VNFC) sol.VnfcResourceInfo {
	r := sol.VnfcResourceInfo{
		ID: c.Server.PhysicalID, VduID: c.VDU.Name, ComputeResource: b.handle(c.Server),
		ZoneID: b.Snapshot.Servers[c.Server.PhysicalID].Zone, Metadata: b.vnfcMetadata(c),
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
func (b *builder) vnfcMetadata(c *VNFC) sol.KeyValuePairs {
	m := sol.KeyValuePairs{"creation_time": c.Server.CreationTime, "stack_id": c.Server.Owner().Ref()}
	if c.Numbered {
		m["vdu_idx"] = float64(c.Index)
	} else if c.Parent.PhysicalID != "" { // the member of a group, by the name that the group gave it
		m["parent_stack_id"] = c.Parent.Owner().Ref()
		m["parent_resource_name"] = c.Parent.Name
	}
	vdus, _ := b.Snapshot.NFV["VDU"].(map[string]any)
	old := b.was.resource(c.Server.PhysicalID)
	is := b.Snapshot.Servers[c.Server.PhysicalID]
	// made copies what nfv says, unless an update has only begun: then the server is still made from what it was.
	made := func(member, key, name string, same bool) {
		e, _ := vdus[key].(map[string]any)
		s, ok := userdata.ValueOf(e, name)
		if before, had := b.was.metadata(c.Server.PhysicalID)[member]; had && same {
			m[member] = before
		} else if ok {
			m[member] = s
		}
	}
	made("flavor", c.Key(), userdata.LeafFlavour, old.Flavour != "" && old.Flavour == is.FlavourName())
	suffix := c.Key()[len(c.VDU.Name):]
	made("image-"+c.VDU.Name+suffix, c.VDU.Name+suffix, userdata.LeafImage, old.Image != "" && old.Image == is.Image.ID)
	stored := b.storages(c)
	for _, node := range c.VDU.Storages {
		same := slices.ContainsFunc(
			stored, func(r cloud.Resource) bool { return r.Name == node && b.was.resource(r.PhysicalID).ID != "" },
		)
		made("image-"+node+suffix, node+suffix, userdata.LeafImage, same)
	}
	if from := b.madeFrom(c); from != nil {
		m[lcm.MadeFromVnfd] = from
	}
	made("zone", c.Key(), "locationConstraints", old.ID != "") // a server never moves to another zone by itself
	return m
}

// madeFrom is the VNFD from which a VNFC was made, nil for that of the instance. A VNFC that was added is made as the
// others of its VDU were.
func (b *builder) madeFrom(c *VNFC) any {
	if b.Exchanged || b.was.Info == nil {
		return nil
	}
	if was := b.was.metadata(c.Server.PhysicalID); was != nil {
		return was[lcm.MadeFromVnfd]
	}
	if old, ok := b.was.vnfcInfo(c); ok {
		if b.Updated[c.Key()] {
			return nil
		}
		return b.was.metadata(old.VnfcResourceInfoID)[lcm.MadeFromVnfd]
	}
	for _, r := range b.was.Info.VnfcResourceInfo {
		if from := r.Metadata[lcm.MadeFromVnfd]; r.VduID == c.VDU.Name && from != nil {
			return from
		}
	}
	return nil
}

// vnfcInfo keeps the configurable properties that the VNFC had; one that was recreated in its place keeps them.
func (b *builder) vnfcInfo(c *VNFC) sol.VnfcInfo {
	out := sol.VnfcInfo{
		ID: c.ID, VduID: c.VDU.Name, VnfcResourceInfoID: c.Server.PhysicalID, VnfcState: sol.VnfOperationalStateStopped,
	}
	if s, ok := b.Snapshot.Servers[c.Server.PhysicalID]; ok {
		out.VnfcState = s.State()
	}
	if old, ok := b.was.vnfcInfo(c); ok {
		out.VnfcConfigurableProperties = old.VnfcConfigurableProperties
	}
	return out
}
