package neutron

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// FloatingSpec is the body of a floating IP create or update.
type FloatingSpec struct {
	Description *string          `json:"description"`
	NetworkID   string           `json:"floating_network_id"`
	IP          string           `json:"floating_ip_address"`
	SubnetID    string           `json:"subnet_id"`
	PortID      rest.Opt[string] `json:"port_id"`
	FixedIP     string           `json:"fixed_ip_address"`
}

// CreateFloatingIP takes a public address and, if a port is given, associates it.
func (s *Service) CreateFloatingIP(c rest.Caller, spec FloatingSpec) (*FloatingIP, error) {
	n, err := s.Network(c, spec.NetworkID)
	if err != nil {
		return nil, err
	}
	if !n.External {
		const format = "Bad floatingip request: Network %s is not a valid external network."
		return nil, badRequest("BadRequest", format, n.ID)
	}
	if err := s.room(c.ProjectID, "floatingip"); err != nil {
		return nil, err
	}
	f := &FloatingIP{base: s.newBase(c.ProjectID, ""), NetworkID: n.ID, Status: "DOWN"}
	ips, err := s.takeAddresses(n, &[]IPSpec{{SubnetID: spec.SubnetID, IP: spec.IP}}, nil)
	if err != nil {
		return nil, err
	}
	f.IP = ips[0].IP
	if err := s.associate(c, f, spec); err != nil {
		s.releaseAll(ips)
		return nil, err
	}
	setIf(&f.Description, spec.Description)
	own := &Port{
		base: s.newBase("", ""), NetworkID: n.ID, Status: "N/A", AdminUp: true, VNICType: "normal", FixedIPs: ips,
		MAC: "fa:16:3f:00:00:00", DeviceID: f.ID, DeviceOwner: "network:floatingip",
	}
	s.Ports.Add(own.ID, own)
	f.ownPort = own.ID
	s.FloatingIPs.Add(f.ID, f)
	s.notifyPort(f.PortID)
	return f, nil
}

// UpdateFloatingIP associates (port_id) or dissociates (port_id null) a floating IP.
func (s *Service) UpdateFloatingIP(c rest.Caller, id string, spec FloatingSpec) (*FloatingIP, error) {
	f, err := s.FloatingIP(c, id)
	if err != nil {
		return nil, err
	}
	setIf(&f.Description, spec.Description)
	if spec.PortID.Set {
		old := f.PortID
		if err := s.associate(c, f, spec); err != nil {
			return nil, err
		}
		s.notifyPort(old)
		if f.PortID != old {
			s.notifyPort(f.PortID)
		}
	}
	s.touch(&f.base)
	return f, nil
}

// FloatingIP finds a floating IP of the caller's project.
func (s *Service) FloatingIP(c rest.Caller, id string) (*FloatingIP, error) {
	return own(&s.FloatingIPs, c, id, "FloatingIPNotFound", "Floating IP %s could not be found")
}

// DeleteFloatingIP gives a public address back.
func (s *Service) DeleteFloatingIP(c rest.Caller, id string) error {
	f, err := s.FloatingIP(c, id)
	if err != nil {
		return err
	}
	port := f.PortID
	s.FloatingIPs.Delete(id)
	if own := s.Ports.Get(f.ownPort); own != nil {
		s.releaseAll(own.FixedIPs)
		s.Ports.Delete(own.ID)
	}
	s.notifyPort(port)
	return nil
}

func (s *Service) notifyPort(id string) {
	if p := s.Ports.Get(id); p != nil {
		s.OnPortChange(p, false)
	}
}

// associate points f at the port of spec, or at nothing.
func (s *Service) associate(c rest.Caller, f *FloatingIP, spec FloatingSpec) error {
	if spec.PortID.V == "" {
		f.PortID, f.FixedIP, f.RouterID, f.Status = "", netip.Addr{}, "", "DOWN"
		return nil
	}
	p, err := s.Port(c, spec.PortID.V)
	if err != nil {
		return err
	}
	asked := func(x FixedIP) bool { return spec.FixedIP == "" || x.IP.String() == spec.FixedIP }
	i := slices.IndexFunc(p.FixedIPs, asked)
	switch {
	case i < 0 && spec.FixedIP != "":
		const format = "Bad floatingip request: Port %s does not have fixed ip %s."
		return badRequest("BadRequest", format, p.ID, spec.FixedIP)
	case i < 0:
		const format = "Bad floatingip request: Cannot add floating IP to port %s that has no fixed IPv4 addresses."
		return badRequest("BadRequest", format, p.ID)
	}
	fixed := p.FixedIPs[i]
	router := s.routerBetween(fixed.SubnetID, f.NetworkID)
	if router == nil {
		const format = "External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s " +
			"with a Floating IP."
		return notFound("ExternalGatewayForFloatingIPNotFound", format, f.NetworkID, fixed.SubnetID, p.ID)
	}
	for _, o := range s.FloatingIPs.All() {
		if o != f && o.PortID == p.ID && o.FixedIP == fixed.IP && o.NetworkID == f.NetworkID {
			const format = "Cannot associate floating IP %s (%s) with port %s using fixed IP %s, " +
				"as that fixed IP already has a floating IP on external network %s."
			return conflict("FloatingIPPortAlreadyAssociated", format, f.IP, f.ID, p.ID, fixed.IP, f.NetworkID)
		}
	}
	f.PortID, f.FixedIP, f.RouterID, f.Status = p.ID, fixed.IP, router.ID, "DOWN"
	s.world.Go(func(context.Context) { // an agent somewhere notices a moment later
		s.world.Lock()
		defer s.world.Unlock()
		if f.PortID == p.ID {
			f.Status = "ACTIVE"
		}
	})
	return nil
}

func (s *Service) routerBetween(subnet, external string) *Router {
	for _, r := range s.Routers.All() {
		if r.Gateway != external {
			continue
		}
		for _, p := range s.interfaces(r) {
			if slices.ContainsFunc(p.FixedIPs, func(x FixedIP) bool { return x.SubnetID == subnet }) {
				return r
			}
		}
	}
	return nil
}

func (s *Service) floatingView(f *FloatingIP) rest.Obj {
	v := f.base.view()
	delete(v, "name")
	v["floating_network_id"], v["floating_ip_address"] = f.NetworkID, f.IP.String()
	v["fixed_ip_address"] = addrOrNil(f.FixedIP)
	v["port_id"], v["router_id"], v["status"] = rest.OrNil(f.PortID), rest.OrNil(f.RouterID), f.Status
	v["port_details"], v["port_forwardings"], v["qos_policy_id"] = nil, []string{}, nil
	v["dns_name"], v["dns_domain"] = "", ""
	if p := s.Ports.Get(f.PortID); p != nil {
		v["port_details"] = rest.Obj{
			"name": p.Name, "network_id": p.NetworkID, "mac_address": p.MAC, "admin_state_up": p.AdminUp,
			"status": p.Status, "device_id": p.DeviceID, "device_owner": p.DeviceOwner,
		}
	}
	return v
}

// FloatingIPsOf returns the floating IPs associated with a port.
func (s *Service) FloatingIPsOf(port string) []*FloatingIP {
	return s.FloatingIPs.Filter(func(f *FloatingIP) bool { return f.PortID == port })
}
