package nova

import (
	"maps"
	"net/http"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

var quotaNames = []string{
	"instances", "cores", "ram", "key_pairs", "metadata_items", "server_groups", "server_group_members",
}

// Usage counts what a project uses, by quota name.
func (s *Service) Usage(project string) map[string]int {
	use := map[string]int{}
	for _, srv := range s.Servers.All() {
		if srv.Project == project {
			use["instances"]++
			use["cores"] += srv.Flavor.VCPUs
			use["ram"] += srv.Flavor.RAM
		}
	}
	for _, g := range s.Groups.All() {
		if g.Project == project {
			use["server_groups"]++
		}
	}
	return use
}

// SetQuota sets limits of a project; -1 is no limit, which is also the default.
func (s *Service) SetQuota(project string, limits map[string]int) error {
	for name := range limits {
		if !slices.Contains(quotaNames, name) {
			return badRequest(
				"Invalid input "+
					"for field/attribute quota_set. Additional properties are not allowed ('%s' was unexpected)",
				name,
			)
		}
	}
	if s.quotas[project] == nil {
		s.quotas[project] = map[string]int{}
	}
	maps.Copy(s.quotas[project], limits)
	return nil
}

// Quota returns the limits of a project.
func (s *Service) Quota(project string) map[string]int {
	out := map[string]int{}
	for _, n := range quotaNames {
		out[n] = -1
	}
	maps.Copy(out, s.quotas[project])
	return out
}

// room refuses a request that would go over a quota.
func (s *Service) room(project string, want map[string]int) error {
	q := s.quotas[project]
	if len(q) == 0 {
		return nil
	}
	use := s.Usage(project)
	for _, name := range quotaNames {
		n, asked := want[name]
		limit, set := q[name]
		if asked && set && limit >= 0 && use[name]+n > limit {
			return rest.Errorf(http.StatusForbidden, "forbidden",
				"Quota exceeded for %s: Requested %d, but already used %d of %d %s", name, n, use[name], limit, name)
		}
	}
	return nil
}

func (s *Service) registerQuotas(a *rest.API) {
	get := func(detail bool) rest.Handler {
		return func(c *rest.Call) (int, any, error) {
			p := c.Path("project")
			if p != c.ProjectID && !c.Admin {
				return 0, nil, rest.Errorf(http.StatusForbidden, "forbidden",
					"Policy doesn't allow os_compute_api:os-quota-sets:show to be performed.")
			}
			out, use := rest.Obj{"id": p}, s.Usage(p)
			for name, limit := range s.Quota(p) {
				if detail {
					out[name] = rest.Obj{"limit": limit, "in_use": use[name], "reserved": 0}
				} else {
					out[name] = limit
				}
			}
			return http.StatusOK, rest.Obj{"quota_set": out}, nil
		}
	}
	a.Handle("GET /v2.1/os-quota-sets/{project}", get(false))
	a.Handle("GET /v2.1/os-quota-sets/{project}/detail", get(true))
	a.Handle("PUT /v2.1/os-quota-sets/{project}", func(c *rest.Call) (int, any, error) {
		if !c.Admin {
			return 0, nil, rest.Errorf(http.StatusForbidden, "forbidden",
				"Policy doesn't allow os_compute_api:os-quota-sets:update to be performed.")
		}
		var req struct {
			Set map[string]any `json:"quota_set"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		limits := map[string]int{}
		for name, v := range req.Set {
			if n, ok := v.(float64); ok {
				limits[name] = int(n)
			}
		}
		if err := s.SetQuota(c.Path("project"), limits); err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"quota_set": s.Quota(c.Path("project"))}, nil
	})
	a.Handle("GET /v2.1/limits", func(c *rest.Call) (int, any, error) {
		q, use := s.Quota(c.ProjectID), s.Usage(c.ProjectID)
		return http.StatusOK, rest.Obj{"limits": rest.Obj{"rate": []string{}, "absolute": rest.Obj{
			"maxTotalInstances": q["instances"], "totalInstancesUsed": use["instances"],
			"maxTotalCores": q["cores"], "totalCoresUsed": use["cores"],
			"maxTotalRAMSize": q["ram"], "totalRAMUsed": use["ram"],
			"maxServerGroups": q["server_groups"], "totalServerGroupsUsed": use["server_groups"],
			"maxServerGroupMembers": q["server_group_members"], "maxTotalKeypairs": q["key_pairs"],
			"maxServerMeta": q["metadata_items"],
		}}}, nil
	})
}
