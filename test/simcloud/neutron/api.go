package neutron

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// kind is one collection of the API.
type kind[T any] struct {
	plural, single string
	list           func() []*T
	visible        func(c rest.Caller, v *T) bool
	get            func(c rest.Caller, id string) (*T, error)
	create, update func(c rest.Caller, id string, body json.RawMessage) (*T, error)
	remove         func(c rest.Caller, id string) error
	view           func(v *T) rest.Obj
	base           func(v *T) *base
}

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError = writeError
	versions := func(*rest.Call) (int, any, error) {
		return http.StatusOK, rest.Obj{"versions": []rest.Obj{{
			"id": "v2.0", "status": "CURRENT", "links": []rest.Obj{{"rel": "self", "href": s.world.BaseURL + a.Prefix + "/v2.0/"}},
		}}}, nil
	}
	a.HandlePublic("GET /{$}", versions)
	a.HandlePublic("GET ", versions)
	a.Handle("GET /v2.0/extensions", s.extensions)
	a.Handle("GET /v2.0/extensions.json", s.extensions)

	register(s, a, kind[Network]{
		plural: "networks", single: "network", list: s.Networks.All, get: s.Network, remove: s.DeleteNetwork,
		visible: func(c rest.Caller, n *Network) bool { _, err := s.Network(c, n.ID); return err == nil },
		create: func(c rest.Caller, _ string, b json.RawMessage) (*Network, error) {
			return with(b, func(spec NetworkSpec) (*Network, error) { return s.CreateNetwork(c, spec) })
		},
		update: func(c rest.Caller, id string, b json.RawMessage) (*Network, error) {
			return with(b, func(spec NetworkSpec) (*Network, error) { return s.UpdateNetwork(c, id, spec) })
		},
		view: s.networkView, base: func(n *Network) *base { return &n.base },
	})
	register(s, a, kind[Subnet]{
		plural: "subnets", single: "subnet", list: s.Subnets.All, get: s.Subnet, remove: s.DeleteSubnet,
		visible: func(c rest.Caller, n *Subnet) bool { _, err := s.Subnet(c, n.ID); return err == nil },
		create: func(c rest.Caller, _ string, b json.RawMessage) (*Subnet, error) {
			return with(b, func(spec SubnetSpec) (*Subnet, error) { return s.CreateSubnet(c, spec) })
		},
		update: func(c rest.Caller, id string, b json.RawMessage) (*Subnet, error) {
			return with(b, func(spec SubnetSpec) (*Subnet, error) { return s.UpdateSubnet(c, id, spec) })
		},
		view: (*Subnet).view, base: func(n *Subnet) *base { return &n.base },
	})
	register(s, a, kind[Port]{
		plural: "ports", single: "port", list: s.Ports.All, get: s.Port, remove: s.DeletePort,
		visible: func(c rest.Caller, p *Port) bool { return c.Admin || p.Project == c.ProjectID },
		create: func(c rest.Caller, _ string, b json.RawMessage) (*Port, error) {
			return with(b, func(spec PortSpec) (*Port, error) { return s.CreatePort(c, spec) })
		},
		update: func(c rest.Caller, id string, b json.RawMessage) (*Port, error) {
			return with(b, func(spec PortSpec) (*Port, error) { return s.UpdatePort(c, id, spec) })
		},
		view: s.portView, base: func(p *Port) *base { return &p.base },
	})
	register(s, a, kind[FloatingIP]{
		plural: "floatingips", single: "floatingip", list: s.FloatingIPs.All, get: s.FloatingIP, remove: s.DeleteFloatingIP,
		visible: func(c rest.Caller, f *FloatingIP) bool { return c.Admin || f.Project == c.ProjectID },
		create: func(c rest.Caller, _ string, b json.RawMessage) (*FloatingIP, error) {
			return with(b, func(spec FloatingSpec) (*FloatingIP, error) { return s.CreateFloatingIP(c, spec) })
		},
		update: func(c rest.Caller, id string, b json.RawMessage) (*FloatingIP, error) {
			return with(b, func(spec FloatingSpec) (*FloatingIP, error) { return s.UpdateFloatingIP(c, id, spec) })
		},
		view: s.floatingView, base: func(f *FloatingIP) *base { return &f.base },
	})
	s.registerRouters(a)
	s.registerGroups(a)
	s.registerQuotas(a)
	a.HandleNotFound("The resource could not be found.")
}

