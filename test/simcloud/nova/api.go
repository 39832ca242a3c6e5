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
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError, a.Header, a.Before = writeError, writeVersion, checkVersion
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
	a.Handle("POST /v2.1/servers", s.create)
	server := func(pattern string, h func(c *rest.Call, srv *Server) (int, any, error)) {
		a.Handle(pattern, func(c *rest.Call) (int, any, error) {
			srv, err := s.Server(c.Caller, c.Path("id"))
			if err != nil {
				return 0, nil, err
			}
			return h(c, srv)
		})
	}
	server("GET /v2.1/servers/{id}", func(c *rest.Call, srv *Server) (int, any, error) {
		return http.StatusOK, rest.Obj{"server": s.View(srv, c.Caller, minor(c.R))}, nil
	})
	server("PUT /v2.1/servers/{id}", s.rename)
	server("DELETE /v2.1/servers/{id}", func(c *rest.Call, srv *Server) (int, any, error) {
		return http.StatusNoContent, nil, s.Delete(c.Caller, srv.ID)
	})
	server("POST /v2.1/servers/{id}/action", s.action)
	server("GET /v2.1/servers/{id}/ips", func(_ *rest.Call, srv *Server) (int, any, error) {
		return http.StatusOK, rest.Obj{"addresses": s.Addresses(srv)}, nil
	})
	s.registerMetadata(server)
	s.registerInterfaces(server)
	s.registerVolumes(a)
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
			rest.OneOf(q, "image", srv.ImageID) &&
			rest.OneOf(q, "flavor", srv.Flavor.ID) && rest.OneOf(q, "host", srv.Host) &&
			rest.OneOf(q, "uuid", srv.ID) &&
			rest.OneOf(q, "availability_zone", srv.Zone) && (!all || rest.OneOf(q, "project_id", srv.Project)) &&
			rest.TagsMatch(srv.Tags, q.Get("tags"), q.Get("tags-any"), q.Get("not-tags"), q.Get("not-tags-any")) {
			found = append(found, srv)
		}
	}
	slices.Reverse(found) // newest first
	page, more, err := rest.Page(found, q, func(srv *Server) string { return srv.ID })
	if err != nil {
		return 0, nil, err
	}
	views := make([]rest.Obj, 0, len(page))
	for _, srv := range page {
		if detail {
			views = append(views, s.View(srv, c.Caller, minor(c.R)))
		} else {
			views = append(views, rest.Obj{"id": srv.ID, "name": srv.Name, "links": s.links("servers", srv.ID)})
		}
	}
	out := rest.Obj{"servers": views}
	if more {
		out["servers_links"] = []rest.Obj{
			{"rel": "next", "href": rest.NextURL(s.world.BaseURL, c.R, page[len(page)-1].ID)},
		}
	}
	return http.StatusOK, out, nil
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
		return nil, since, badRequest(
			"Invalid input for query parameters name. Value: %s. Invalid regular expression", c.Query.Get("name"),
		)
	}
	if v := c.Query.Get("changes-since"); v != "" {
		if since, err = time.Parse(time.RFC3339, v); err != nil {
			return nil, since, badRequest(
				"Invalid input for query parameters changes-since. Value: %s. '%s' is not a 'date-time'", v, v,
			)
		}
	}
	return named, since, nil
}

