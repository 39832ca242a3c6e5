package neutron

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Pool is a range of addresses that allocation may use, both ends included.
type Pool struct {
	Start netip.Addr `json:"start"`
	End   netip.Addr `json:"end"`
}

// Subnet is an IPv4 or IPv6 subnet.
type Subnet struct {
	base
	NetworkID  string
	CIDR       netip.Prefix
	Gateway    netip.Addr
	Pools      []Pool
	DHCP       bool
	DNS        []string
	HostRoutes []map[string]string

	used map[netip.Addr]bool
	next netip.Addr
}

// SubnetSpec is the body of a subnet create or update; nil members were not given.
type SubnetSpec struct {
	// ID fixes the id of a seeded subnet.
	ID          string               `json:"-"`
	Name        *string              `json:"name"`
	Description *string              `json:"description"`
	NetworkID   string               `json:"network_id"`
	CIDR        string               `json:"cidr"`
	IPVersion   int                  `json:"ip_version"`
	Gateway     rest.Opt[string]     `json:"gateway_ip"`
	Pools       *[]Pool              `json:"allocation_pools"`
	DHCP        *bool                `json:"enable_dhcp"`
	DNS         *[]string            `json:"dns_nameservers"`
	HostRoutes  *[]map[string]string `json:"host_routes"`
}

// CreateSubnet makes a subnet. The gateway defaults to the first address and the pool to all others.
func (s *Service) CreateSubnet(c rest.Caller, spec SubnetSpec) (*Subnet, error) {
	n, err := s.Network(c, spec.NetworkID)
	if err != nil {
		return nil, err
	}
	if err := s.room(c.ProjectID, "subnet"); err != nil {
		return nil, err
	}
	cidr, err := netip.ParsePrefix(spec.CIDR)
	if err != nil {
		const format = "Invalid input for cidr. Reason: '%s' is not a valid IP subnet."
		return nil, badRequest("HTTPBadRequest", format, spec.CIDR)
	}
	cidr = cidr.Masked()
	if spec.IPVersion != 0 && (spec.IPVersion == 4) != cidr.Addr().Is4() {
		const format = "Invalid input for operation: cidr '%s' does not match the ip_version '%d'."
		return nil, badRequest("InvalidInput", format, cidr, spec.IPVersion)
	}
	if slices.ContainsFunc(s.subnetsOf(n.ID), func(o *Subnet) bool { return o.CIDR.Overlaps(cidr) }) {
		const format = "Invalid input for operation: Requested subnet with cidr: %s for network: %s overlaps with " +
			"another subnet."
		return nil, badRequest("InvalidInput", format, cidr, n.ID)
	}
	sub := &Subnet{
		base: s.newBase(c.ProjectID, deref(spec.Name)), NetworkID: n.ID, CIDR: cidr,
		used: map[netip.Addr]bool{}, DHCP: spec.DHCP == nil || *spec.DHCP,
	}
	if spec.ID != "" {
		sub.ID = spec.ID
	}
	sub.Gateway = cidr.Addr().Next()
	if spec.Gateway.Null {
		sub.Gateway = netip.Addr{}
	} else if spec.Gateway.Set {
		if sub.Gateway, err = netip.ParseAddr(spec.Gateway.V); err != nil {
			const format = "Invalid input for gateway_ip. Reason: '%s' is not a valid IP address."
			return nil, badRequest("HTTPBadRequest", format, spec.Gateway.V)
		}
	}
	if spec.Pools != nil {
		sub.Pools = slices.Clone(*spec.Pools)
	} else {
		sub.Pools = defaultPools(cidr, sub.Gateway)
	}
	s.applySubnet(sub, spec)
	s.Subnets.Add(sub.ID, sub)
	return sub, nil
}

func (s *Service) applySubnet(sub *Subnet, spec SubnetSpec) {
	setIf(&sub.Name, spec.Name)
	setIf(&sub.Description, spec.Description)
	setIf(&sub.DHCP, spec.DHCP)
	setIf(&sub.DNS, spec.DNS)
	setIf(&sub.HostRoutes, spec.HostRoutes)
	s.touch(&sub.base)
}

// UpdateSubnet changes what can be changed.
func (s *Service) UpdateSubnet(c rest.Caller, id string, spec SubnetSpec) (*Subnet, error) {
	sub, err := s.Subnet(c, id)
	if err != nil {
		return nil, err
	}
	s.applySubnet(sub, spec)
	return sub, nil
}

