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
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// object is a row of a collection.
type object[T any] interface {
	*T
	common() *base
}

// kind is one collection of the API. T is its rows, and S the body of a create or update.
type kind[T, S any] struct {
	plural, single string
	rows           *sim.Table[T]
	get            func(c rest.Caller, id string) (*T, error)
	create         func(c rest.Caller, spec S) (*T, error)
	// update is nil where the API has no use for it.
	update func(c rest.Caller, id string, spec S) (*T, error)
	remove func(c rest.Caller, id string) error
	view   func(v *T) rest.Obj
	// ensure, if not nil, creates the rows that every project has.
	ensure func(project string)
}

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError = writeError
	versions := func(*rest.Call) (int, any, error) {
		links := []rest.Obj{{"rel": "self", "href": s.world.BaseURL + a.Prefix + "/v2.0/"}}
		version := rest.Obj{"id": "v2.0", "status": "CURRENT", "links": links}
		return http.StatusOK, rest.Obj{"versions": []rest.Obj{version}}, nil
	}
	a.HandlePublic("GET /{$}", versions)
	a.HandlePublic("GET ", versions)
	a.Handle("GET /v2.0/extensions", s.extensions)
	a.Handle("GET /v2.0/extensions.json", s.extensions)

	register(s, a, kind[Network, NetworkSpec]{
		plural: "networks", single: "network", rows: &s.Networks, view: s.networkView,
		get: s.Network, create: s.CreateNetwork, update: s.UpdateNetwork, remove: s.DeleteNetwork,
	})
	register(s, a, kind[Subnet, SubnetSpec]{
		plural: "subnets", single: "subnet", rows: &s.Subnets, view: (*Subnet).view,
		get: s.Subnet, create: s.CreateSubnet, update: s.UpdateSubnet, remove: s.DeleteSubnet,
	})
	register(s, a, kind[Port, PortSpec]{
		plural: "ports", single: "port", rows: &s.Ports, view: s.portView,
		get: s.Port, create: s.CreatePort, update: s.UpdatePort, remove: s.DeletePort,
	})
	register(s, a, kind[FloatingIP, FloatingSpec]{
		plural: "floatingips", single: "floatingip", rows: &s.FloatingIPs, view: s.floatingView,
		get: s.FloatingIP, create: s.CreateFloatingIP, update: s.UpdateFloatingIP, remove: s.DeleteFloatingIP,
	})
	register(s, a, kind[Router, RouterSpec]{
		plural: "routers", single: "router", rows: &s.Routers, view: s.routerView,
		get: s.Router, create: s.CreateRouter, remove: s.DeleteRouter,
	})
	register(s, a, kind[SecurityGroup, GroupSpec]{
		plural: "security-groups", single: "security_group", rows: &s.Groups, view: s.groupView,
		get: s.Group, create: s.CreateGroup, remove: s.DeleteGroup,
		ensure: func(project string) { s.DefaultGroup(project) },
	})
	a.Handle("PUT /v2.0/routers/{id}/{action}", rest.WithBody(s.changeInterface))
	s.registerQuotas(a)
	a.HandleNotFound("The resource could not be found.")
}

func register[T, S any, P object[T]](s *Service, a *rest.API, k kind[T, S]) {
	collection, member := "/v2.0/"+k.plural, "/v2.0/"+k.plural+"/{id}"
	write := func(status int, do func(c *rest.Call, spec S) (*T, error)) func(*rest.Call) (int, any, error) {
		return func(c *rest.Call) (int, any, error) {
			spec, err := unwrap[S](c, k.single)
			if err != nil {
				return 0, nil, err
			}
			v, err := do(c, spec)
			if err != nil {
				return 0, nil, err
			}
			return status, rest.Obj{k.single: k.view(v)}, nil
		}
	}
	a.Handle("GET "+collection, func(c *rest.Call) (int, any, error) { return listOf[T, S, P](c, k) })
	a.Handle("POST "+collection, write(http.StatusCreated, func(c *rest.Call, spec S) (*T, error) {
		return k.create(c.Caller, spec)
	}))
	if k.update != nil {
		a.Handle("PUT "+member, write(http.StatusOK, func(c *rest.Call, spec S) (*T, error) {
			return k.update(c.Caller, c.Path("id"), spec)
		}))
	}
	find := func(c *rest.Call) (*T, error) { return k.get(c.Caller, c.Path("id")) }
	a.Handle("GET "+member, rest.On(find, func(c *rest.Call, v *T) (int, any, error) {
		return http.StatusOK, rest.Obj{k.single: only(k.view(v), c.Query["fields"])}, nil
	}))
	a.Handle("DELETE "+member, func(c *rest.Call) (int, any, error) {
		return http.StatusNoContent, nil, k.remove(c.Caller, c.Path("id"))
	})
	a.Handle("PUT "+member+"/tags", rest.On(find, func(c *rest.Call, v *T) (int, any, error) {
		return s.replaceTags(c, P(v).common())
	}))
}

