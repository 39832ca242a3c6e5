package neutron

import (
	"net/http"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

func (s *Service) registerQuotas(a *rest.API) {
	a.Handle("GET /v2.0/quotas/{project}", func(c *rest.Call) (int, any, error) {
		if err := ownQuota(c); err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"quota": s.Quota(c.Path("project"))}, nil
	})
	details := func(c *rest.Call) (int, any, error) {
		if err := ownQuota(c); err != nil {
			return 0, nil, err
		}
		use, out := s.Usage(c.Path("project")), rest.Obj{}
		for name, limit := range s.Quota(c.Path("project")) {
			out[name] = rest.Obj{"limit": limit, "used": use[name], "reserved": 0}
		}
		return http.StatusOK, rest.Obj{"quota": out}, nil
	}
	a.Handle("GET /v2.0/quotas/{project}/details", details)
	a.Handle("GET /v2.0/quotas/{project}/details.json", details)
	a.Handle("PUT /v2.0/quotas/{project}", func(c *rest.Call) (int, any, error) {
		if !c.Admin {
			return 0, nil, rest.Errorf(
				http.StatusForbidden, "PolicyNotAuthorized", "rule:update_quota is disallowed by policy",
			)
		}
		var req struct {
			Quota map[string]int `json:"quota"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		if err := s.SetQuota(c.Path("project"), req.Quota); err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"quota": s.Quota(c.Path("project"))}, nil
	})
}

func ownQuota(c *rest.Call) error {
	if c.Admin || c.Path("project") == c.ProjectID {
		return nil
	}
	return rest.Errorf(http.StatusForbidden, "PolicyNotAuthorized", "rule:get_quota is disallowed by policy")
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
