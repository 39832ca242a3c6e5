package neutron

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// PortSpec is the body of a port create or update; nil members were not given.
type PortSpec struct {
	Name                *string        `json:"name"`
	Description         *string        `json:"description"`
	NetworkID           string         `json:"network_id"`
	AdminUp             *bool          `json:"admin_state_up"`
	MAC                 *string        `json:"mac_address"`
	FixedIPs            *[]IPSpec      `json:"fixed_ips"`
	SecurityGroups      *[]string      `json:"security_groups"`
	AllowedAddressPairs *[]AddressPair `json:"allowed_address_pairs"`
	PortSecurity        *bool          `json:"port_security_enabled"`
	DeviceID            *string        `json:"device_id"`
	DeviceOwner         *string        `json:"device_owner"`
	HostID              *string        `json:"binding:host_id"`
	VNICType            *string        `json:"binding:vnic_type"`
}

// IPSpec asks for an address: of a subnet, a given one, or both.
type IPSpec struct {
	SubnetID string `json:"subnet_id,omitempty"`
	IP       string `json:"ip_address,omitempty"`
}

// CreatePort makes a port with its addresses; without any asked for it gets one of the network's first subnet.
func (s *Service) CreatePort(c rest.Caller, spec PortSpec) (*Port, error) {
	n, err := s.Network(c, spec.NetworkID)
	if err != nil {
		return nil, err
	}
	if err := s.room(c.ProjectID, "port"); err != nil {
		return nil, err
	}
	p := &Port{
		base: s.newBase(c.ProjectID, ""), NetworkID: n.ID, Status: "DOWN", AdminUp: true,
		PortSecurity: n.PortSecurity, VNICType: "normal",
	}
	p.IPLess = spec.FixedIPs != nil && len(*spec.FixedIPs) == 0
	if spec.MAC != nil && *spec.MAC != "" {
		p.MAC = *spec.MAC
	} else {
		var b [3]byte
		_, _ = rand.Read(b[:]) // never fails
		p.MAC = fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", b[0], b[1], b[2])
	}
	if p.FixedIPs, err = s.takeAddresses(n, spec.FixedIPs, nil); err != nil {
		return nil, err
	}
	if spec.SecurityGroups == nil && p.PortSecurity {
		p.SecurityGroups = []string{s.DefaultGroup(c.ProjectID).ID}
	}
	if err := s.applyPort(p, spec); err != nil {
		s.releaseAll(p.FixedIPs)
		return nil, err
	}
	s.Ports.Add(p.ID, p)
	s.OnPortChange(p, false)
	return p, nil
}

func (s *Service) applyPort(p *Port, spec PortSpec) error {
	for _, id := range deref(spec.SecurityGroups) {
		if s.Groups.Get(id) == nil {
			return notFound("SecurityGroupNotFound", "Security group %s does not exist", id)
		}
	}
	for _, pair := range deref(spec.AllowedAddressPairs) {
		if _, err := netip.ParseAddr(pair.IP); err != nil {
			if _, err := netip.ParsePrefix(pair.IP); err != nil {
				const format = "Invalid input for allowed_address_pairs. Reason: '%s' is not a valid IP subnet."
				return badRequest("HTTPBadRequest", format, pair.IP)
			}
		}
	}
	setIf(&p.Name, spec.Name)
	setIf(&p.Description, spec.Description)
	setIf(&p.AdminUp, spec.AdminUp)
	setIf(&p.SecurityGroups, spec.SecurityGroups)
	setIf(&p.AllowedAddressPairs, spec.AllowedAddressPairs)
	setIf(&p.PortSecurity, spec.PortSecurity)
	setIf(&p.DeviceID, spec.DeviceID)
	setIf(&p.DeviceOwner, spec.DeviceOwner)
	setIf(&p.HostID, spec.HostID)
	setIf(&p.VNICType, spec.VNICType)
	s.touch(&p.base)
	return nil
}

// UpdatePort changes a port; fixed_ips replaces the addresses.
func (s *Service) UpdatePort(c rest.Caller, id string, spec PortSpec) (*Port, error) {
	p, err := s.Port(c, id)
	if err != nil {
		return nil, err
	}
	if spec.FixedIPs != nil {
		n := s.Networks.Get(p.NetworkID)
		ips, err := s.takeAddresses(n, spec.FixedIPs, p.FixedIPs)
		if err != nil {
			return nil, err
		}
		s.releaseAll(slices.DeleteFunc(p.FixedIPs, func(f FixedIP) bool { return slices.Contains(ips, f) }))
		p.FixedIPs = ips
	}
	if err := s.applyPort(p, spec); err != nil {
		return nil, err
	}
	s.OnPortChange(p, false)
	return p, nil
}

// Port finds a port of the caller's project.
func (s *Service) Port(c rest.Caller, id string) (*Port, error) {
	return own(&s.Ports, c, id, "PortNotFound", "Port %s could not be found.")
}

// DeletePort deletes a port, gives back its addresses and leaves floating IPs without one.
func (s *Service) DeletePort(c rest.Caller, id string) error {
	p, err := s.Port(c, id)
	if err != nil {
		return err
	}
	switch p.DeviceOwner {
	case routerInterface, "network:router_gateway", "network:floatingip":
		const format = "Port %s cannot be deleted directly via the port API: has device owner %s."
		return conflict("ServicePortInUse", format, p.ID, p.DeviceOwner)
	}
	s.removePort(p)
	return nil
}

