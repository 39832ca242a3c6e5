package nova

import (
	"net/http"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// registerCatalog adds flavors, server groups, key pairs and zones.
func (s *Service) registerCatalog(a *rest.API) {
	flavors := func(detail bool) rest.Handler {
		return func(c *rest.Call) (int, any, error) {
			view := func(f *Flavor) rest.Obj {
				if detail {
					return s.flavorView(f, minor(c.R))
				}
				return rest.Obj{"id": f.ID, "name": f.Name, "links": s.links("flavors", f.ID)}
			}
			return rest.List(c, "flavors", s.Flavors.All(), func(f *Flavor) string { return f.ID }, view)
		}
	}
	a.Handle("GET /v2.1/flavors", flavors(false))
	a.Handle("GET /v2.1/flavors/detail", flavors(true))
	a.Handle("POST /v2.1/flavors", rest.WithBody(s.createFlavor))
	a.Handle("GET /v2.1/flavors/{id}", func(c *rest.Call) (int, any, error) {
		f := s.Flavors.Get(c.Path("id"))
		if f == nil {
			return 0, nil, notFound("Flavor %s could not be found.", c.Path("id"))
		}
		return http.StatusOK, rest.Obj{"flavor": s.flavorView(f, minor(c.R))}, nil
	})
	s.registerGroups(a)
	// users do not have key pairs
	a.Handle("GET /v2.1/os-keypairs", func(*rest.Call) (int, any, error) {
		return http.StatusOK, rest.Obj{"keypairs": []rest.Obj{}}, nil
	})
	a.Handle("GET /v2.1/os-keypairs/{name}", func(c *rest.Call) (int, any, error) {
		return 0, nil, notFound("Keypair %s not found for user %s", c.Path("name"), c.UserID)
	})
	zones := func(detail bool) rest.Handler {
		return func(*rest.Call) (int, any, error) {
			out := []rest.Obj{}
			if detail {
				out = append(out, rest.Obj{
					"zoneName": "internal", "zoneState": rest.Obj{"available": true}, "hosts": rest.Obj{},
				})
			}
			for _, z := range s.Zones() {
				hosts, available := rest.Obj{}, false
				for _, h := range s.Hosts {
					if h.Zone == z {
						available = available || !h.Disabled
						hosts[h.Name] = rest.Obj{
							"nova-compute": rest.Obj{"active": true, "available": !h.Disabled, "updated_at": nil},
						}
					}
				}
				v := rest.Obj{"zoneName": z, "zoneState": rest.Obj{"available": available}, "hosts": nil}
				if detail {
					v["hosts"] = hosts
				}
				out = append(out, v)
			}
			return http.StatusOK, rest.Obj{"availabilityZoneInfo": out}, nil
		}
	}
	a.Handle("GET /v2.1/os-availability-zone", zones(false))
	a.Handle("GET /v2.1/os-availability-zone/detail", zones(true))
}

type flavorBody struct {
	Flavor Flavor `json:"flavor"`
}

func (s *Service) createFlavor(c *rest.Call, req flavorBody) (int, any, error) {
	if !c.Admin {
		return 0, nil, forbidden("Policy doesn't allow os_compute_api:os-flavor-manage:create to be performed.")
	}
	f := &req.Flavor
	if _, err := s.FindFlavor(f.Name); err == nil {
		return 0, nil, conflict("Flavor with name %s already exists.", f.Name)
	}
	f.ID = sim.NewID()
	s.Flavors.Add(f.ID, f)
	return http.StatusOK, rest.Obj{"flavor": s.flavorView(f, minor(c.R))}, nil
}

func (s *Service) registerGroups(a *rest.API) {
	a.Handle("GET /v2.1/os-server-groups", func(c *rest.Call) (int, any, error) {
		all := c.Admin && c.Query.Has("all_projects")
		out := []rest.Obj{}
		for _, g := range s.Groups.All() {
			if all || g.Project == c.ProjectID {
				out = append(out, s.groupView(g, minor(c.R)))
			}
		}
		return http.StatusOK, rest.Obj{"server_groups": out}, nil
	})
	type groupBody struct {
		G struct {
			Name     string   `json:"name"`
			Policies []string `json:"policies"`
			Policy   string   `json:"policy"`
			Rules    struct {
				MaxPerHost int `json:"max_server_per_host"`
			} `json:"rules"`
		} `json:"server_group"`
	}
	a.Handle("POST /v2.1/os-server-groups", rest.WithBody(func(c *rest.Call, req groupBody) (int, any, error) {
		policy := strings.Join(req.G.Policies, ",")
		if minor(c.R) >= 64 {
			policy = req.G.Policy
		}
		g, err := s.CreateGroup(c.Caller, req.G.Name, policy, req.G.Rules.MaxPerHost)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"server_group": s.groupView(g, minor(c.R))}, nil
	}))
	find := func(c *rest.Call) (*Group, error) { return s.Group(c.Caller, c.Path("id")) }
	a.Handle("GET /v2.1/os-server-groups/{id}", rest.On(find, func(c *rest.Call, g *Group) (int, any, error) {
		return http.StatusOK, rest.Obj{"server_group": s.groupView(g, minor(c.R))}, nil
	}))
	a.Handle("DELETE /v2.1/os-server-groups/{id}", rest.On(find, func(_ *rest.Call, g *Group) (int, any, error) {
		s.Groups.Delete(g.ID)
		return http.StatusNoContent, nil, nil
	}))
}

// SetHosts replaces the compute hosts; servers stay where they are.
func (s *Service) SetHosts(hosts []Host) {
	s.Hosts = nil
	for _, h := range hosts {
		s.Hosts = append(s.Hosts, &h)
	}
}
