package inventory

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// findCPs pairs the connection points of the VNFD with ports: of each VNFC in its own stack, of the whole VNF in the
// top one. The order is that of the VNFD, then of the VNFCs' indexes.
func (b *builder) findCPs() []cpInstance {
	b.ext = slices.Clone(b.Desired.Ext)
	var out []cpInstance
	f := b.flavour()
	for i := range f.CPs {
		cp := &f.CPs[i]
		var of []cpInstance
		if cp.VDU == "" {
			for _, r := range b.Snapshot.Tree.In[b.Snapshot.Tree.top] {
				if r.Name == cp.Name && r.Type == cloud.TypePort {
					of = append(of, b.connect(cpInstance{cp: cp, port: r}, -1))
				}
			}
		}
		for k := range b.vnfcs {
			c := &b.vnfcs[k]
			if c.VDU.Name != cp.VDU {
				continue
			}
			if p, ok := b.portOf(c, cp); ok {
				of = append(of, b.connect(cpInstance{cp: cp, vnfc: c, port: p}, c.Index))
			}
		}
		slices.SortStableFunc(of, func(x, y cpInstance) int {
			if x.vnfc == nil || y.vnfc == nil {
				return 0
			}
			return cmp.Compare(x.vnfc.Index, y.vnfc.Index)
		})
		out = append(out, of...)
	}
	b.mergeMovedLinks(out)
	return out
}

// portOf finds the port of a VNFC's connection point: the resource of that name beside its server that is no other
// server's, or the port that the consumer has made for it.
func (b *builder) portOf(c *VNFC, cp *vnfd.CP) (cloud.Resource, bool) {
	if p, ok := b.Snapshot.Tree.Beside(c.Server, cp.Name, cloud.TypePort); ok {
		device := b.Snapshot.Ports[p.PhysicalID].Device
		if _, others := b.Snapshot.Tree.byID[device]; !others || device == c.Server.PhysicalID {
			return p, true
		}
	}
	if at, ok := userdata.Find(b.Desired.Ext, cp.Name, c.Index); ok {
		if id := userdata.GivenPort(b.Desired.Ext[at.Link], at.Config); id != "" {
			return cloud.Resource{
				Name: cp.Name, Type: cloud.TypePort, PhysicalID: id, Status: "CREATE_COMPLETE", Links: c.Server.Links,
			}, true
		}
	}
	return cloud.Resource{}, false
}

// connect finds the external link of a CP. Where an operation that moves CPs has not come to this one, its port is
// still on the network of the former link.
func (b *builder) connect(c cpInstance, index int) cpInstance {
	c.link = -1
	network := b.Snapshot.Ports[c.port.PhysicalID].Network
	at, ok := userdata.Find(b.Desired.Ext, c.cp.Name, index)
	if ok {
		c.link, c.key, c.config = at.Link, at.Key, at.Config
		if b.Previous == nil || network == "" || network == b.Desired.Ext[at.Link].ResourceID {
			return c
		}
	}
	if b.Previous == nil {
		return c
	}
	if was, found := userdata.Find(b.Previous.Ext, c.cp.Name, index); found &&
		b.Previous.Ext[was.Link].ResourceID == network && network != "" {
		c.link, c.key, c.config = b.linkAt(b.Previous.Ext[was.Link]), was.Key, was.Config
	}
	return c
}

// linkAt returns the place of a former link among the external links, behind those that hold when it differs from them.
func (b *builder) linkAt(l sol.ExtVirtualLinkData) int {
	at := slices.IndexFunc(
		b.ext, func(o sol.ExtVirtualLinkData) bool { return o.ID == l.ID && o.ResourceID == l.ResourceID },
	)
	if at < 0 {
		b.ext = append(b.ext, l)
		at = len(b.ext) - 1
	}
	return at
}

// mergeMovedLinks makes the external links unique: a link that has moved to another network is recorded where its ports
// are; when they are on both, where they are going to.
func (b *builder) mergeMovedLinks(cps []cpInstance) {
	used := func(link int) bool {
		return slices.ContainsFunc(cps, func(c cpInstance) bool { return c.link == link })
	}
	for former := len(b.ext) - 1; former >= len(b.Desired.Ext); former-- {
		at := slices.IndexFunc(b.Desired.Ext, func(l sol.ExtVirtualLinkData) bool { return l.ID == b.ext[former].ID })
		if at < 0 {
			continue
		}
		if !used(at) {
			b.ext[at] = b.ext[former]
		}
		b.ext = slices.Delete(b.ext, former, former+1)
		for i := range cps {
			if cps[i].link == former {
				cps[i].link = at
			} else if cps[i].link > former {
				cps[i].link--
			}
		}
	}
}

// protocols are the addresses a port really has.
func (b *builder) protocols(c cpInstance) []sol.CpProtocolInfo {
	wanted, fixed := c.requested()
	eth := &sol.IpOverEthernetAddressInfo{}
	p, known := b.Snapshot.Ports[c.port.PhysicalID]
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

// requested is what the external link asks for, and the fixed addresses among it.
func (c cpInstance) requested() (infos []sol.IpAddressInfo, fixed []string) {
	for _, proto := range c.config.CpProtocolData {
		if proto.IpOverEthernet == nil {
			continue
		}
		for _, ip := range proto.IpOverEthernet.IpAddresses {
			dynamic := len(ip.FixedAddresses) == 0
			infos = append(infos, sol.IpAddressInfo{
				Type: ip.Type, Addresses: ip.FixedAddresses, IsDynamic: &dynamic, SubnetID: ip.SubnetID,
			})
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