func (s *Service) create(c *rest.Call) (int, any, error) {
	var req struct {
		Server *Spec `json:"server"`
		Hints  struct {
			Group string `json:"group"`
		} `json:"os:scheduler_hints"`
		Hints2 struct {
			Group string `json:"group"`
		} `json:"OS-SCH-HNT:scheduler_hints"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if req.Server == nil {
		return 0, nil, badRequest("Invalid input for field/attribute server. 'server' is a required property")
	}
	req.Server.Group = req.Hints.Group + req.Hints2.Group
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

func (s *Service) rename(c *rest.Call, srv *Server) (int, any, error) {
	var req struct {
		Server struct {
			Name        *string `json:"name"`
			Description *string `json:"description"`
		} `json:"server"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if req.Server.Name != nil {
		srv.Name = *req.Server.Name
	}
	if req.Server.Description != nil {
		srv.Description = *req.Server.Description
	}
	s.touch(srv)
	return http.StatusOK, rest.Obj{"server": s.View(srv, c.Caller, minor(c.R))}, nil
}

func (s *Service) action(c *rest.Call, srv *Server) (int, any, error) {
	var req map[string]json.RawMessage
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	arg := func(into any) { _ = json.Unmarshal(first(req), into) } // members that are missing stay zero
	name := ""
	for name = range req {
	}
	switch name {
	case "os-start":
		return http.StatusAccepted, nil, s.PowerOn(srv)
	case "os-stop":
		return http.StatusAccepted, nil, s.PowerOff(srv)
	case "reboot":
		var v struct {
			Type string `json:"type"`
		}
		arg(&v)
		return http.StatusAccepted, nil, s.Reboot(srv, v.Type == "HARD")
	case "rebuild":
		var v struct {
			ImageRef string `json:"imageRef"`
		}
		arg(&v)
		if err := s.Rebuild(c.Caller, srv, v.ImageRef); err != nil {
			return 0, nil, err
		}
		return http.StatusAccepted, rest.Obj{"server": s.View(srv, c.Caller, minor(c.R))}, nil
	case "resize":
		var v struct {
			FlavorRef string `json:"flavorRef"`
		}
		arg(&v)
		return http.StatusAccepted, nil, s.Resize(srv, v.FlavorRef)
	case "confirmResize":
		return http.StatusNoContent, nil, nil
	case "forceDelete":
		return http.StatusAccepted, nil, s.Delete(c.Caller, srv.ID)
	case "os-resetState":
		var v struct {
			State string `json:"state"`
		}
		arg(&v)
		srv.Status, srv.VMState = strings.ToUpper(v.State), v.State
		return http.StatusAccepted, nil, nil
	case "os-getConsoleOutput":
		var v struct {
			Length json.Number `json:"length"`
		}
		arg(&v)
		lines, _ := v.Length.Int64()
		out := ""
		if f, ok := s.world.Fleet.(fleet.ConsoleMachines); ok {
			out = f.Console(srv.ID, int(lines))
		}
		return http.StatusOK, rest.Obj{"output": out}, nil
	}
	return 0, nil, badRequest("There is no such action: %s", name)
}

func first(m map[string]json.RawMessage) json.RawMessage {
	for _, v := range m {
		return v
	}
	return nil
}

func (s *Service) registerMetadata(server func(string, func(*rest.Call, *Server) (int, any, error))) {
	view := func(srv *Server) rest.Obj {
		out := rest.Obj{}
		for k, v := range srv.Metadata {
			out[k] = v
		}
		return rest.Obj{"metadata": out}
	}
	set := func(replace bool) func(c *rest.Call, srv *Server) (int, any, error) {
		return func(c *rest.Call, srv *Server) (int, any, error) {
			var req struct {
				Metadata map[string]string `json:"metadata"`
			}
			if err := c.Decode(&req); err != nil {
				return 0, nil, err
			}
			if replace || srv.Metadata == nil {
				srv.Metadata = map[string]string{}
			}
			maps.Copy(srv.Metadata, req.Metadata)
			s.touch(srv)
			return http.StatusOK, view(srv), nil
		}
	}
	server("GET /v2.1/servers/{id}/metadata", func(_ *rest.Call, srv *Server) (int, any, error) {
		return http.StatusOK, view(srv), nil
	})
	server("PUT /v2.1/servers/{id}/metadata", set(true))
	server("POST /v2.1/servers/{id}/metadata", set(false))
	server("DELETE /v2.1/servers/{id}/metadata/{key}", func(c *rest.Call, srv *Server) (int, any, error) {
		if _, ok := srv.Metadata[c.Path("key")]; !ok {
			return 0, nil, notFound("Metadata item was not found")
		}
		delete(srv.Metadata, c.Path("key"))
		return http.StatusNoContent, nil, nil
	})
	server("GET /v2.1/servers/{id}/tags", func(_ *rest.Call, srv *Server) (int, any, error) {
		return http.StatusOK, rest.Obj{"tags": rest.Strings(srv.Tags)}, nil
	})
	server("PUT /v2.1/servers/{id}/tags", func(c *rest.Call, srv *Server) (int, any, error) {
		var req struct {
			Tags []string `json:"tags"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		srv.Tags = req.Tags
		return http.StatusOK, rest.Obj{"tags": rest.Strings(srv.Tags)}, nil
	})
}

func (s *Service) registerInterfaces(server func(string, func(*rest.Call, *Server) (int, any, error))) {
	view := func(p *neutron.Port) rest.Obj {
		ips := []rest.Obj{}
		for _, f := range p.FixedIPs {
			ips = append(ips, rest.Obj{"subnet_id": f.SubnetID, "ip_address": f.IP.String()})
		}
		return rest.Obj{
			"port_id": p.ID, "net_id": p.NetworkID, "mac_addr": p.MAC, "port_state": p.Status, "fixed_ips": ips,
		}
	}
	server("GET /v2.1/servers/{id}/os-interface", func(_ *rest.Call, srv *Server) (int, any, error) {
		out := []rest.Obj{}
		for _, r := range srv.Ports {
			if p := s.network.Ports.Get(r.ID); p != nil {
				out = append(out, view(p))
			}
		}
		return http.StatusOK, rest.Obj{"interfaceAttachments": out}, nil
	})
	server("POST /v2.1/servers/{id}/os-interface", func(c *rest.Call, srv *Server) (int, any, error) {
		var req struct {
			A struct {
				PortID string `json:"port_id"`
				NetID  string `json:"net_id"`
			} `json:"interfaceAttachment"`
		}
		if err := c.Decode(&req); err != nil {
			return 0, nil, err
		}
		p, err := s.AttachPort(c.Caller, srv, NetworkRef{Port: req.A.PortID, UUID: req.A.NetID})
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, rest.Obj{"interfaceAttachment": view(p)}, nil
	})
	server("DELETE /v2.1/servers/{id}/os-interface/{port}", func(c *rest.Call, srv *Server) (int, any, error) {
		return http.StatusAccepted, nil, s.DetachPort(srv, c.Path("port"))
	})
}
