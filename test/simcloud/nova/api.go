package nova

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError, a.Header, a.Before = rest.WriteFault, writeVersion, checkVersion
	version := rest.Obj{
		"id": "v2.1", "status": "CURRENT", "version": "2." + strconv.Itoa(maxMinor), "min_version": "2.1",
		"updated": "2013-07-23T11:33:21Z",
		"links":   []rest.Obj{{"rel": "self", "href": s.world.BaseURL + a.Prefix + "/v2.1/"}},
	}
	a.HandlePublic("GET /{$}", func(*rest.Call) (int, any, error) {
		return http.StatusOK, rest.Obj{"versions": []rest.Obj{version}}, nil
	})
	v21 := func(*rest.Call) (int, any, error) { return http.StatusOK, rest.Obj{"version": version}, nil }
	a.HandlePublic("GET /v2.1/{$}", v21)
	a.HandlePublic("GET /v2.1", v21)
	a.Handle("GET /v2.1/servers", func(c *rest.Call) (int, any, error) { return s.list(c, false) })
	a.Handle("GET /v2.1/servers/detail", func(c *rest.Call) (int, any, error) { return s.list(c, true) })
	a.Handle("POST /v2.1/servers", rest.WithBody(s.create))
	find := func(c *rest.Call) (*Server, error) { return s.Server(c.Caller, c.Path("id")) }
	server := func(pattern string, h func(c *rest.Call, srv *Server) (int, any, error)) {
		a.Handle(pattern, rest.On(find, h))
	}
	server("GET /v2.1/servers/{id}", func(c *rest.Call, srv *Server) (int, any, error) {
		return http.StatusOK, rest.Obj{"server": s.View(srv, c.Caller, minor(c.R))}, nil
	})
	server("DELETE /v2.1/servers/{id}", func(c *rest.Call, srv *Server) (int, any, error) {
		return http.StatusNoContent, nil, s.Delete(c.Caller, srv.ID)
	})
	server("POST /v2.1/servers/{id}/action", s.action)
	server("GET /v2.1/servers/{id}/os-interface", s.interfaces)
	s.registerVolumes(server)
	s.registerQuotas(a)
	s.registerCatalog(a)
	a.HandleNotFound("The resource could not be found.")
}

func (s *Service) list(c *rest.Call, detail bool) (int, any, error) {
	q := c.Query
	named, since, err := s.listQuery(c)
	if err != nil {
		return 0, nil, err
	}
	all := c.Admin && (rest.Bool(q.Get("all_tenants")) || q.Has("all_tenants") && q.Get("all_tenants") == "")
	servers := s.Servers.All()
	if !since.IsZero() || c.Admin && rest.Bool(q.Get("deleted")) {
		servers = append(s.deleted.All(), servers...)
	}
	var found []*Server
	for _, srv := range servers {
		if (all || srv.Project == c.ProjectID) && named.MatchString(srv.Name) && !srv.Updated.Before(since) &&
			(q.Get("status") == "" || strings.EqualFold(q.Get("status"), srv.Status)) &&
			rest.OneOf(q, "image", srv.ImageID) && rest.OneOf(q, "flavor", srv.Flavor.ID) &&
			rest.OneOf(q, "host", srv.Host) && rest.OneOf(q, "uuid", srv.ID) &&
			rest.OneOf(q, "availability_zone", srv.Zone) && (!all || rest.OneOf(q, "project_id", srv.Project)) &&
			rest.TagsMatch(srv.Tags, q.Get("tags"), q.Get("tags-any"), q.Get("not-tags"), q.Get("not-tags-any")) {
			found = append(found, srv)
		}
	}
	slices.Reverse(found) // newest first
	return rest.List(c, "servers", found, func(srv *Server) string { return srv.ID }, func(srv *Server) rest.Obj {
		if detail {
			return s.View(srv, c.Caller, minor(c.R))
		}
		return rest.Obj{"id": srv.ID, "name": srv.Name, "links": s.links("servers", srv.ID)}
	})
}

// filters are what a list of servers can be asked for.
var filters = []string{
	"all_tenants", "changes-since", "changes-before", "name", "status", "image", "flavor", "host", "uuid",
	"availability_zone", "project_id", "tenant_id", "user_id", "tags", "tags-any", "not-tags", "not-tags-any", "limit",
	"marker", "sort_key", "sort_dir", "deleted", "ip", "ip6", "hostname", "vm_state", "task_state", "power_state",
	"description", "locked", "key_name", "config_drive", "node", "reservation_id",
}

