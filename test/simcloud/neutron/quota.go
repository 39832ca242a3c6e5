package neutron

import (
	"net/http"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

func (s *Service) registerQuotas(a *rest.API) {
	type update struct {
		Quota map[string]int `json:"quota"`
	}
	a.Handle("GET /v2.0/quotas/{project}", rest.On(quotaProject, func(_ *rest.Call, project string) (int, any, error) {
		return http.StatusOK, rest.Obj{"quota": s.Quotas.Of(project)}, nil
	}))
	details := rest.On(quotaProject, func(_ *rest.Call, project string) (int, any, error) {
		use, out := s.Usage(project), rest.Obj{}
		for name, limit := range s.Quotas.Of(project) {
			out[name] = rest.Obj{"limit": limit, "used": use[name], "reserved": 0}
		}
		return http.StatusOK, rest.Obj{"quota": out}, nil
	})
	a.Handle("GET /v2.0/quotas/{project}/details", details)
	a.Handle("GET /v2.0/quotas/{project}/details.json", details)
	a.Handle("PUT /v2.0/quotas/{project}", rest.WithBody(func(c *rest.Call, b update) (int, any, error) {
		if !c.Admin {
			return 0, nil, forbidden("rule:update_quota is disallowed by policy")
		}
		return s.Quotas.Write(c.Path("project"), "quota", b.Quota)
	}))
}

// quotaProject is the project whose quotas a call asks for.
func quotaProject(c *rest.Call) (string, error) {
	if c.Admin || c.Path("project") == c.ProjectID {
		return c.Path("project"), nil
	}
	return "", forbidden("rule:get_quota is disallowed by policy")
}

func forbidden(text string) error {
	return rest.Errorf(http.StatusForbidden, "PolicyNotAuthorized", "%s", text)
}

func (s *Service) extensions(*rest.Call) (int, any, error) {
	out := []rest.Obj{}
	for _, alias := range []string{
		"router", "external-net", "security-group", "quotas", "quota_details", "standard-attr-tag",
		"allowed-address-pairs", "binding", "port-security", "standard-attr-timestamp", "standard-attr-revisions",
		"net-mtu", "fip-port-details", "filter-validation",
	} {
		out = append(out, rest.Obj{
			"alias": alias, "name": alias, "description": "", "links": []string{},
			"updated": "2015-01-01T10:00:00-00:00",
		})
	}
	return http.StatusOK, rest.Obj{"extensions": out}, nil
}
