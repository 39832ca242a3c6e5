package openstack

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Resource types of Heat that the inventory knows.
const (
	typeServer = "OS::Nova::Server"
	typePort   = "OS::Neutron::Port"
	typeFloat  = "OS::Neutron::FloatingIP"
	typeNet    = "OS::Neutron::Net"
	typeVolume = "OS::Cinder::Volume"
)

// builder makes the records of an instance from what was seen.
type builder struct {
	w      *lcm.Work
	vim    string
	seen   *sight
	req    sol.InstantiateVnfRequest
	before *sol.InstantiatedVnfInfo

	vnfcs []vnfc
	cps   []cpInstance
}

// cpInstance is the port of one connection point of one VNFC; vnfc is nil for a CP of the whole VNF.
type cpInstance struct {
	cp   *vnfd.CP
	vnfc *vnfc
	port resource
	// link and extCP are indexes into extVirtualLinks, -1 when the CP is not external; config is the key of its cpConfig.
	link, extCP int
	config      string
}

// id is the VnfcCpInfo id.
func (c cpInstance) id() string {
	if c.vnfc == nil {
		return ""
	}
	return c.cp.Name + "-" + c.vnfc.server.PhysicalID
}

// extID is the VnfExtCpInfo id.
func (c cpInstance) extID() string { return "cp-" + c.port.PhysicalID }

func (b *builder) handle(r resource) sol.ResourceHandle {
	return sol.ResourceHandle{VimConnectionID: b.vim, ResourceID: r.PhysicalID, VimLevelResourceType: r.Type}
}

// info makes InstantiatedVnfInfo (SOL003 clause 5.5.2.2).
func (b *builder) info() *sol.InstantiatedVnfInfo {
	b.vnfcs = b.seen.tree.vnfcs(b.w.Flavour, vnfcIDs(b.w.Instance))
	b.cps = b.findCPs()
	out := &sol.InstantiatedVnfInfo{
		FlavourID: b.req.FlavourID, VnfState: sol.VnfOperationalStateStarted,
		LocalizationLanguage: b.req.LocalizationLanguage,
		Metadata: sol.KeyValuePairs{
			"stack_id": b.seen.stack.ID, "nfv": b.seen.nfv, "tenant": b.seen.project,
		},
	}
	level := b.w.Flavour.Level(b.req.InstantiationLevelID)
	for _, a := range b.w.Flavour.Aspects {
		now := sol.ScaleInfo{AspectID: a.ID}
		if level != nil {
			now.ScaleLevel = level.ScaleLevels[a.ID]
		}
		out.ScaleStatus = append(out.ScaleStatus, now)
		out.MaxScaleLevels = append(out.MaxScaleLevels, sol.ScaleInfo{AspectID: a.ID, ScaleLevel: a.MaxScaleLevel})
	}
	for i := range b.vnfcs {
		c := &b.vnfcs[i]
		out.VnfcResourceInfo = append(out.VnfcResourceInfo, b.vnfcResource(c))
		out.VnfcInfo = append(out.VnfcInfo, b.vnfcInfo(c))
		for _, s := range b.storages(c) {
			out.VirtualStorageResourceInfo = append(out.VirtualStorageResourceInfo, sol.VirtualStorageResourceInfo{
				ID: s.PhysicalID, VirtualStorageDescID: s.Name, StorageResource: b.handle(s),
				Metadata: sol.KeyValuePairs{"stack_id": s.owner().ref()},
			})
		}
	}
	for _, c := range b.cps {
		if c.link >= 0 {
			out.ExtCpInfo = append(out.ExtCpInfo, b.extCP(c))
		}
	}
	for i, l := range b.req.ExtVirtualLinks {
		out.ExtVirtualLinkInfo = append(out.ExtVirtualLinkInfo, b.extLink(i, l))
	}
	for _, l := range b.req.ExtManagedVirtualLinks {
		out.ExtManagedVirtualLinkInfo = append(out.ExtManagedVirtualLinkInfo, b.managedLink(l))
	}
	out.VnfVirtualLinkResourceInfo = b.internalLinks()
	return out
}