func (s *Service) registerRouters(a *rest.API) {
	register(s, a, kind[Router]{
		plural: "routers", single: "router", list: s.Routers.All, get: s.Router, remove: s.DeleteRouter,
		visible: func(c rest.Caller, r *Router) bool { return c.Admin || r.Project == c.ProjectID },
		create: func(c rest.Caller, _ string, b json.RawMessage) (*Router, error) {
			return with(b, func(spec RouterSpec) (*Router, error) { return s.CreateRouter(c, spec) })
		},
		update: func(c rest.Caller, id string, b json.RawMessage) (*Router, error) {
			return with(b, func(spec RouterSpec) (*Router, error) { return s.UpdateRouter(c, id, spec) })
		},
		view: s.routerView, base: func(r *Router) *base { return &r.base },
	})
	a.Handle("PUT /v2.0/routers/{id}/{action}", s.routerInterface)
}

func (s *Service) registerGroups(a *rest.API) {
	register(s, a, kind[SecurityGroup]{
		plural: "security-groups", single: "security_group", list: s.Groups.All, get: s.Group, remove: s.DeleteGroup,
		visible: func(c rest.Caller, g *SecurityGroup) bool {
			s.DefaultGroup(c.ProjectID)
			return c.Admin || g.Project == c.ProjectID
		},
		create: func(c rest.Caller, _ string, b json.RawMessage) (*SecurityGroup, error) {
			return with(b, func(spec GroupSpec) (*SecurityGroup, error) { return s.CreateGroup(c, spec) })
		},
		update: func(c rest.Caller, id string, b json.RawMessage) (*SecurityGroup, error) {
			return with(b, func(spec GroupSpec) (*SecurityGroup, error) { return s.UpdateGroup(c, id, spec) })
		},
		view: s.groupView, base: func(g *SecurityGroup) *base { return &g.base },
	})
	a.Handle("GET /v2.0/security-group-rules", func(c *rest.Call) (int, any, error) {
		out := []rest.Obj{}
		for _, g := range s.Groups.All() {
			if !c.Admin && g.Project != c.ProjectID {
				continue
			}
			for _, r := range g.Rules {
				if v := ruleView(g, r); matches(v, c.Query) {
					out = append(out, v)
				}
			}
		}
		return http.StatusOK, rest.Obj{"security_group_rules": out}, nil
	})
	a.Handle("POST /v2.0/security-group-rules", func(c *rest.Call) (int, any, error) {
		var req struct {
			Rule Rule `json:"security_group_rule"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		r, err := s.AddRule(c.Caller, req.Rule)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, rest.Obj{"security_group_rule": ruleView(s.Groups.Get(r.GroupID), r)}, nil
	})
	a.Handle("GET /v2.0/security-group-rules/{id}", func(c *rest.Call) (int, any, error) {
		g, i := s.findRule(c.Caller, c.Path("id"))
		if g == nil {
			return 0, nil, notFound("SecurityGroupRuleNotFound", "Security group rule %s does not exist", c.Path("id"))
		}
		return http.StatusOK, rest.Obj{"security_group_rule": ruleView(g, g.Rules[i])}, nil
	})
	a.Handle("DELETE /v2.0/security-group-rules/{id}", func(c *rest.Call) (int, any, error) {
		return http.StatusNoContent, nil, s.DeleteRule(c.Caller, c.Path("id"))
	})
}

func register[T any](s *Service, a *rest.API, k kind[T]) {
	collection, member := "/v2.0/"+k.plural, "/v2.0/"+k.plural+"/{id}"
	plural := strings.ReplaceAll(k.plural, "-", "_")
	a.Handle("GET "+collection, func(c *rest.Call) (int, any, error) { return listOf(s, c, k, plural) })
	a.Handle("POST "+collection, func(c *rest.Call) (int, any, error) {
		body, err := unwrap(c, k.single)
		if err != nil {
			return 0, nil, err
		}
		v, err := k.create(c.Caller, "", body)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, rest.Obj{k.single: k.view(v)}, nil
	})
	a.Handle("GET "+member, func(c *rest.Call) (int, any, error) {
		v, err := k.get(c.Caller, c.Path("id"))
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{k.single: only(k.view(v), c.Query["fields"])}, nil
	})
	a.Handle("PUT "+member, func(c *rest.Call) (int, any, error) {
		body, err := unwrap(c, k.single)
		if err != nil {
			return 0, nil, err
		}
		v, err := k.update(c.Caller, c.Path("id"), body)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{k.single: k.view(v)}, nil
	})
	a.Handle("DELETE "+member, func(c *rest.Call) (int, any, error) {
		return http.StatusNoContent, nil, k.remove(c.Caller, c.Path("id"))
	})
	registerTags(s, a, k)
}

func listOf[T any](s *Service, c *rest.Call, k kind[T], plural string) (int, any, error) {
	q := c.Query
	if bad := unknownFilters(q, k.view(new(T))); len(bad) > 0 {
		return 0, nil, badRequest("HTTPBadRequest", "['%s'] is invalid attribute for filtering", strings.Join(bad, "', '"))
	}
	views := []rest.Obj{}
	for _, v := range k.list() {
		b := k.base(v)
		if !k.visible(c.Caller, v) || !rest.OneOf(q, "id", b.ID) || !rest.OneOf(q, "name", b.Name) ||
			!rest.TagsMatch(b.Tags, q.Get("tags"), q.Get("tags-any"), q.Get("not-tags"), q.Get("not-tags-any")) {
			continue
		}
		if p, ok := any(v).(*Port); ok && (!rest.OneOf(q, "device_id", p.DeviceID) || !rest.OneOf(q, "network_id", p.NetworkID)) {
			continue // the common questions, answered without building views of all ports
		}
		if view := k.view(v); matches(view, q) {
			views = append(views, only(view, q["fields"]))
		}
	}
	page, more, err := rest.Page(views, q, func(v rest.Obj) string { id, _ := v["id"].(string); return id })
	if err != nil {
		return 0, nil, err
	}
	out := rest.Obj{plural: page}
	if more {
		id, _ := page[len(page)-1]["id"].(string)
		out[plural+"_links"] = []rest.Obj{{"rel": "next", "href": rest.NextURL(s.world.BaseURL, c.R, id)}}
	}
	return http.StatusOK, out, nil
}

// unknownFilters are the members of a query that the objects do not have.
func unknownFilters(q url.Values, example rest.Obj) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(q)) {
		switch key {
		case "limit", "marker", "page_reverse", "fields", "sort_key", "sort_dir", "tags", "tags-any", "not-tags", "not-tags-any":
			continue
		}
		if _, ok := example[key]; !ok {
			out = append(out, key)
		}
	}
	return out
}

// matches applies the remaining query members as filters on the view.
func matches(v rest.Obj, q url.Values) bool {
	for key, want := range q {
		switch key {
		case "limit", "marker", "page_reverse", "fields", "sort_key", "sort_dir", "tags", "tags-any", "not-tags", "not-tags-any":
			continue
		case "fixed_ips":
			ips, _ := v["fixed_ips"].([]rest.Obj)
			for _, w := range want {
				name, val, _ := strings.Cut(w, "=")
				if !slices.ContainsFunc(ips, func(ip rest.Obj) bool { return ip[name] == val }) {
					return false
				}
			}
			continue
		case "security_groups":
			have, _ := v[key].([]string)
			if !slices.ContainsFunc(want, func(w string) bool { return slices.Contains(have, w) }) {
				return false
			}
			continue
		}
		have := v[key]
		if b, ok := have.(bool); ok {
			if !slices.ContainsFunc(want, func(w string) bool { return rest.Bool(w) == b }) {
				return false
			}
			continue
		}
		text := ""
		if have != nil {
			text = fmt.Sprint(have)
		}
		if !slices.Contains(want, text) {
			return false
		}
	}
	return true
}

func only(v rest.Obj, fields []string) rest.Obj {
	if len(fields) == 0 {
		return v
	}
	out := rest.Obj{}
	for _, f := range fields {
		if x, ok := v[f]; ok {
			out[f] = x
		}
	}
	return out
}

func unwrap(c *rest.Call, name string) (json.RawMessage, error) {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	b, ok := body[name]
	if !ok {
		return nil, badRequest("HTTPBadRequest", "Unable to find '%s' in request body", name)
	}
	return b, nil
}

func with[S, T any](b json.RawMessage, f func(S) (*T, error)) (*T, error) {
	var spec S
	if err := json.Unmarshal(b, &spec); err != nil {
		return nil, badRequest("HTTPBadRequest", "Invalid input: %v", err)
	}
	return f(spec)
}

func writeError(w http.ResponseWriter, _ *http.Request, e *rest.Error) {
	rest.WriteJSON(w, e.Status, rest.Obj{"NeutronError": rest.Obj{"type": e.Kind, "message": e.Message, "detail": e.Detail}})
}
