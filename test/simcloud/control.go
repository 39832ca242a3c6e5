package simcloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
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

// controlHandler does one control call and returns status and body.
type controlHandler func(r *http.Request, body []byte) (int, any, error)

func (c *Cloud) registerControl(mux *http.ServeMux) {
	handle := func(pattern string, h controlHandler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			const limit = 1 << 20
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
			status, v := http.StatusBadRequest, any(nil)
			if err == nil {
				status, v, err = h(r, body)
			}
			if err != nil {
				if e, ok := errors.AsType[*rest.Error](err); ok {
					status = e.Status
				} else if status < http.StatusBadRequest {
					status = http.StatusBadRequest
				}
				v = rest.Obj{"error": err.Error()}
			}
			rest.WriteJSON(w, status, v)
		})
	}
	handle("GET /sim/info", func(*http.Request, []byte) (int, any, error) { return http.StatusOK, c.Info(), nil })
	handle("GET /sim/state", func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, rest.Obj{
			"objects": c.State(), "machines": c.Machines(), "tokens": c.keystone.TokenCount(),
		}, nil
	})
	handle("GET /sim/calls", func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, rest.Obj{"calls": c.Calls(), "total": c.CallsTo("")}, nil
	})
	handle("DELETE /sim/calls", func(*http.Request, []byte) (int, any, error) {
		c.ResetCalls()
		return http.StatusNoContent, nil, nil
	})
	handle("POST /sim/reset", func(*http.Request, []byte) (int, any, error) {
		return http.StatusNoContent, nil, c.Reset()
	})
	c.controlFaults(handle)
	c.controlSettings(handle)
	c.controlMachines(handle)
	if h, ok := c.world.Fleet.(http.Handler); ok {
		mux.Handle("/sim/fleet/", http.StripPrefix("/sim/fleet", h))
	}
	mux.HandleFunc("/sim/", func(w http.ResponseWriter, _ *http.Request) {
		rest.WriteJSON(w, http.StatusNotFound, rest.Obj{"error": "no such control call"})
	})
}

func (c *Cloud) controlFaults(handle func(string, controlHandler)) {
	handle("GET /sim/faults", func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, rest.Obj{"faults": c.Faults().List()}, nil
	})
	handle("POST /sim/faults", func(_ *http.Request, body []byte) (int, any, error) {
		var rule Fault
		if err := strict(body, &rule); err != nil {
			return 0, nil, err
		}
		id, err := c.Faults().Add(rule)
		if err != nil {
			return 0, nil, err //nolint:wrapcheck // shown as it is
		}
		return http.StatusCreated, rest.Obj{"id": id}, nil
	})
	handle("GET /sim/faults/{id}", func(r *http.Request, _ []byte) (int, any, error) {
		rule, ok := c.Faults().Get(r.PathValue("id"))
		if !ok {
			return 0, nil, rest.Errorf(http.StatusNotFound, "", "no fault %s", r.PathValue("id"))
		}
		return http.StatusOK, rule, nil
	})
	handle("DELETE /sim/faults/{id}", func(r *http.Request, _ []byte) (int, any, error) {
		if !c.Faults().Remove(r.PathValue("id")) {
			return 0, nil, rest.Errorf(http.StatusNotFound, "", "no fault %s", r.PathValue("id"))
		}
		return http.StatusNoContent, nil, nil
	})
	handle("DELETE /sim/faults", func(*http.Request, []byte) (int, any, error) {
		c.Faults().Clear()
		return http.StatusNoContent, nil, nil
	})
}

func (c *Cloud) controlSettings(handle func(string, controlHandler)) {
	handle("GET /sim/timing", func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, c.world.Timing.Get(), nil
	})
	set := func(replace bool) controlHandler {
		return func(_ *http.Request, body []byte) (int, any, error) {
			var t Timing
			if err := strict(body, &t); err != nil {
				return 0, nil, err
			}
			if replace {
				c.SetTiming(t)
			} else {
				c.MergeTiming(t)
			}
			return http.StatusOK, c.world.Timing.Get(), nil
		}
	}
	handle("PUT /sim/timing", set(true))
	handle("PATCH /sim/timing", set(false))
	handle("POST /sim/tokens/expire", func(*http.Request, []byte) (int, any, error) {
		c.ExpireTokens()
		return http.StatusNoContent, nil, nil
	})
	handle("PUT /sim/tokens", func(_ *http.Request, body []byte) (int, any, error) {
		var t struct {
			TTL Duration `json:"ttl"`
		}
		if err := strict(body, &t); err != nil {
			return 0, nil, err
		}
		c.SetTokenTTL(time.Duration(t.TTL))
		return http.StatusNoContent, nil, nil
	})
	handle("PUT /sim/quotas/{service}", func(r *http.Request, body []byte) (int, any, error) {
		limits := map[string]int{}
		if err := strict(body, &limits); err != nil {
			return 0, nil, err
		}
		return http.StatusNoContent, nil, c.SetQuota(r.PathValue("service"), limits)
	})
	handle("GET /sim/heat/engine", func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, rest.Obj{"state": c.heat.Engine()}, nil
	})
	handle("PUT /sim/heat/engine", func(_ *http.Request, body []byte) (int, any, error) {
		var e struct {
			State string `json:"state"`
		}
		if err := strict(body, &e); err != nil {
			return 0, nil, err
		}
		return http.StatusNoContent, nil, c.heat.SetEngine(e.State)
	})
	handle("GET /sim/hosts", func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, rest.Obj{"hosts": c.Hosts()}, nil
	})
	handle("PUT /sim/hosts", func(_ *http.Request, body []byte) (int, any, error) {
		var h struct {
			Hosts []Host `json:"hosts"`
		}
		if err := strict(body, &h); err != nil {
			return 0, nil, err
		}
		c.SetHosts(h.Hosts)
		return http.StatusNoContent, nil, nil
	})
}

// SetQuota sets limits of the project nfv in "nova" (instances, cores, ram, server_groups), "neutron" (network, subnet,
// port, router, floatingip, security_group) or "cinder" (volumes, gigabytes). -1 is no limit.
func (c *Cloud) SetQuota(service string, limits map[string]int) error {
	c.world.Lock()
	defer c.world.Unlock()
	switch service {
	case "nova":
		return c.nova.SetQuota(c.ProjectID(), limits) //nolint:wrapcheck // shown as it is
	case "neutron":
		return c.neutron.SetQuota(c.ProjectID(), limits) //nolint:wrapcheck // shown as it is
	case "cinder":
		return c.cinder.SetQuota(c.ProjectID(), limits) //nolint:wrapcheck // shown as it is
	}
	return rest.Errorf(http.StatusNotFound, "", "quotas are those of nova, neutron and cinder; have %q", service)
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

func (c *Cloud) controlMachines(handle func(string, controlHandler)) {
	handle("GET /sim/machines", func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, rest.Obj{"machines": c.Machines()}, nil
	})
	handle("POST /sim/machines/{id}/{action}", func(r *http.Request, _ []byte) (int, any, error) {
		return http.StatusNoContent, nil, c.MachineAction(r.Context(), r.PathValue("id"), r.PathValue("action"))
	})
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
			return ctl.Kill(srv.ID) //nolint:wrapcheck // shown as it is
		}
		return ctl.Unreachable(srv.ID, action == "unreachable") //nolint:wrapcheck // shown as it is
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
		return err //nolint:wrapcheck // shown as it is
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

// strict reads JSON and refuses unknown members.
func strict(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return rest.Errorf(http.StatusBadRequest, "", "read the request: %v", err)
	}
	return nil
}
