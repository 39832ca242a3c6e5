package simcloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/nova"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Info is what a client needs to use the cloud.
type Info struct {
	URL           string `json:"url"`
	AuthURL       string `json:"auth_url"`
	Region        string `json:"region"`
	Username      string `json:"username"`
	Password      string `json:"password"`
	Project       string `json:"project"`
	ProjectID     string `json:"project_id"`
	ProjectDomain string `json:"project_domain"`
	UserDomain    string `json:"user_domain"`
	Net0ID        string `json:"net0_id"`
	Subnet0ID     string `json:"subnet0_id"`
	PublicID      string `json:"public_id"`
	Block         string `json:"block"`
	// CA is the authority's certificate in PEM; empty without TLS.
	CA string `json:"ca,omitempty"`
}

// Info returns what a client needs to use the cloud.
func (c *Cloud) Info() Info {
	return Info{
		URL: c.url, AuthURL: c.AuthURL(), Region: c.opts.Region, Username: Username, Password: Password,
		Project: Project, ProjectID: c.ProjectID(), ProjectDomain: Domain, UserDomain: Domain, Net0ID: net0ID,
		Subnet0ID: subnet0ID, PublicID: publicID, Block: c.block.Prefix().String(), CA: string(c.CA()),
	}
}

// registerControl adds the routes of the control API.
func (c *Cloud) registerControl(mux *http.ServeMux) {
	show := func(pattern string, get func(r *http.Request) (any, error)) {
		mux.HandleFunc("GET /sim/"+pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := get(r)
			answerControl(w, http.StatusOK, v, err)
		})
	}
	do := func(pattern string, act func(r *http.Request) error) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /sim/"+path, func(w http.ResponseWriter, r *http.Request) {
			answerControl(w, http.StatusNoContent, nil, act(r))
		})
	}
	show("info", func(*http.Request) (any, error) { return c.Info(), nil })
	show("state", func(*http.Request) (any, error) {
		return rest.Obj{"objects": c.State(), "machines": c.Machines(), "tokens": c.keystone.TokenCount("")}, nil
	})
	show("calls", func(*http.Request) (any, error) {
		return rest.Obj{"calls": c.Calls(), "total": c.CallsTo("")}, nil
	})
	show("faults", func(*http.Request) (any, error) { return rest.Obj{"faults": c.Faults().List()}, nil })
	show("faults/{id}", func(r *http.Request) (any, error) {
		rule, ok := c.Faults().Get(r.PathValue("id"))
		if !ok {
			return nil, rest.Errorf(http.StatusNotFound, "", "no fault %s", r.PathValue("id"))
		}
		return rule, nil
	})
	show("timing", func(*http.Request) (any, error) { return c.world.Timing.Get(), nil })
	show("heat/engine", func(*http.Request) (any, error) { return rest.Obj{"state": c.heat.Engine()}, nil })
	show("hosts", func(*http.Request) (any, error) { return rest.Obj{"hosts": c.Hosts()}, nil })
	show("machines", func(*http.Request) (any, error) { return rest.Obj{"machines": c.Machines()}, nil })

	do("POST reset", func(*http.Request) error { return c.Reset() })
	do("DELETE calls", func(*http.Request) error {
		c.ResetCalls()
		return nil
	})
	do("DELETE faults", func(*http.Request) error {
		c.Faults().Clear()
		return nil
	})
	do("DELETE faults/{id}", func(r *http.Request) error {
		if !c.Faults().Remove(r.PathValue("id")) {
			return rest.Errorf(http.StatusNotFound, "", "no fault %s", r.PathValue("id"))
		}
		return nil
	})
	do("POST tokens/expire", func(*http.Request) error {
		c.ExpireTokens()
		return nil
	})
	do("POST machines/{id}/{action}", func(r *http.Request) error {
		return c.MachineAction(r.Context(), r.PathValue("id"), r.PathValue("action"))
	})
	c.registerSettings(mux)
	if h, ok := c.world.Fleet.(http.Handler); ok {
		mux.Handle("/sim/fleet/", http.StripPrefix("/sim/fleet", h))
	}
	mux.HandleFunc("/sim/", func(w http.ResponseWriter, _ *http.Request) {
		rest.WriteJSON(w, http.StatusNotFound, rest.Obj{"error": "no such control call"})
	})
}