// findCPs pairs the connection points of the VNFD with ports: of each VNFC in its own stack, of the whole VNF in the top one. The order is
// that of the VNFD, then of the VNFCs' indexes.
func (b *builder) findCPs() []cpInstance {
	var out []cpInstance
	for i := range b.w.Flavour.CPs {
		cp := &b.w.Flavour.CPs[i]
		link, ext, ok := userdata.ExtCP(b.req.ExtVirtualLinks, cp.Name)
		if !ok {
			link, ext = -1, -1
		}
		var of []cpInstance
		add := func(c *vnfc, port resource, index int) {
			inst := cpInstance{cp: cp, vnfc: c, port: port, link: link, extCP: ext}
			if ok {
				inst.config, _ = userdata.Config(b.req.ExtVirtualLinks[link].ExtCps[ext], index)
			}
			of = append(of, inst)
		}
		if cp.VDU == "" {
			for _, r := range b.seen.tree.in[b.seen.tree.top] {
				if r.Name == cp.Name && r.Type == typePort {
					add(nil, r, -1)
				}
			}
		}
		for k := range b.vnfcs {
			c := &b.vnfcs[k]
			if c.vdu.Name != cp.VDU {
				continue
			}
			if p, ok := b.seen.tree.beside(c.server, cp.Name, typePort); ok {
				add(c, p, c.index)
			}
		}
		slices.SortStableFunc(of, func(x, y cpInstance) int {
			if x.vnfc == nil || y.vnfc == nil {
				return 0
			}
			return cmp.Compare(x.vnfc.index, y.vnfc.index)
		})
		out = append(out, of...)
	}
	return out
}

func (b *builder) storages(c *vnfc) []resource {
	var out []resource
	for _, name := range c.vdu.Storages {
		if v, ok := b.seen.tree.beside(c.server, name, typeVolume); ok {
			out = append(out, v)
		}
	}
	return out
}

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
	leaf := func(key, name string) (string, bool) {
		e, _ := vdus[key].(map[string]any)
		s, ok := e[name].(string)
		return s, ok
	}
	if v, ok := leaf(c.vduKey(), "computeFlavourId"); ok {
		m["flavor"] = v
	}
	suffix := c.vduKey()[len(c.vdu.Name):]
	for _, node := range append([]string{c.vdu.Name}, c.vdu.Storages...) {
		if v, ok := leaf(node+suffix, "vcImageId"); ok {
			m["image-"+node+suffix] = v
		}
	}
	if v, ok := leaf(c.vduKey(), "locationConstraints"); ok {
		m["zone"] = v
	}
	return m
}

// vnfcInfo keeps the configurable properties that the VNFC had.
func (b *builder) vnfcInfo(c *vnfc) sol.VnfcInfo {
	out := sol.VnfcInfo{ID: c.id, VduID: c.vdu.Name, VnfcResourceInfoID: c.server.PhysicalID, VnfcState: sol.VnfOperationalStateStarted}
	if b.before != nil {
		for _, old := range b.before.VnfcInfo {
			if old.ID == c.id {
				out.VnfcConfigurableProperties = old.VnfcConfigurableProperties
			}
		}
	}
	return out
}

// protocols are the addresses a port really has.
func (b *builder) protocols(c cpInstance) []sol.CpProtocolInfo {
	wanted, fixed := b.wanted(c)
	eth := &sol.IpOverEthernetAddressInfo{}
	p, known := b.seen.ports[c.port.PhysicalID]
	if known {
		eth.MacAddress = p.MAC
		for _, ip := range p.FixedIPs {
			dynamic := !slices.Contains(fixed, ip.IP)
			eth.IpAddresses = append(eth.IpAddresses, sol.IpAddressInfo{
				Type: family(ip.IP), Addresses: []string{ip.IP}, IsDynamic: &dynamic, SubnetID: ip.Subnet,
			})
		}
	} else {
		eth.IpAddresses = wanted
	}
	return []sol.CpProtocolInfo{{LayerProtocol: sol.LayerProtocolIPOverEthernet, IpOverEthernet: eth}}
}

// wanted is what the request asked for, and the fixed addresses among it.
func (b *builder) wanted(c cpInstance) (infos []sol.IpAddressInfo, fixed []string) {
	if c.link < 0 {
		return nil, nil
	}
	for _, proto := range b.req.ExtVirtualLinks[c.link].ExtCps[c.extCP].CpConfig[c.config].CpProtocolData {
		if proto.IpOverEthernet == nil {
			continue
		}
		for _, ip := range proto.IpOverEthernet.IpAddresses {
			dynamic := len(ip.FixedAddresses) == 0
			infos = append(infos, sol.IpAddressInfo{Type: ip.Type, Addresses: ip.FixedAddresses, IsDynamic: &dynamic, SubnetID: ip.SubnetID})
			fixed = append(fixed, ip.FixedAddresses...)
		}
	}
	return infos, fixed
}

func family(ip string) sol.IPAddressType {
	if a, err := netip.ParseAddr(ip); err == nil && a.Is6() {
		return sol.IPAddressTypeIPv6
	}
	return sol.IPAddressTypeIPv4
}
