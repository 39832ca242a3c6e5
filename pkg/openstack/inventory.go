package openstack

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Inventory implements lcm.Infra. It changes nothing in the VIM.
func (d *Driver) Inventory(ctx context.Context, w *lcm.Work) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	desired, req, err := d.assemble(w)
	if err != nil {
		return err
	}
	seen, err := j.look(ctx, desired)
	if err != nil {
		return j.settle(err)
	}
	before := w.Instance.Instantiated
	b := builder{w: w, vim: j.vim, seen: seen, req: req, before: before}
	w.Instance.Instantiated = b.info()
	w.Instance.Inventory = b.resources()
	w.Op.ResourceChanges = changes(sol.ChangeTypeAdded, w.Instance.Instantiated)
	return nil
}

// sight is all that was read from the VIM for one inventory.
type sight struct {
	stack   stack
	project string
	nfv     map[string]any
	tree    tree
	servers map[string]server
	ports   map[string]port
	floats  map[string]floatingIP
}

// server is what Nova says about a server.
type server struct {
	ID        string `json:"id"`
	Zone      string `json:"OS-EXT-AZ:availability_zone"`
	Host      string `json:"OS-EXT-SRV-ATTR:host"` // administrators only
	Addresses map[string][]struct {
		Addr string `json:"addr"`
		MAC  string `json:"OS-EXT-IPS-MAC:mac_addr"`
		Type string `json:"OS-EXT-IPS:type"`
	} `json:"addresses"`
}

// port is what Neutron says about a port.
type port struct {
	ID       string `json:"id"`
	Network  string `json:"network_id"`
	MAC      string `json:"mac_address"`
	Device   string `json:"device_id"`
	FixedIPs []struct {
		IP     string `json:"ip_address"`
		Subnet string `json:"subnet_id"`
	} `json:"fixed_ips"`
}

// floatingIP is what Neutron says about a floating address.
type floatingIP struct {
	ID      string `json:"id"`
	Address string `json:"floating_ip_address"`
	Network string `json:"floating_network_id"`
	Port    string `json:"port_id"`
}

// look reads the stack and everything in it: a handful of calls, however many VNFCs there are.
func (j *job) look(ctx context.Context, desired *userdata.Stack) (*sight, error) {
	name := j.stackName()
	st, err := j.findStack(ctx, name)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the stack %s is not in the VIM %s any more", name, j.conn.base).
			WithHint("roll the operation back, or retry it after the stack has been restored")
	}
	out := &sight{stack: *st, project: first(j.conn.project, j.project)}
	var created time.Time
	err = parallel(ctx,
		func(ctx context.Context) error {
			all, err := j.listResources(ctx, st)
			out.tree = newTree(st, all)
			return err
		},
		func(ctx context.Context) (err error) {
			out.nfv, created, err = j.stackParameters(ctx, st, desired)
			return err
		})
	if err != nil {
		return nil, err
	}
	err = parallel(ctx,
		func(ctx context.Context) (err error) {
			out.servers, err = j.readServers(ctx, out.tree.ids("OS::Nova::Server"), created)
			return err
		},
		func(ctx context.Context) (err error) {
			out.ports, err = list(ctx, j, "ports", out.tree.ids("OS::Neutron::Port"),
				[]string{"id", "network_id", "mac_address", "device_id", "fixed_ips"}, func(p port) string { return p.ID })
			return err
		},
		func(ctx context.Context) (err error) {
			out.floats, err = list(ctx, j, "floatingips", out.tree.ids("OS::Neutron::FloatingIP"), nil, func(f floatingIP) string { return f.ID })
			return err
		})
	return out, err
}

// parallel runs calls at the same time and returns the first failure.
func parallel(ctx context.Context, calls ...func(context.Context) error) error {
	return lcm.Each(ctx, 0, calls, func(ctx context.Context, call func(context.Context) error) error { return call(ctx) })
}

// stackParameters reads nfv as Heat has it. Where Heat hides it, what was sent is taken.
func (j *job) stackParameters(ctx context.Context, st *stack, desired *userdata.Stack) (map[string]any, time.Time, error) {
	var out struct {
		Stack struct {
			Created    string         `json:"creation_time"`
			Parameters map[string]any `json:"parameters"`
		} `json:"stack"`
	}
	err := j.do(ctx, call{
		what: "read stack " + st.Name, service: heat, method: http.MethodGet,
		path: "/stacks/" + segment(st.Name) + "/" + segment(st.ID) + "?resolve_outputs=False", out: &out,
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	created, _ := time.Parse(time.RFC3339, out.Stack.Created)
	nfv := decodeNFV(out.Stack.Parameters["nfv"])
	if nfv == nil {
		nfv = plain(desired.NFV)
	}
	return userdata.Compact(nfv), created, nil
}

// serversPerPage and maxPages bound the list of a project's servers; who is not on it is read alone.
const (
	serversPerPage = 500
	maxPages       = 4
)

// readServers reads servers by id. Nova has no filter for several ids, so the servers that changed since the stack began are listed.
func (j *job) readServers(ctx context.Context, ids []string, since time.Time) (map[string]server, error) {
	found := map[string]server{}
	if len(ids) > 1 {
		if err := j.listServers(ctx, ids, since, found); err != nil {
			return nil, err
		}
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := found[id]; return ok })
	single := make([]*server, len(missing))
	err := lcm.Each(ctx, 8, missing, func(ctx context.Context, id string) error {
		var out struct {
			Server server `json:"server"`
		}
		err := j.do(ctx, call{what: "read server " + id, service: nova, method: http.MethodGet, path: "/servers/" + segment(id), out: &out})
		if err == nil {
			single[slices.Index(missing, id)] = &out.Server
		} else if notFound(err) {
			err = nil // Heat still names it, but it is gone
		}
		return err
	})
	for _, s := range single {
		if s != nil {
			found[s.ID] = *s
		}
	}
	return found, err
}

func (j *job) listServers(ctx context.Context, ids []string, since time.Time, found map[string]server) error {
	q := url.Values{"limit": {strconv.Itoa(serversPerPage)}}
	if !since.IsZero() { // the clocks of Heat and Nova may differ a little
		q.Set("changes-since", since.Add(-10*time.Minute).UTC().Format("2006-01-02T15:04:05Z"))
	}
	for range maxPages {
		var out struct {
			Servers []server `json:"servers"`
		}
		if err := j.do(ctx, call{what: "list servers", service: nova, method: http.MethodGet, path: "/servers/detail?" + q.Encode(), out: &out}); err != nil {
			return err
		}
		for _, s := range out.Servers {
			if slices.Contains(ids, s.ID) {
				found[s.ID] = s
			}
		}
		if len(found) == len(ids) || len(out.Servers) < serversPerPage {
			return nil
		}
		q.Set("marker", out.Servers[len(out.Servers)-1].ID)
	}
	return nil
}

// list reads objects of Neutron by id.
func list[T any](ctx context.Context, j *job, kind string, ids, fields []string, id func(T) string) (map[string]T, error) {
	found := make(map[string]T, len(ids))
	err := byIDs(ids, url.Values{"fields": fields}, func(query string) error {
		out := map[string][]T{}
		err := j.do(ctx, call{what: fmt.Sprintf("list %d %s", len(ids), kind), service: neutron, method: http.MethodGet, path: "/" + kind + query, out: &out})
		for _, o := range out[kind] {
			found[id(o)] = o
		}
		return err
	})
	return found, err
}