func (s *Service) removePort(p *Port) {
	for _, f := range s.FloatingIPs.All() {
		if f.PortID == p.ID {
			f.PortID, f.FixedIP, f.RouterID, f.Status = "", netip.Addr{}, "", "DOWN"
			s.touch(&f.base)
		}
	}
	s.releaseAll(p.FixedIPs)
	s.Ports.Delete(p.ID)
	s.OnPortChange(p, true)
}

// takeAddresses allocates what specs ask for; addresses in keep are the port's already.
func (s *Service) takeAddresses(n *Network, specs *[]IPSpec, keep []FixedIP) (got []FixedIP, err error) {
	var taken []FixedIP
	defer func() {
		if err != nil {
			s.releaseAll(taken)
		}
	}()
	want := []IPSpec{{}}
	if specs != nil {
		want = *specs
	} else if len(s.subnetsOf(n.ID)) == 0 {
		return nil, nil
	}
	keep = slices.Clone(keep)
	for _, w := range want {
		f, fresh, err := s.takeOne(n, w, keep)
		if err != nil {
			return nil, err
		}
		if fresh {
			taken = append(taken, f)
		}
		keep = slices.DeleteFunc(keep, func(k FixedIP) bool { return k == f })
		got = append(got, f)
	}
	return got, nil
}

func (s *Service) takeOne(n *Network, w IPSpec, keep []FixedIP) (f FixedIP, fresh bool, err error) {
	var ip netip.Addr
	if w.IP != "" {
		if ip, err = netip.ParseAddr(w.IP); err != nil {
			const format = "Invalid input for fixed_ips. Reason: '%s' is not a valid IP address."
			return f, false, badRequest("HTTPBadRequest", format, w.IP)
		}
	}
	for _, sub := range s.subnetsOf(n.ID) {
		if w.SubnetID != "" && sub.ID != w.SubnetID || ip.IsValid() && !sub.CIDR.Contains(ip) {
			continue
		}
		if ip.IsValid() {
			f = FixedIP{sub.ID, ip}
			if slices.Contains(keep, f) {
				return f, false, nil
			}
			if sub.used[ip] || ip == sub.Gateway {
				const format = "IP address %s already allocated in subnet %s"
				return f, false, conflict("IpAddressAlreadyAllocated", format, ip, sub.ID)
			}
			sub.used[ip] = true
			return f, true, nil
		}
		if i := slices.IndexFunc(keep, func(k FixedIP) bool { return k.SubnetID == sub.ID }); i >= 0 {
			return keep[i], false, nil
		}
		if a, ok := sub.allocate(); ok {
			return FixedIP{sub.ID, a}, true, nil
		}
	}
	switch {
	case w.SubnetID != "" && s.Subnets.Get(w.SubnetID) == nil:
		return f, false, notFound("SubnetNotFound", "Subnet %s could not be found.", w.SubnetID)
	case ip.IsValid():
		const format = "IP address %s is not a valid IP for any of the subnets on the specified network."
		return f, false, badRequest("InvalidIpForNetwork", format, ip)
	}
	return f, false, conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", n.ID)
}

func (s *Service) subnetsOf(network string) []*Subnet {
	return s.Subnets.Filter(func(sub *Subnet) bool { return sub.NetworkID == network })
}

func (s *Service) releaseAll(ips []FixedIP) {
	for _, f := range ips {
		if sub := s.Subnets.Get(f.SubnetID); sub != nil {
			sub.release(f.IP)
		}
	}
}

// BindPort gives a port to a device on a host, as Nova does; an empty device unbinds it.
func (s *Service) BindPort(p *Port, device, owner, host string, active bool) {
	p.DeviceID, p.DeviceOwner, p.HostID, p.Status = device, owner, host, "DOWN"
	if active {
		p.Status = "ACTIVE"
	}
	s.touch(&p.base)
}

// HasAddress tells whether an address is one of the port's own.
func (p *Port) HasAddress(a netip.Addr) bool {
	return slices.ContainsFunc(p.FixedIPs, func(f FixedIP) bool { return f.IP == a })
}

// AddressViews is the JSON of a port's addresses.
func (p *Port) AddressViews() []rest.Obj {
	ips := make([]rest.Obj, 0, len(p.FixedIPs))
	for _, f := range p.FixedIPs {
		ips = append(ips, rest.Obj{"subnet_id": f.SubnetID, "ip_address": f.IP.String()})
	}
	return ips
}

func (s *Service) portView(p *Port) rest.Obj {
	v := p.base.view()
	pairs := make([]rest.Obj, 0, len(p.AllowedAddressPairs))
	for _, a := range p.AllowedAddressPairs {
		pairs = append(pairs, rest.Obj{"ip_address": a.IP, "mac_address": cmp.Or(a.MAC, p.MAC)})
	}
	vif := "unbound"
	if p.HostID != "" {
		vif = "ovs"
	}
	v["network_id"], v["mac_address"], v["status"], v["admin_state_up"] = p.NetworkID, p.MAC, p.Status, p.AdminUp
	v["fixed_ips"], v["allowed_address_pairs"] = p.AddressViews(), pairs
	v["security_groups"] = rest.Strings(p.SecurityGroups)
	v["device_id"], v["device_owner"], v["port_security_enabled"] = p.DeviceID, p.DeviceOwner, p.PortSecurity
	v["binding:host_id"], v["binding:vnic_type"], v["binding:vif_type"] = p.HostID, p.VNICType, vif
	v["binding:profile"], v["binding:vif_details"] = rest.Obj{}, rest.Obj{}
	v["extra_dhcp_opts"], v["qos_policy_id"], v["qos_network_policy_id"] = []string{}, nil, nil
	v["dns_name"], v["dns_assignment"], v["propagate_uplink_status"] = "", []string{}, true
	return v
}
