package simcloud

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
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

// State is every object of every service by kind: stacks (nested ones included), servers, server_groups, keypairs,
// networks, subnets, ports, floatingips, routers, security_groups, volumes, images.
type State map[string][]Object

// State returns what exists now.
func (c *Cloud) State() State {
	c.world.Lock()
	defer c.world.Unlock()
	s := State{}
	add := func(kind string, o Object) { s[kind] = append(s[kind], o) }
	for _, kind := range []string{
		"stacks", "servers", "server_groups", "keypairs", "networks", "subnets", "ports",
		"floatingips", "routers", "security_groups", "volumes", "images",
	} {
		s[kind] = []Object{}
	}
	for _, st := range c.heat.Stacks.All() {
		add("stacks", Object{
			ID: st.ID, Name: st.Name, Project: st.Caller.ProjectID, Status: st.Action + "_" + st.Status,
			Detail: st.Reason,
		})
	}
	for _, v := range c.nova.Servers.All() {
		add("servers", Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status, Detail: v.Host})
	}
	for _, v := range c.nova.Groups.All() {
		add("server_groups", Object{ID: v.ID, Name: v.Name, Project: v.Project, Detail: v.Policy})
	}
	for _, v := range c.nova.KeyPairs.All() {
		add("keypairs", Object{ID: v.Name, Name: v.Name, Detail: v.Fingerprint})
	}
	for _, v := range c.neutron.Networks.All() {
		add("networks", Object{ID: v.ID, Name: v.Name, Project: v.Project})
	}
	for _, v := range c.neutron.Subnets.All() {
		add("subnets", Object{ID: v.ID, Name: v.Name, Project: v.Project, Detail: v.CIDR.String()})
	}
	for _, v := range c.neutron.Ports.All() {
		var ips []string
		for _, f := range v.FixedIPs {
			ips = append(ips, f.IP.String())
		}
		add("ports", Object{
			ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status, Detail: strings.Join(ips, ","),
		})
	}
	for _, v := range c.neutron.FloatingIPs.All() {
		add("floatingips", Object{
			ID: v.ID, Name: v.IP.String(), Project: v.Project, Status: v.Status, Detail: v.PortID,
		})
	}
	for _, v := range c.neutron.Routers.All() {
		add("routers", Object{ID: v.ID, Name: v.Name, Project: v.Project})
	}
	for _, v := range c.neutron.Groups.All() {
		add("security_groups", Object{ID: v.ID, Name: v.Name, Project: v.Project})
	}
	for _, v := range c.cinder.Volumes.All() {
		add("volumes", Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status})
	}
	for _, v := range c.glance.Images.All() {
		add("images", Object{ID: v.ID, Name: v.Name, Project: v.Project, Status: v.Status})
	}
	return s
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
