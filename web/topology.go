package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// topology is what an instance consists of and how that hangs together.
type topology struct {
	Links  []link
	Groups []group
	// Shared are addresses of the whole VNF, such as a virtual IP.
	Shared []port
}

// columns are the columns of the table of VNFCs that have a text in a row. Pods have no flavour, zone or ports.
type columns struct{ Place, Addresses, Flavour bool }

// Columns says which columns have a text.
func (t *topology) Columns() columns {
	c := columns{Addresses: len(t.Shared) > 0}
	for _, g := range t.Groups {
		for _, v := range g.VNFCs {
			c.Place = c.Place || v.Place() != ""
			c.Addresses = c.Addresses || len(v.Ports)+len(v.Floating) > 0
			c.Flavour = c.Flavour || v.Flavour != "" || len(v.Storages) > 0
		}
	}
	return c
}

// Count is the number of columns in the table.
func (c columns) Count() int {
	n := 2 // the VNFC and its state
	if c.Place {
		n++
	}
	if c.Addresses {
		n += 2
	}
	if c.Flavour {
		n++
	}
	return n
}

// link is a virtual link; several that are one network in the VIM are one link.
type link struct {
	Name, Network string
	External      bool
	ports         []string // ids
}

// Word says what kind of link it is.
func (l link) Word() string {
	if l.External {
		return "external"
	}
	return "internal"
}

// group is the VNFCs of a VDU.
type group struct {
	VDU   string
	VNFCs []vnfc
}

type vnfc struct {
	ID, Name, Server, Host, Zone, Flavour string
	State                                 sol.VnfOperationalState
	Ports                                 []port
	// Floating are addresses that lead to it from outside.
	Floating []string
	Storages []string
	vdu      string
	index    int
}

// Place is the host and zone, as far as the VIM tells.
func (v vnfc) Place() string {
	var parts []string
	if v.Host != "" {
		parts = append(parts, v.Host)
	}
	if v.Zone != "" {
		parts = append(parts, "zone "+v.Zone)
	}
	return strings.Join(parts, ", ")
}

// port is a connection point with its addresses.
type port struct {
	Name, ID string
	IPs      []string
	Link     int // index in topology.Links, -1 when it is not known
	LinkName string
	Floating bool
}

// vnfcNames gives the VNFCs of an instance names for people, by vnfcInfo id.
func vnfcNames(i *lcm.Instance) map[string]string {
	out := map[string]string{}
	for _, r := range i.Inventory {
		if r.VNFC != "" && r.VDU != "" {
			out[r.VNFC] = fmt.Sprintf("%s-%d", r.VDU, r.Index)
		}
	}
	return out
}

// topologyOf arranges what is known of an instance: SOL003's description for the structure, the inventory for what
// the VIM says of it. The instance is instantiated.
func topologyOf(i *lcm.Instance) *topology {
	t := &topology{}
	t.addLinks(i.Instantiated)
	names := vnfcNames(i)
	for _, info := range i.Instantiated.VnfcInfo {
		if c, res, ok := i.VNFC(info.ID); ok {
			t.place(t.vnfc(i, c, res, names))
		}
	}
	for n := range t.Groups {
		slices.SortStableFunc(t.Groups[n].VNFCs, func(a, b vnfc) int {
			return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.Name, b.Name))
		})
	}
	slices.SortStableFunc(t.Groups, func(a, b group) int { return cmp.Compare(a.VDU, b.VDU) })
	for _, r := range i.Inventory {
		if r.VNFC == "" && len(r.Addresses) > 0 && r.Kind != lcm.KindCompute {
			t.Shared = append(t.Shared, t.resource(r))
		}
	}
	return t
}

// addLinks adds the external, managed and internal virtual links of an instance.
func (t *topology) addLinks(info *sol.InstantiatedVnfInfo) {
	for _, l := range info.ExtVirtualLinkInfo {
		var ports []string
		for _, p := range l.ExtLinkPorts {
			ports = append(ports, p.ID)
		}
		t.addLink(l.ID, l.ResourceHandle.ResourceID, true, ports)
	}
	for _, l := range info.ExtManagedVirtualLinkInfo {
		t.addLink(l.VnfVirtualLinkDescID, l.NetworkResource.ResourceID, false, portIDs(l.VnfLinkPorts))
	}
	for _, l := range info.VnfVirtualLinkResourceInfo {
		t.addLink(l.VnfVirtualLinkDescID, l.NetworkResource.ResourceID, false, portIDs(l.VnfLinkPorts))
	}
}