// Subnet finds a subnet that the caller may see.
func (s *Service) Subnet(c rest.Caller, id string) (*Subnet, error) {
	if sub := s.Subnets.Get(id); sub != nil {
		if _, err := s.Network(c, sub.NetworkID); err == nil {
			return sub, nil
		}
	}
	return nil, notFound("SubnetNotFound", "Subnet %s could not be found.", id)
}

// DeleteSubnet deletes a subnet without addresses in use.
func (s *Service) DeleteSubnet(c rest.Caller, id string) error {
	sub, err := s.Subnet(c, id)
	if err != nil {
		return err
	}
	for _, p := range s.Ports.All() {
		if slices.ContainsFunc(p.FixedIPs, func(f FixedIP) bool { return f.SubnetID == id }) {
			const format = "Unable to complete operation on subnet %s: One or more ports have an IP allocation from " +
				"this subnet."
			return conflict("SubnetInUse", format, id)
		}
	}
	s.Subnets.Delete(sub.ID)
	return nil
}

// allocate takes a free address: the one after the last allocated, so that addresses come back late.
func (sub *Subnet) allocate() (netip.Addr, bool) {
	inPool := func(a netip.Addr) bool {
		has := func(p Pool) bool { return p.Start.Compare(a) <= 0 && a.Compare(p.End) <= 0 }
		return slices.ContainsFunc(sub.Pools, has)
	}
	if len(sub.Pools) == 0 {
		return netip.Addr{}, false
	}
	start := sub.next
	if !start.IsValid() || !inPool(start) {
		start = sub.Pools[0].Start
	}
	for a := start; ; {
		if !sub.used[a] {
			sub.used[a] = true
			sub.next = a.Next()
			return a, true
		}
		if a = a.Next(); !inPool(a) {
			i := slices.IndexFunc(sub.Pools, func(p Pool) bool { return a.Compare(p.Start) < 0 })
			a = sub.Pools[max(i, 0)].Start
		}
		if a == start {
			return netip.Addr{}, false
		}
	}
}

func (sub *Subnet) release(a netip.Addr) { delete(sub.used, a) }

// defaultPools is all addresses of the subnet but network, broadcast and gateway.
func defaultPools(cidr netip.Prefix, gateway netip.Addr) []Pool {
	first, last := cidr.Addr().Next(), lastAddr(cidr)
	if cidr.Addr().Is4() {
		last = last.Prev()
	}
	switch {
	case !gateway.IsValid() || !cidr.Contains(gateway):
		return []Pool{{first, last}}
	case gateway == first:
		return []Pool{{first.Next(), last}}
	case gateway == last:
		return []Pool{{first, last.Prev()}}
	}
	return []Pool{{first, gateway.Prev()}, {gateway.Next(), last}}
}

func lastAddr(p netip.Prefix) netip.Addr {
	if p.Addr().Is4() {
		b := p.Addr().As4()
		v := binary.BigEndian.Uint32(b[:]) | uint32(1<<(32-p.Bits())-1)
		binary.BigEndian.PutUint32(b[:], v)
		return netip.AddrFrom4(b)
	}
	b := p.Addr().As16()
	for i := p.Bits(); i < 128; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom16(b)
}

func (sub *Subnet) view() rest.Obj {
	v := sub.base.view()
	pools := make([]rest.Obj, 0, len(sub.Pools))
	for _, p := range sub.Pools {
		pools = append(pools, rest.Obj{"start": p.Start.String(), "end": p.End.String()})
	}
	routes := sub.HostRoutes
	if routes == nil {
		routes = []map[string]string{}
	}
	version := 6
	if sub.CIDR.Addr().Is4() {
		version = 4
	}
	v["network_id"], v["cidr"], v["ip_version"], v["enable_dhcp"] = sub.NetworkID, sub.CIDR.String(), version, sub.DHCP
	v["allocation_pools"], v["dns_nameservers"], v["host_routes"] = pools, rest.Strings(sub.DNS), routes
	v["gateway_ip"] = addrOrNil(sub.Gateway)
	v["ipv6_ra_mode"], v["ipv6_address_mode"], v["subnetpool_id"], v["service_types"] = nil, nil, nil, []string{}
	return v
}

func addrOrNil(a netip.Addr) any {
	if !a.IsValid() {
		return nil
	}
	return a.String()
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

func setIf[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}
