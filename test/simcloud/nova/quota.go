package nova

import (
	"net/http"

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

func unknownQuota(name string) error {
	const format = "Invalid input for field/attribute quota_set. Additional properties are not allowed ('%s' was " +
		"unexpected)"
	return badRequest(format, name)
}

// room refuses a request that would go over a quota.
func (s *Service) room(project string, want map[string]int) error {
	for _, name := range quotaNames {
		n, limit := want[name], s.Quotas.Limit(project, name)
		if n == 0 || limit < 0 {
			continue
		}
		if used := s.Usage(project)[name]; used+n > limit {
			const format = "Quota exceeded for %s: Requested %d, but already used %d of %d %s"
			return forbidden(format, name, n, used, limit, name)
		}
	}
	return nil
}

func (s *Service) registerQuotas(a *rest.API) {
	show := func(c *rest.Call, use map[string]int) (int, any, error) {
		if c.Path("project") != c.ProjectID && !c.Admin {
			return 0, nil, forbidden("Policy doesn't allow os_compute_api:os-quota-sets:show to be performed.")
		}
		return http.StatusOK, s.Quotas.QuotaSet(c.Path("project"), use), nil
	}
	a.Handle("GET /v2.1/os-quota-sets/{project}", func(c *rest.Call) (int, any, error) { return show(c, nil) })
	a.Handle("GET /v2.1/os-quota-sets/{project}/detail", func(c *rest.Call) (int, any, error) {
		return show(c, s.Usage(c.Path("project")))
	})
	type quotaBody struct {
		Set map[string]int `json:"quota_set"`
	}
	a.Handle("PUT /v2.1/os-quota-sets/{project}", rest.WithBody(func(c *rest.Call, b quotaBody) (int, any, error) {
		if !c.Admin {
			return 0, nil, forbidden("Policy doesn't allow os_compute_api:os-quota-sets:update to be performed.")
		}
		return s.Quotas.Write(c.Path("project"), "quota_set", b.Set)
	}))
	a.Handle("GET /v2.1/limits", func(c *rest.Call) (int, any, error) {
		q, use := s.Quotas.Of(c.ProjectID), s.Usage(c.ProjectID)
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