// vnfc arranges one VNFC with its ports, addresses and storages.
func (t *topology) vnfc(i *lcm.Instance, c sol.VnfcInfo, res sol.VnfcResourceInfo, names map[string]string) vnfc {
	v := vnfc{
		ID: c.ID, vdu: c.VduID, Name: cmp.Or(names[c.ID], c.ID), State: c.VnfcState,
		Server: res.ComputeResource.ResourceID, Zone: res.ZoneID,
	}
	v.Flavour, _ = res.Metadata["flavor"].(string)
	for _, r := range i.Inventory {
		switch {
		case r.VNFC != c.ID:
		case r.Kind == lcm.KindCompute:
			v.Host, v.Zone, v.index = r.Host, cmp.Or(r.Zone, v.Zone), r.Index
		default:
			for _, a := range r.Addresses {
				if a.Floating {
					v.Floating = append(v.Floating, a.IP)
				}
			}
		}
	}
	for _, cp := range res.VnfcCpInfo {
		v.Ports = append(v.Ports, t.port(i, cp, c.ID))
	}
	for _, s := range i.Instantiated.VirtualStorageResourceInfo {
		if slices.Contains(res.StorageResourceIds, s.ID) {
			v.Storages = append(v.Storages, s.VirtualStorageDescID)
		}
	}
	return v
}

func portIDs(ports []sol.VnfLinkPortInfo) []string {
	out := make([]string, len(ports))
	for n, p := range ports {
		out[n] = p.ID
	}
	return out
}

func (t *topology) addLink(name, network string, external bool, ports []string) {
	n := slices.IndexFunc(t.Links, func(l link) bool { return network != "" && l.Network == network })
	if n < 0 {
		t.Links = append(t.Links, link{Name: name, Network: network, External: external, ports: ports})
		return
	}
	l := &t.Links[n]
	l.Name, l.ports, l.External = l.Name+", "+name, append(l.ports, ports...), l.External || external
}

func (t *topology) place(v vnfc) {
	n := slices.IndexFunc(t.Groups, func(g group) bool { return g.VDU == v.vdu })
	if n < 0 {
		n = len(t.Groups)
		t.Groups = append(t.Groups, group{VDU: v.vdu})
	}
	t.Groups[n].VNFCs = append(t.Groups[n].VNFCs, v)
}

// port describes a connection point of a VNFC.
func (t *topology) port(i *lcm.Instance, cp sol.VnfcCpInfo, vnfcID string) port {
	p := port{Name: cp.CpdID, ID: cp.VnfLinkPortID}
	protocols := cp.CpProtocolInfo
	for _, ext := range i.Instantiated.ExtCpInfo {
		if ext.ID == cp.VnfExtCpID && cp.VnfExtCpID != "" {
			p.ID, protocols = ext.ExtLinkPortID, ext.CpProtocolInfo
		}
	}
	network := ""
	for _, r := range i.Inventory {
		if r.Kind == lcm.KindPort && r.VNFC == vnfcID && (r.ID == p.ID || p.ID == "" && r.Name == cp.CpdID) {
			seen := t.resource(r)
			p.ID, p.IPs = r.ID, seen.IPs
			network = networkOf(r)
		}
	}
	if len(p.IPs) == 0 { // what was asked for, when the VIM was not read
		for _, proto := range protocols {
			if proto.IpOverEthernet == nil {
				continue
			}
			for _, ip := range proto.IpOverEthernet.IpAddresses {
				p.IPs = append(p.IPs, ip.Addresses...)
			}
		}
	}
	t.connect(&p, network)
	return p
}

// resource describes a port or a floating IP of the inventory.
func (t *topology) resource(r lcm.Resource) port {
	p := port{Name: r.Name, ID: r.ID}
	for _, a := range r.Addresses {
		p.IPs, p.Floating = append(p.IPs, a.IP), p.Floating || a.Floating
	}
	t.connect(&p, networkOf(r))
	return p
}

func networkOf(r lcm.Resource) string {
	for _, a := range r.Addresses {
		if a.Network != "" {
			return a.Network
		}
	}
	return ""
}

// connect finds the link of a port: the one that lists it, else the one that is its network.
func (t *topology) connect(p *port, network string) {
	p.Link = slices.IndexFunc(t.Links, func(l link) bool { return p.ID != "" && slices.Contains(l.ports, p.ID) })
	if p.Link < 0 && network != "" {
		p.Link = slices.IndexFunc(t.Links, func(l link) bool { return l.Network == network })
	}
	if p.Link >= 0 {
		p.LinkName = t.Links[p.Link].Name
	}
}
