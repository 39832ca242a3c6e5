package simcloud

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/cinder"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/glance"
	"github.com/gybe-nfv/gybe/test/simcloud/heat"
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/nova"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Object is one object of a service, as far as comparing needs it.
type Object struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Project string `json:"project,omitempty"`
	Status  string `json:"status,omitempty"`
	// Detail is an address, a host or the like.
	Detail string `json:"detail,omitempty"`
}

// State is every object of every service by kind: stacks (nested ones included), servers, server_groups, networks,
// subnets, ports, floatingips, routers, security_groups, volumes, snapshots, images.
type State map[string][]Object

// State returns what exists now.
func (c *Cloud) State() State {
	c.world.Lock()
	defer c.world.Unlock()
	return State{
		"stacks": objects(&c.heat.Stacks, func(v *heat.Stack) Object {
			status := v.Action + "_" + v.Status
			return Object{ID: v.ID, Name: v.Name, Project: v.Caller.ProjectID, Status: status, Detail: v.Reason}
		}),
		"servers": objects(&c.nova.Servers, func(v *nova.Server) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status, Detail: v.Host}
		}),
		"server_groups": objects(&c.nova.Groups, func(v *nova.Group) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project, Detail: v.Policy}
		}),
		"networks": objects(&c.neutron.Networks, func(v *neutron.Network) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project}
		}),
		"subnets": objects(&c.neutron.Subnets, func(v *neutron.Subnet) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project, Detail: v.CIDR.String()}
		}),
		"ports": objects(&c.neutron.Ports, func(v *neutron.Port) Object {
			var ips []string
			for _, f := range v.FixedIPs {
				ips = append(ips, f.IP.String())
			}
			detail := strings.Join(ips, ",")
			return Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status, Detail: detail}
		}),
		"floatingips": objects(&c.neutron.FloatingIPs, func(v *neutron.FloatingIP) Object {
			return Object{ID: v.ID, Name: v.IP.String(), Project: v.Project, Status: v.Status, Detail: v.PortID}
		}),
		"routers": objects(&c.neutron.Routers, func(v *neutron.Router) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project}
		}),
		"security_groups": objects(&c.neutron.Groups, func(v *neutron.SecurityGroup) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project}
		}),
		"volumes": objects(&c.cinder.Volumes, func(v *cinder.Volume) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status}
		}),
		"snapshots": objects(&c.cinder.Snapshots, func(v *cinder.Snapshot) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status, Detail: v.VolumeID}
		}),
		"images": objects(&c.glance.Images, func(v *glance.Image) Object {
			return Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status}
		}),
	}
}

func objects[T any](rows *sim.Table[T], show func(*T) Object) []Object {
	out := []Object{}
	for _, v := range rows.All() {
		out = append(out, show(v))
	}
	return out
}

// Since lists what s has that before had not ("+ port 1234 name") and what is missing ("- …"); empty means that
// nothing was left behind and nothing of others was taken.
func (s State) Since(before State) []string {
	var out []string
	for kind, list := range s {
		for _, o := range list {
			if !before.has(kind, o.ID) {
				out = append(out, fmt.Sprintf("+ %s %s %s %s %s", kind, o.ID, o.Name, o.Status, o.Detail))
			}
		}
	}
	for kind, list := range before {
		for _, o := range list {
			if !s.has(kind, o.ID) {
				out = append(out, fmt.Sprintf("- %s %s %s", kind, o.ID, o.Name))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (s State) has(kind, id string) bool {
	return slices.ContainsFunc(s[kind], func(o Object) bool { return o.ID == id })
}

// Machines returns what the fleet says about its machines, by server id; nil if it does not say.
func (c *Cloud) Machines() map[string]any {
	if ctl, ok := c.world.Fleet.(fleet.MachineControl); ok {
		return ctl.Snapshot()
	}
	return nil
}

// CallCount is how often a route was called.
type CallCount struct {
	rest.Route
	Count int `json:"count"`
}

// Calls returns how often each route was called since the start or the last ResetCalls, by service, route and method.
func (c *Cloud) Calls() []CallCount {
	var out []CallCount
	for r, n := range c.calls.Snapshot() {
		out = append(out, CallCount{Route: r, Count: n})
	}
	slices.SortFunc(out, func(a, b CallCount) int {
		return strings.Compare(a.Service+a.Route.Route+a.Method, b.Service+b.Route.Route+b.Method)
	})
	return out
}

// CallsTo returns how often a service was called; an empty service counts all.
func (c *Cloud) CallsTo(service string) int {
	n := 0
	for r, k := range c.calls.Snapshot() {
		if service == "" || r.Service == service {
			n += k
		}
	}
	return n
}

// ResetCalls sets all counts to zero.
func (c *Cloud) ResetCalls() { c.calls.Reset() }
