package nova

import (
	"crypto/md5"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// registerCatalog adds flavors, server groups, key pairs, zones, hosts and hypervisors.
func (s *Service) registerCatalog(a *rest.API) {
	flavors := func(detail bool) rest.Handler {
		return func(c *rest.Call) (int, any, error) {
			page, _, err := rest.Page(s.Flavors.All(), c.Query, func(f *Flavor) string { return f.ID })
			if err != nil {
				return 0, nil, err
			}
			out := []rest.Obj{}
			for _, f := range page {
				if detail {
					out = append(out, s.flavorView(f, minor(c.R)))
				} else {
					out = append(out, rest.Obj{"id": f.ID, "name": f.Name, "links": s.links("flavors", f.ID)})
				}
			}
			return http.StatusOK, rest.Obj{"flavors": out}, nil
		}
	}
	a.Handle("GET /v2.1/flavors", flavors(false))
	a.Handle("GET /v2.1/flavors/detail", flavors(true))
	a.Handle("POST /v2.1/flavors", s.createFlavor)
	a.Handle("DELETE /v2.1/flavors/{id}", func(c *rest.Call) (int, any, error) {
		if s.Flavors.Get(c.Path("id")) == nil {
			return 0, nil, notFound("Flavor %s could not be found.", c.Path("id"))
		}
		s.Flavors.Delete(c.Path("id"))
		return http.StatusAccepted, nil, nil
	})
	flavor := func(h func(f *Flavor, minor int) any) rest.Handler {
		return func(c *rest.Call) (int, any, error) {
			f := s.Flavors.Get(c.Path("id"))
			if f == nil {
				return 0, nil, notFound("Flavor %s could not be found.", c.Path("id"))
			}
			return http.StatusOK, h(f, minor(c.R)), nil
		}
	}
	a.Handle("GET /v2.1/flavors/{id}", flavor(func(f *Flavor, minor int) any {
		return rest.Obj{"flavor": s.flavorView(f, minor)}
	}))
	a.Handle("GET /v2.1/flavors/{id}/os-extra_specs", flavor(func(f *Flavor, _ int) any {
		return rest.Obj{"extra_specs": specsOf(f)}
	}))
	s.registerGroups(a)
	s.registerKeys(a)
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
	a.Handle("GET /v2.1/os-services", func(*rest.Call) (int, any, error) {
		out := []rest.Obj{}
		for i, h := range s.Hosts {
			status := "enabled"
			if h.Disabled {
				status = "disabled"
			}
			out = append(out, rest.Obj{
				"id": i + 1, "binary": "nova-compute", "host": h.Name, "zone": h.Zone,
				"status": status, "state": "up", "disabled_reason": nil,
			})
		}
		return http.StatusOK, rest.Obj{"services": out}, nil
	})
	hypervisors := func(*rest.Call) (int, any, error) {
		out := []rest.Obj{}
		for i, h := range s.Hosts {
			out = append(out, rest.Obj{
				"id": i + 1, "hypervisor_hostname": h.Name, "state": "up", "status": "enabled",
				"hypervisor_type": "fake", "hypervisor_version": 1000, "vcpus": h.VCPUs, "memory_mb": h.MemoryMB,
				"host_ip": "127.0.0.1", "service": rest.Obj{"id": i + 1, "host": h.Name, "disabled_reason": nil},
				"cpu_info": "{}",
			})
		}
		return http.StatusOK, rest.Obj{"hypervisors": out}, nil
	}
	a.Handle("GET /v2.1/os-hypervisors", hypervisors)
	a.Handle("GET /v2.1/os-hypervisors/detail", hypervisors)
}

func (s *Service) createFlavor(c *rest.Call) (int, any, error) {
	if !c.Admin {
		return 0, nil, rest.Errorf(http.StatusForbidden, "forbidden",
			"Policy doesn't allow os_compute_api:os-flavor-manage:create to be performed.")
	}
	var req struct {
		F struct {
			Name  string `json:"name"`
			VCPUs int    `json:"vcpus"`
			RAM   int    `json:"ram"`
			Disk  int    `json:"disk"`
		} `json:"flavor"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if _, err := s.FindFlavor(req.F.Name); err == nil {
		return 0, nil, conflict("Flavor with name %s already exists.", req.F.Name)
	}
	f := &Flavor{ID: sim.NewID(), Name: req.F.Name, VCPUs: req.F.VCPUs, RAM: req.F.RAM, Disk: req.F.Disk}
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
	a.Handle("POST /v2.1/os-server-groups", func(c *rest.Call) (int, any, error) {
		var req struct {
			G struct {
				Name     string   `json:"name"`
				Policies []string `json:"policies"`
				Policy   string   `json:"policy"`
				Rules    struct {
					MaxPerHost int `json:"max_server_per_host"`
				} `json:"rules"`
			} `json:"server_group"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		policy := strings.Join(req.G.Policies, ",")
		if minor(c.R) >= 64 {
			policy = req.G.Policy
		}
		g, err := s.CreateGroup(c.Caller, req.G.Name, policy, req.G.Rules.MaxPerHost)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"server_group": s.groupView(g, minor(c.R))}, nil
	})
	a.Handle("GET /v2.1/os-server-groups/{id}", func(c *rest.Call) (int, any, error) {
		g, err := s.Group(c.Caller, c.Path("id"))
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"server_group": s.groupView(g, minor(c.R))}, nil
	})
	a.Handle("DELETE /v2.1/os-server-groups/{id}", func(c *rest.Call) (int, any, error) {
		g, err := s.Group(c.Caller, c.Path("id"))
		if err != nil {
			return 0, nil, err
		}
		s.Groups.Delete(g.ID)
		return http.StatusNoContent, nil, nil
	})
}

