package neutron

import (
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// NetworkSpec is the body of a network create or update; nil members were not given.
type NetworkSpec struct {
	// ID fixes the id of a seeded network.
	ID           string  `json:"-"`
	Name         *string `json:"name"`
	Description  *string `json:"description"`
	Shared       *bool   `json:"shared"`
	External     *bool   `json:"router:external"`
	AdminUp      *bool   `json:"admin_state_up"`
	PortSecurity *bool   `json:"port_security_enabled"`
	MTU          *int    `json:"mtu"`
}

// CreateNetwork makes a network.
func (s *Service) CreateNetwork(c rest.Caller, spec NetworkSpec) (*Network, error) {
	if err := s.room(c.ProjectID, "network"); err != nil {
		return nil, err
	}
	n := &Network{base: s.newBase(c.ProjectID, ""), AdminUp: true, PortSecurity: true, MTU: 1450}
	if spec.ID != "" {
		n.ID = spec.ID
	}
	s.applyNetwork(n, spec)
	s.Networks.Add(n.ID, n)
	return n, nil
}

func (s *Service) applyNetwork(n *Network, spec NetworkSpec) {
	setIf(&n.Name, spec.Name)
	setIf(&n.Description, spec.Description)
	setIf(&n.Shared, spec.Shared)
	setIf(&n.External, spec.External)
	setIf(&n.AdminUp, spec.AdminUp)
	setIf(&n.PortSecurity, spec.PortSecurity)
	setIf(&n.MTU, spec.MTU)
	s.touch(&n.base)
}

// UpdateNetwork changes a network.
func (s *Service) UpdateNetwork(c rest.Caller, id string, spec NetworkSpec) (*Network, error) {
	n, err := s.Network(c, id)
	if err != nil {
		return nil, err
	}
	s.applyNetwork(n, spec)
	return n, nil
}

// Network finds a network that the caller may see: its own, shared and external ones.
func (s *Service) Network(c rest.Caller, id string) (*Network, error) {
	n := s.Networks.Get(id)
	if n == nil || !c.Admin && n.Project != c.ProjectID && !n.Shared && !n.External {
		return nil, notFound("NetworkNotFound", "Network %s could not be found.", id)
	}
	return n, nil
}

// DeleteNetwork deletes a network and its subnets; ports in use keep it.
func (s *Service) DeleteNetwork(c rest.Caller, id string) error {
	n, err := s.Network(c, id)
	if err != nil {
		return err
	}
	for _, p := range s.Ports.All() {
		if p.NetworkID == id {
			const format = "Unable to complete operation on network %s. There are one or more ports still in use on " +
				"the network, id for these ports is: %s"
			return conflict("NetworkInUse", format, id, p.ID)
		}
	}
	for _, sub := range s.subnetsOf(n.ID) {
		s.Subnets.Delete(sub.ID)
	}
	s.Networks.Delete(id)
	return nil
}

// FindNetwork resolves a name or id as clients and the orchestration service do.
func (s *Service) FindNetwork(c rest.Caller, nameOrID string) (*Network, error) {
	return findOne("network", nameOrID, &s.Networks, s.Network, c)
}

// FindSubnet resolves a name or id.
func (s *Service) FindSubnet(c rest.Caller, nameOrID string) (*Subnet, error) {
	return findOne("subnet", nameOrID, &s.Subnets, s.Subnet, c)
}

// FindPort resolves a name or id.
func (s *Service) FindPort(c rest.Caller, nameOrID string) (*Port, error) {
	return findOne("port", nameOrID, &s.Ports, s.Port, c)
}

// FindGroup resolves a security group's name or id within the caller's project.
func (s *Service) FindGroup(c rest.Caller, nameOrID string) (*SecurityGroup, error) {
	s.DefaultGroup(c.ProjectID)
	c.Admin = false
	return findOne("security_group", nameOrID, &s.Groups, s.Group, c)
}

// findOne finds a row by its id, or the only one with a name that the caller may get.
func findOne[T any, P object[T]](
	kind, nameOrID string, rows *sim.Table[T], get func(c rest.Caller, id string) (*T, error), c rest.Caller,
) (*T, error) {
	if v := rows.Get(nameOrID); v != nil {
		return v, nil
	}
	byName := rows.Filter(func(v *T) bool {
		_, err := get(c, P(v).common().ID)
		return err == nil && P(v).common().Name == nameOrID
	})
	switch len(byName) {
	case 1:
		return byName[0], nil
	case 0:
		name := strings.ToUpper(kind[:1]) + kind[1:] + "NotFound"
		return nil, notFound(name, "Unable to find %s with name or id '%s'", kind, nameOrID)
	}
	return nil, conflict("NeutronClientNoUniqueMatch",
		"Multiple %s matches found for name '%s', use an ID to be more specific.", kind, nameOrID)
}

func (s *Service) networkView(n *Network) rest.Obj {
	v := n.base.view()
	subnets := []string{}
	for _, sub := range s.subnetsOf(n.ID) {
		subnets = append(subnets, sub.ID)
	}
	v["status"], v["admin_state_up"], v["shared"], v["router:external"] = "ACTIVE", n.AdminUp, n.Shared, n.External
	v["subnets"], v["mtu"], v["port_security_enabled"] = subnets, n.MTU, n.PortSecurity
	v["availability_zones"], v["availability_zone_hints"] = []string{"nova"}, []string{}
	v["ipv4_address_scope"], v["ipv6_address_scope"], v["is_default"], v["l2_adjacency"] = nil, nil, false, true
	v["provider:network_type"], v["provider:physical_network"], v["provider:segmentation_id"] = "geneve", nil, 1
	v["qos_policy_id"], v["vlan_transparent"], v["dns_domain"] = nil, nil, ""
	return v
}
