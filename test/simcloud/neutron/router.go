package neutron

import (
	"net/http"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// routerInterface is the owner of ports that join a router to a subnet.
const routerInterface = "network:router_interface"

// RouterSpec is the body of a router create.
type RouterSpec struct {
	Name    *string `json:"name"`
	AdminUp *bool   `json:"admin_state_up"`
	Gateway struct {
		NetworkID string `json:"network_id"`
	} `json:"external_gateway_info"`
}

// CreateRouter makes a router, with a gateway if one is given.
func (s *Service) CreateRouter(c rest.Caller, spec RouterSpec) (*Router, error) {
	if err := s.room(c.ProjectID, "router"); err != nil {
		return nil, err
	}
	r := &Router{base: s.newBase(c.ProjectID, deref(spec.Name)), AdminUp: true}
	setIf(&r.AdminUp, spec.AdminUp)
	if err := s.setGateway(c, r, spec); err != nil {
		return nil, err
	}
	s.Routers.Add(r.ID, r)
	return r, nil
}

func (s *Service) setGateway(c rest.Caller, r *Router, spec RouterSpec) error {
	if spec.Gateway.NetworkID == "" {
		return nil
	}
	n, err := s.Network(c, spec.Gateway.NetworkID)
	if err != nil {
		return err
	}
	if !n.External {
		return badRequest("BadRequest", "Bad router request: Network %s is not an external network.", n.ID)
	}
	p, err := s.CreatePort(rest.Caller{Admin: true}, PortSpec{NetworkID: n.ID})
	if err != nil {
		return err
	}
	p.DeviceID, p.DeviceOwner, p.Status = r.ID, "network:router_gateway", "ACTIVE"
	r.Gateway, r.gwPort = n.ID, p.ID
	return nil
}

// Router finds a router of the caller's project.
func (s *Service) Router(c rest.Caller, id string) (*Router, error) {
	return own(&s.Routers, c, id, "RouterNotFound", "Router %s could not be found")
}

// DeleteRouter deletes a router without interfaces.
func (s *Service) DeleteRouter(c rest.Caller, id string) error {
	r, err := s.Router(c, id)
	if err != nil {
		return err
	}
	if len(s.interfaces(r)) > 0 {
		return conflict("RouterInUse", "Router %s still has ports", id)
	}
	if gw := s.Ports.Get(r.gwPort); gw != nil {
		s.removePort(gw)
	}
	s.Routers.Delete(id)
	return nil
}

// AddInterface joins a subnet to a router at the subnet's gateway address.
func (s *Service) AddInterface(c rest.Caller, id, subnet string) (*Port, error) {
	r, err := s.Router(c, id)
	if err != nil {
		return nil, err
	}
	sub, err := s.Subnet(c, subnet)
	if err != nil {
		return nil, err
	}
	if !sub.Gateway.IsValid() {
		return nil, badRequest("BadRequest", "Bad router request: Subnet for router interface must have a gateway IP.")
	}
	if sub.used[sub.Gateway] {
		return nil, badRequest("BadRequest", "Bad router request: Router already has a port on subnet %s.", sub.ID)
	}
	sub.used[sub.Gateway] = true
	p := &Port{
		base: s.newBase(r.Project, ""), NetworkID: sub.NetworkID, Status: "ACTIVE", AdminUp: true, VNICType: "normal",
		MAC: "fa:16:3e:00:00:01", DeviceID: r.ID, DeviceOwner: routerInterface,
		FixedIPs: []FixedIP{{sub.ID, sub.Gateway}},
	}
	s.Ports.Add(p.ID, p)
	return p, nil
}

// RemoveInterface takes a subnet from a router; floating IPs behind it keep it there.
func (s *Service) RemoveInterface(c rest.Caller, id, subnet string) (*Port, error) {
	r, err := s.Router(c, id)
	if err != nil {
		return nil, err
	}
	for _, p := range s.interfaces(r) {
		if p.FixedIPs[0].SubnetID != subnet {
			continue
		}
		for _, f := range s.FloatingIPs.All() {
			if sub := s.Subnets.Get(subnet); f.RouterID == r.ID && sub != nil && sub.CIDR.Contains(f.FixedIP) {
				const format = "Router interface for subnet %s on router %s cannot be deleted, as it is required by " +
					"one or more floating IPs."
				return nil, conflict("RouterInterfaceInUseByFloatingIP", format, subnet, r.ID)
			}
		}
		s.removePort(p)
		return p, nil
	}
	return nil, notFound("RouterInterfaceNotFoundForSubnet", "Router %s has no interface on subnet %s", id, subnet)
}

// interfaces are the ports that join a router to subnets.
func (s *Service) interfaces(r *Router) []*Port {
	return s.Ports.Filter(func(p *Port) bool { return p.DeviceID == r.ID && p.DeviceOwner == routerInterface })
}

type interfaceSpec struct {
	SubnetID string `json:"subnet_id"`
}

func (s *Service) changeInterface(c *rest.Call, spec interfaceSpec) (int, any, error) {
	change := s.AddInterface
	if c.Path("action") == "remove_router_interface" {
		change = s.RemoveInterface
	}
	p, err := change(c.Caller, c.Path("id"), spec.SubnetID)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, rest.Obj{
		"id": c.Path("id"), "tenant_id": p.Project, "project_id": p.Project, "port_id": p.ID, "network_id": p.NetworkID,
		"subnet_id": spec.SubnetID, "subnet_ids": []string{spec.SubnetID}, "tags": []string{},
	}, nil
}

func (s *Service) routerView(r *Router) rest.Obj {
	v := r.base.view()
	v["status"], v["admin_state_up"], v["routes"] = "ACTIVE", r.AdminUp, []string{}
	v["ha"], v["distributed"] = false, false
	v["availability_zones"], v["availability_zone_hints"], v["flavor_id"] = []string{"nova"}, []string{}, nil
	v["external_gateway_info"] = nil
	if gw := s.Ports.Get(r.gwPort); gw != nil {
		v["external_gateway_info"] = rest.Obj{
			"network_id": r.Gateway, "enable_snat": true, "external_fixed_ips": []rest.Obj{
				{"subnet_id": gw.FixedIPs[0].SubnetID, "ip_address": gw.FixedIPs[0].IP.String()},
			},
		}
	}
	return v
}
