package neutron

import "github.com/gybe-nfv/gybe/test/simcloud/rest"

func viewOf[T any](v *T, view func(*T) rest.Obj) rest.Obj {
	if v == nil {
		return rest.Obj{}
	}
	return view(v)
}

// ViewNetwork is the JSON of a network, empty without one.
func (s *Service) ViewNetwork(id string) rest.Obj { return viewOf(s.Networks.Get(id), s.networkView) }

// ViewSubnet is the JSON of a subnet.
func (s *Service) ViewSubnet(id string) rest.Obj { return viewOf(s.Subnets.Get(id), (*Subnet).view) }

// ViewPort is the JSON of a port, with its subnets and network in full as the orchestration service adds them.
func (s *Service) ViewPort(id string) rest.Obj {
	p := s.Ports.Get(id)
	v := viewOf(p, s.portView)
	if p != nil {
		subnets := []rest.Obj{}
		for _, f := range p.FixedIPs {
			subnets = append(subnets, s.ViewSubnet(f.SubnetID))
		}
		v["subnets"], v["network"] = subnets, s.ViewNetwork(p.NetworkID)
	}
	return v
}

// ViewFloatingIP is the JSON of a floating IP.
func (s *Service) ViewFloatingIP(id string) rest.Obj {
	return viewOf(s.FloatingIPs.Get(id), s.floatingView)
}

// ViewRouter is the JSON of a router.
func (s *Service) ViewRouter(id string) rest.Obj { return viewOf(s.Routers.Get(id), s.routerView) }

// ViewGroup is the JSON of a security group.
func (s *Service) ViewGroup(id string) rest.Obj { return viewOf(s.Groups.Get(id), s.groupView) }
