package nova

import (
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Group is a server group with one policy.
type Group struct {
	ID, Name, Project, UserID string
	// Policy is "affinity", "anti-affinity", "soft-affinity" or "soft-anti-affinity".
	Policy string
	// MaxPerHost is the rule max_server_per_host of anti-affinity, 0 for 1.
	MaxPerHost int
}

var policies = []string{"affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"}

// CreateGroup makes a server group.
func (s *Service) CreateGroup(c rest.Caller, name, policy string, maxPerHost int) (*Group, error) {
	if !slices.Contains(policies, policy) {
		const format = "Invalid input for field/attribute policies. Value: %s. '%s' is not one of %v"
		return nil, badRequest(format, policy, policy, policies)
	}
	if s.room(c.ProjectID, map[string]int{"server_groups": 1}) != nil {
		return nil, forbidden("Quota exceeded, too many server groups.")
	}
	g := &Group{
		ID: sim.NewID(), Name: name, Project: c.ProjectID, UserID: c.UserID, Policy: policy, MaxPerHost: maxPerHost,
	}
	s.Groups.Add(g.ID, g)
	return g, nil
}

// Group finds a server group of the caller's project.
func (s *Service) Group(c rest.Caller, id string) (*Group, error) {
	g := s.Groups.Get(id)
	if g == nil || !c.Admin && g.Project != c.ProjectID {
		return nil, notFound("Instance group %s could not be found.", id)
	}
	return g, nil
}

// Members returns the servers of a group.
func (s *Service) Members(group string) []*Server {
	return s.Servers.Filter(func(srv *Server) bool { return srv.GroupID == group })
}

// What a host without limits has for one server.
const (
	mostVCPUs    = 1000
	mostMemoryMB = 800 << 10
)

// schedule picks the host for a server: of the hosts that its zone, its group's policy and the room allow, the one
// with the fewest servers, not counting the server self. nil means there is none; fits tells whether any host has room.
func (s *Service) schedule(srv, self *Server) (best *Host, fits bool) {
	load, cpus, ram := map[string]int{}, map[string]int{}, map[string]int{}
	for _, o := range s.Servers.All() {
		if o.Host != "" && o != self {
			load[o.Host]++
			cpus[o.Host] += o.Flavor.VCPUs
			ram[o.Host] += o.Flavor.RAM
		}
	}
	together := map[string]int{}
	group := s.Groups.Get(srv.GroupID)
	if group != nil {
		for _, m := range s.Members(group.ID) {
			if m != self && m.Host != "" {
				together[m.Host]++
			}
		}
	}
	bestScore := 0
	for _, h := range s.Hosts {
		if srv.Flavor.VCPUs > mostVCPUs || srv.Flavor.RAM > mostMemoryMB ||
			h.VCPUs > 0 && cpus[h.Name]+srv.Flavor.VCPUs > h.VCPUs ||
			h.MemoryMB > 0 && ram[h.Name]+srv.Flavor.RAM > h.MemoryMB {
			continue
		}
		fits = true
		if h.Disabled || srv.requestedZone != "" && h.Zone != srv.requestedZone ||
			srv.requestedHost != "" && h.Name != srv.requestedHost {
			continue
		}
		score := load[h.Name]
		if group != nil {
			const soft = 10000
			switch mates := together[h.Name]; group.Policy {
			case "anti-affinity":
				if mates >= max(group.MaxPerHost, 1) {
					continue
				}
			case "affinity":
				if len(together) > 0 && mates == 0 {
					continue
				}
			case "soft-anti-affinity":
				score += soft * mates
			case "soft-affinity":
				score -= soft * mates
			}
		}
		if best == nil || score < bestScore {
			best, bestScore = h, score
		}
	}
	return best, fits
}