func (s *Service) registerKeys(a *rest.API) {
	view := func(k *KeyPair) rest.Obj {
		return rest.Obj{"keypair": rest.Obj{
			"name": k.Name, "public_key": k.PublicKey, "fingerprint": k.Fingerprint,
			"user_id": k.UserID, "type": "ssh", "created_at": k.Created.Format(usageForm),
		}}
	}
	a.Handle("GET /v2.1/os-keypairs", func(c *rest.Call) (int, any, error) {
		out := []rest.Obj{}
		for _, k := range s.KeyPairs.All() {
			if k.UserID == c.UserID {
				out = append(out, view(k))
			}
		}
		return http.StatusOK, rest.Obj{"keypairs": out}, nil
	})
	a.Handle("POST /v2.1/os-keypairs", func(c *rest.Call) (int, any, error) {
		var req struct {
			K struct {
				Name      string `json:"name"`
				PublicKey string `json:"public_key"`
			} `json:"keypair"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		if s.KeyPair(c.UserID, req.K.Name) != nil {
			return 0, nil, conflict("Key pair '%s' already exists.", req.K.Name)
		}
		if len(strings.Fields(req.K.PublicKey)) < 2 {
			return 0, nil, badRequest("Keypair data is invalid: failed to generate fingerprint")
		}
		sum := md5.Sum([]byte(req.K.PublicKey))
		k := &KeyPair{
			Name: req.K.Name, PublicKey: req.K.PublicKey, UserID: c.UserID, Created: s.world.Now(),
			Fingerprint: strings.ReplaceAll(fmt.Sprintf("% x", sum), " ", ":"),
		}
		s.KeyPairs.Add(c.UserID+"/"+k.Name, k)
		status := http.StatusOK
		if minor(c.R) >= 2 {
			status = http.StatusCreated
		}
		return status, view(k), nil
	})
	a.Handle("GET /v2.1/os-keypairs/{name}", func(c *rest.Call) (int, any, error) {
		k := s.KeyPair(c.UserID, c.Path("name"))
		if k == nil {
			return 0, nil, notFound("Keypair %s not found for user %s", c.Path("name"), c.UserID)
		}
		return http.StatusOK, view(k), nil
	})
	a.Handle("DELETE /v2.1/os-keypairs/{name}", func(c *rest.Call) (int, any, error) {
		if s.KeyPair(c.UserID, c.Path("name")) == nil {
			return 0, nil, notFound("Keypair %s not found for user %s", c.Path("name"), c.UserID)
		}
		s.KeyPairs.Delete(c.UserID + "/" + c.Path("name"))
		status := http.StatusAccepted
		if minor(c.R) >= 2 {
			status = http.StatusNoContent
		}
		return status, nil, nil
	})
}

// SetHosts replaces the compute hosts; servers stay where they are.
func (s *Service) SetHosts(hosts []Host) {
	s.Hosts = nil
	for _, h := range hosts {
		s.Hosts = append(s.Hosts, &h)
	}
}

// Host finds a compute host by name.
func (s *Service) Host(name string) *Host {
	i := slices.IndexFunc(s.Hosts, func(h *Host) bool { return h.Name == name })
	if i < 0 {
		return nil
	}
	return s.Hosts[i]
}