func listOf[T, S any, P object[T]](c *rest.Call, k kind[T, S]) (int, any, error) {
	q := c.Query
	if bad := unknownFilters(q, k.view(new(T))); len(bad) > 0 {
		const format = "['%s'] is invalid attribute for filtering"
		return 0, nil, badRequest("HTTPBadRequest", format, strings.Join(bad, "', '"))
	}
	if k.ensure != nil {
		k.ensure(c.ProjectID)
	}
	views := []rest.Obj{}
	for _, v := range k.rows.All() {
		b := P(v).common()
		tagged := rest.TagsMatch(b.Tags, q.Get("tags"), q.Get("tags-any"), q.Get("not-tags"), q.Get("not-tags-any"))
		if _, err := k.get(c.Caller, b.ID); err != nil || !tagged ||
			!rest.OneOf(q, "id", b.ID) || !rest.OneOf(q, "name", b.Name) {
			continue
		}
		p, isPort := any(v).(*Port)
		if isPort && (!rest.OneOf(q, "device_id", p.DeviceID) || !rest.OneOf(q, "network_id", p.NetworkID)) {
			continue // the common questions, answered without building views of all ports
		}
		if view := k.view(v); matches(view, q) {
			views = append(views, only(view, q["fields"]))
		}
	}
	id := func(v rest.Obj) string {
		id, _ := v["id"].(string)
		return id
	}
	return rest.List(c, strings.ReplaceAll(k.plural, "-", "_"), views, id, func(v rest.Obj) rest.Obj { return v })
}

// listOptions are the members of a query that are not filters on the objects.
var listOptions = []string{
	"limit", "marker", "page_reverse", "fields", "sort_key", "sort_dir", "tags", "tags-any", "not-tags", "not-tags-any",
}

// unknownFilters are the members of a query that the objects do not have.
func unknownFilters(q url.Values, example rest.Obj) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(q)) {
		if _, ok := example[key]; !ok && !slices.Contains(listOptions, key) {
			out = append(out, key)
		}
	}
	return out
}

// matches applies the remaining query members as filters on the view.
func matches(v rest.Obj, q url.Values) bool {
	for key, want := range q {
		if !slices.Contains(listOptions, key) && !hasValue(v[key], want) {
			return false
		}
	}
	return true
}

// hasValue tells whether a member of a view has one of the values that a filter asks for; of a list of addresses, all.
func hasValue(have any, want []string) bool {
	switch have := have.(type) {
	case nil:
		return slices.Contains(want, "")
	case bool:
		return slices.ContainsFunc(want, func(w string) bool { return rest.Bool(w) == have })
	case []string: // security_groups
		return slices.ContainsFunc(want, func(w string) bool { return slices.Contains(have, w) })
	case []rest.Obj: // fixed_ips
		return !slices.ContainsFunc(want, func(w string) bool {
			name, value, _ := strings.Cut(w, "=")
			return !slices.ContainsFunc(have, func(ip rest.Obj) bool { return ip[name] == value })
		})
	}
	return slices.Contains(want, fmt.Sprint(have))
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

func unwrap[S any](c *rest.Call, name string) (spec S, err error) {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return spec, err
	}
	b, ok := body[name]
	if !ok {
		return spec, badRequest("HTTPBadRequest", "Unable to find '%s' in request body", name)
	}
	if err := json.Unmarshal(b, &spec); err != nil {
		return spec, badRequest("HTTPBadRequest", "Invalid input: %v", err)
	}
	return spec, nil
}

func writeError(w http.ResponseWriter, _ *http.Request, e *rest.Error) {
	details := rest.Obj{"type": e.Kind, "message": e.Message, "detail": ""}
	rest.WriteJSON(w, e.Status, rest.Obj{"NeutronError": details})
}