// listQuery reads the pattern of the names and the time of changes that a list asks for.
func (s *Service) listQuery(c *rest.Call) (named *regexp.Regexp, since time.Time, err error) {
	const strict = 75
	for key := range c.Query {
		if minor(c.R) >= strict && !slices.Contains(filters, key) && !strings.HasPrefix(key, "_") {
			return nil, since, badRequest("'%s' does not match any of the regexes: '^_'", key)
		}
	}
	if named, err = regexp.Compile(c.Query.Get("name")); err != nil {
		const format = "Invalid input for query parameters name. Value: %s. Invalid regular expression"
		return nil, since, badRequest(format, c.Query.Get("name"))
	}
	if v := c.Query.Get("changes-since"); v != "" {
		if since, err = time.Parse(time.RFC3339, v); err != nil {
			const format = "Invalid input for query parameters changes-since. Value: %s. '%s' is not a 'date-time'"
			return nil, since, badRequest(format, v, v)
		}
	}
	return named, since, nil
}

type createBody struct {
	Server *Spec `json:"server"`
	Hints  struct {
		Group string `json:"group"`
	} `json:"os:scheduler_hints"`
}

func (s *Service) create(c *rest.Call, req createBody) (int, any, error) {
	if req.Server == nil {
		return 0, nil, badRequest("Invalid input for field/attribute server. 'server' is a required property")
	}
	req.Server.Group = req.Hints.Group
	for _, r := range s.world.Faults.Work(fault.Work{Type: serverType, Name: req.Server.Name, Action: "create"}) {
		if r.Kind == fault.FailResource {
			req.Server.FailWith = r.Reason
		}
	}
	srv, err := s.Create(c.Caller, *req.Server)
	if err != nil {
		return 0, nil, err
	}
	c.W.Header().Set("Location", s.world.BaseURL+"/compute/v2.1/servers/"+srv.ID)
	return http.StatusAccepted, rest.Obj{"server": rest.Obj{
		"id": srv.ID, "links": s.links("servers", srv.ID), "OS-DCF:diskConfig": "MANUAL", "adminPass": srv.ID[:12],
		"security_groups": []rest.Obj{{"name": "default"}},
	}}, nil
}

func (s *Service) action(c *rest.Call, srv *Server) (int, any, error) {
	var req map[string]json.RawMessage
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	var arg struct {
		Type   string      `json:"type"`
		State  string      `json:"state"`
		Length json.Number `json:"length"`
	}
	for name, raw := range req {
		_ = json.Unmarshal(raw, &arg) // members that are missing stay zero
		switch name {
		case "os-start":
			return http.StatusAccepted, nil, s.PowerOn(srv)
		case "os-stop":
			return http.StatusAccepted, nil, s.PowerOff(srv)
		case "reboot":
			return http.StatusAccepted, nil, s.Reboot(srv, arg.Type == "HARD")
		case "createImage":
			return s.createImage(c, srv, raw)
		case "os-resetState":
			srv.Status, srv.VMState = strings.ToUpper(arg.State), arg.State
			return http.StatusAccepted, nil, nil
		case "os-getConsoleOutput":
			lines, _ := arg.Length.Int64()
			out := ""
			if f, ok := s.world.Fleet.(fleet.ConsoleMachines); ok {
				out = f.Console(srv.ID, int(lines))
			}
			return http.StatusOK, rest.Obj{"output": out}, nil
		}
	}
	return 0, nil, badRequest("There is no such action: %v", slices.Sorted(maps.Keys(req)))
}

func (s *Service) interfaces(_ *rest.Call, srv *Server) (int, any, error) {
	out := []rest.Obj{}
	for _, r := range srv.Ports {
		if p := s.network.Ports.Get(r.ID); p != nil {
			out = append(out, rest.Obj{
				"port_id": p.ID, "net_id": p.NetworkID, "mac_addr": p.MAC, "port_state": p.Status,
				"fixed_ips": p.AddressViews(),
			})
		}
	}
	return http.StatusOK, rest.Obj{"interfaceAttachments": out}, nil
}
