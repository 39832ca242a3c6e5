package openstack

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// findCPs pairs the connection points of the VNFD with ports: of each VNFC in its own stack, of the whole VNF in the top one. The order is
// that of the VNFD, then of the VNFCs' indexes.
func (b *builder) findCPs() []cpInstance {
	b.ext = slices.Clone(b.goal.ext)
	var out []cpInstance
	f := b.flavour()
	for i := range f.CPs {
		cp := &f.CPs[i]
		var of []cpInstance
		if cp.VDU == "" {
			for _, r := range b.seen.tree.in[b.seen.tree.top] {
				if r.Name == cp.Name && r.Type == typePort {
					of = append(of, b.connected(cpInstance{cp: cp, port: r}, -1))
				}
			}
		}
		for k := range b.vnfcs {
			c := &b.vnfcs[k]
			if c.vdu.Name != cp.VDU {
				continue
			}
			if p, ok := b.portOf(c, cp); ok {
				of = append(of, b.connected(cpInstance{cp: cp, vnfc: c, port: p}, c.index))
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
	b.settleLinks(out)
	return out
}

// portOf finds the port of a VNFC's connection point: the resource of that name beside its server that is no other server's, or the port that the
// consumer has made for it.
func (b *builder) portOf(c *vnfc, cp *vnfd.CP) (resource, bool) {
	if p, ok := b.seen.tree.beside(c.server, cp.Name, typePort); ok {
		device := b.seen.ports[p.PhysicalID].Device
		if _, others := b.seen.tree.byID[device]; !others || device == c.server.PhysicalID {
			return p, true
		}
	}
	if at, ok := userdata.Find(b.goal.ext, cp.Name, c.index); ok {
		if id := givenPort(b.goal.ext[at.Link], at.Config); id != "" {
			return resource{Name: cp.Name, Type: typePort, PhysicalID: id, Status: "CREATE_COMPLETE", Links: c.server.Links}, true
		}
	}
	return resource{}, false
}

// connected finds the external link of a CP. Where an operation that moves CPs has not come to this one, its port is still on the network of the
// former link.
func (b *builder) connected(c cpInstance, index int) cpInstance {
	c.link = -1
	network := b.seen.ports[c.port.PhysicalID].Network
	at, ok := userdata.Find(b.goal.ext, c.cp.Name, index)
	if ok {
		c.link, c.key, c.config = at.Link, at.Key, at.Config
		if b.other == nil || network == "" || network == b.goal.ext[at.Link].ResourceID {
			return c
		}
	}
	if b.other == nil {
		return c
	}
	if was, found := userdata.Find(b.other.ext, c.cp.Name, index); found && b.other.ext[was.Link].ResourceID == network && network != "" {
		c.link, c.key, c.config = b.linkAt(b.other.ext[was.Link]), was.Key, was.Config
	}
	return c
}

// linkAt returns the place of a former link among the external links, behind those that hold when it differs from them.
func (b *builder) linkAt(l sol.ExtVirtualLinkData) int {
	at := slices.IndexFunc(b.ext, func(o sol.ExtVirtualLinkData) bool { return o.ID == l.ID && o.ResourceID == l.ResourceID })
	if at < 0 {
		b.ext = append(b.ext, l)
		at = len(b.ext) - 1
	}
	return at
}

// settleLinks makes the external links unique: of a link that has moved to another network it is told where its ports are; when they are
// on both, where they are going to.
func (b *builder) settleLinks(cps []cpInstance) {
	used := func(link int) bool {
		return slices.ContainsFunc(cps, func(c cpInstance) bool { return c.link == link })
	}
	for former := len(b.ext) - 1; former >= len(b.goal.ext); former-- {
		at := slices.IndexFunc(b.goal.ext, func(l sol.ExtVirtualLinkData) bool { return l.ID == b.ext[former].ID })
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
	wanted, fixed := c.wanted()
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

// wanted is what the external link asks for, and the fixed addresses among it.
func (c cpInstance) wanted() (infos []sol.IpAddressInfo, fixed []string) {
	for _, proto := range c.config.CpProtocolData {
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