// registerSettings adds the routes of the control API that take a body.
func (c *Cloud) registerSettings(mux *http.ServeMux) {
	handleBody(mux, "POST /sim/faults", http.StatusCreated, func(_ *http.Request, rule Fault) (any, error) {
		id, err := c.Faults().Add(rule)
		return rest.Obj{"id": id}, err
	})
	handleBody(mux, "PUT /sim/timing", http.StatusOK, func(_ *http.Request, t Timing) (any, error) {
		c.SetTiming(t)
		return c.world.Timing.Get(), nil
	})
	handleBody(mux, "PATCH /sim/timing", http.StatusOK, func(_ *http.Request, t Timing) (any, error) {
		c.MergeTiming(t)
		return c.world.Timing.Get(), nil
	})
	type tokens struct {
		TTL Duration `json:"ttl"`
	}
	handleBody(mux, "PUT /sim/tokens", http.StatusNoContent, func(_ *http.Request, t tokens) (any, error) {
		c.SetTokenTTL(time.Duration(t.TTL))
		return nil, nil
	})
	type limits map[string]int
	handleBody(mux, "PUT /sim/quotas/{service}", http.StatusNoContent, func(r *http.Request, l limits) (any, error) {
		return nil, c.SetQuota(r.PathValue("service"), l)
	})
	type engine struct {
		State string `json:"state"`
	}
	handleBody(mux, "PUT /sim/heat/engine", http.StatusNoContent, func(_ *http.Request, e engine) (any, error) {
		return nil, c.heat.SetEngine(e.State)
	})
	type hosts struct {
		Hosts []Host `json:"hosts"`
	}
	handleBody(mux, "PUT /sim/hosts", http.StatusNoContent, func(_ *http.Request, h hosts) (any, error) {
		c.SetHosts(h.Hosts)
		return nil, nil
	})
}

// handleBody adds a route that takes a JSON body without unknown members, and is answered with status.
func handleBody[T any](mux *http.ServeMux, pattern string, status int, h func(r *http.Request, body T) (any, error)) {
	const limit = 1 << 20
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var body T
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&body); err != nil {
			answerControl(w, 0, nil, fmt.Errorf("read the request: %w", err))
			return
		}
		v, err := h(r, body)
		answerControl(w, status, v, err)
	})
}

func answerControl(w http.ResponseWriter, status int, v any, err error) {
	if err != nil {
		status, v = http.StatusBadRequest, rest.Obj{"error": err.Error()}
		if e, ok := errors.AsType[*rest.Error](err); ok {
			status = e.Status
		}
	}
	rest.WriteJSON(w, status, v)
}

// SetQuota sets limits of the project nfv in "nova" (instances, cores, ram, server_groups), "neutron" (network, subnet,
// port, router, floatingip, security_group) or "cinder" (volumes, gigabytes). -1 is no limit.
func (c *Cloud) SetQuota(service string, limits map[string]int) error {
	c.world.Lock()
	defer c.world.Unlock()
	services := map[string]*rest.Quotas{"nova": c.nova.Quotas, "neutron": c.neutron.Quotas, "cinder": c.cinder.Quotas}
	quotas, ok := services[service]
	if !ok {
		return rest.Errorf(http.StatusNotFound, "", "quotas are those of nova, neutron and cinder; have %q", service)
	}
	return quotas.Set(c.ProjectID(), limits)
}

// Hosts returns the compute hosts.
func (c *Cloud) Hosts() []Host {
	c.world.Lock()
	defer c.world.Unlock()
	var out []Host
	for _, h := range c.nova.Hosts {
		out = append(out, *h)
	}
	return out
}

// SetHosts replaces the compute hosts; servers stay where they are.
func (c *Cloud) SetHosts(hosts []Host) {
	c.world.Lock()
	defer c.world.Unlock()
	c.nova.SetHosts(hosts)
}

// MachineAction does something to a server's machine, named by the server's id or, if only one has it, its name: "kill"
// (power cut that Nova does not notice), "unreachable" and "reachable" (the network), "power_off", "power_on" and
// "reboot" (as through Nova).
func (c *Cloud) MachineAction(ctx context.Context, server, action string) error {
	srv, err := c.serverOf(server)
	if err != nil {
		return err
	}
	ctl, ok := c.world.Fleet.(fleet.MachineControl)
	switch action {
	case "kill", "unreachable", "reachable":
		if !ok {
			return rest.Errorf(http.StatusNotImplemented, "", "the cloud's servers have no inside")
		}
		if action == "kill" {
			return ctl.Kill(srv.ID)
		}
		return ctl.Unreachable(srv.ID, action == "unreachable")
	}
	c.world.Lock()
	switch action {
	case "power_off":
		err = c.nova.PowerOff(srv)
	case "power_on":
		err = c.nova.PowerOn(srv)
	case "reboot":
		err = c.nova.Reboot(srv, true)
	default:
		err = rest.Errorf(http.StatusNotFound, "", "no machine action %q", action)
	}
	settled := srv.Settled
	c.world.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Cloud) serverOf(idOrName string) (*nova.Server, error) {
	c.world.Lock()
	defer c.world.Unlock()
	if srv := c.nova.Servers.Get(idOrName); srv != nil {
		return srv, nil
	}
	byName := c.nova.Servers.Filter(func(s *nova.Server) bool { return s.Name == idOrName })
	if len(byName) != 1 {
		return nil, rest.Errorf(http.StatusNotFound, "", "%d servers are called %q", len(byName), idOrName)
	}
	return byName[0], nil
}
