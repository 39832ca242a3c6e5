package openstack

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// netThing is what Neutron says about a network.
type netThing struct {
	thing
	Status   string `json:"status"`
	External bool   `json:"router:external"`
}

// subnetThing is what Neutron says about a subnet.
type subnetThing struct {
	thing
	Network string `json:"network_id"`
	CIDR    string `json:"cidr"`
}

// byNameOrID lists objects of Neutron that have one of these names or ids.
func byNameOrID[T any](ctx context.Context, c *checker, kind string, names []string) ([]T, error) {
	var out []T
	for _, member := range []string{"id", "name"} {
		for chunk := range slices.Chunk(names, idsPerCall) {
			page := map[string][]T{}
			err := c.do(ctx, call{
				what: "look for " + kind, service: neutron, method: http.MethodGet, path: "/" + kind + "?" + url.Values{member: chunk}.Encode(), out: &page,
			})
			if err != nil {
				return nil, err
			}
			out = append(out, page[kind]...)
		}
	}
	return out, nil
}

// networks looks for networks and subnets, and whether the fixed addresses in them are free.
func (c *checker) networks(ctx context.Context) error {
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.need.networks, c.need.external))))
	nets, err := byNameOrID[netThing](ctx, c, "networks", names)
	if err != nil {
		return err
	}
	const wrong = "check the network ids of extVirtualLinks and the network names in the package's templates"
	ids := map[string]string{}
	for _, name := range names {
		n, ok := pick(c, "network", name, nets, func(n netThing) thing { return n.thing }, wrong)
		if !ok {
			continue
		}
		ids[name] = n.ID
		switch {
		case slices.Contains(c.need.external, name) && !n.External:
			c.add(lcm.CheckFailed, "network "+name, hint("is not a valid external network"), "it is not an external network: it has no floating addresses")
		case n.Status != "ACTIVE":
			c.add(lcm.CheckWarning, "network "+name, "", "it is %s", n.Status)
		default:
			c.add(lcm.CheckOK, "network "+name, "", "it is there: %s", n.ID)
		}
	}
	subnets, err := byNameOrID[subnetThing](ctx, c, "subnets", c.need.subnets)
	if err != nil {
		return err
	}
	for _, name := range c.need.subnets {
		if s, ok := pick(c, "subnet", name, subnets, func(s subnetThing) thing { return s.thing }, wrong); ok {
			c.add(lcm.CheckOK, "subnet "+name, "", "it is there: %s", s.CIDR)
		}
	}
	return c.addresses(ctx, ids)
}

// addresses looks whether fixed addresses are inside their networks and free. The ids of networks are by the names that the templates have.
func (c *checker) addresses(ctx context.Context, ids map[string]string) error {
	wanted := map[string][]fixedAddress{} // by the id of the network
	for _, f := range c.need.fixed {
		if id := ids[f.network]; id != "" {
			wanted[id] = append(wanted[id], f)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	type network struct {
		id     string
		wanted []fixedAddress
	}
	var nets []network
	for id, w := range wanted {
		nets = append(nets, network{id, w})
	}
	return lcm.Each(ctx, 8, nets, func(ctx context.Context, n network) error { return c.addressesOf(ctx, n.id, n.wanted) })
}

func (c *checker) addressesOf(ctx context.Context, network string, wanted []fixedAddress) error {
	var subnets struct {
		Subnets []subnetThing `json:"subnets"`
	}
	err := c.do(ctx, call{
		what: "list the subnets of network " + network, service: neutron, method: http.MethodGet, path: "/subnets?network_id=" + segment(network), out: &subnets,
	})
	if err != nil {
		return err
	}
	taken := map[string]port{}
	for chunk := range slices.Chunk(wanted, idsPerCall) {
		q := url.Values{"network_id": {network}, "fields": portFields}
		for _, f := range chunk {
			q.Add("fixed_ips", "ip_address="+f.ip)
		}
		var out struct {
			Ports []port `json:"ports"`
		}
		if err := c.do(ctx, call{what: "look for addresses in network " + network, service: neutron, method: http.MethodGet, path: "/ports?" + q.Encode(), out: &out}); err != nil {
			return err
		}
		for _, p := range out.Ports {
			for _, ip := range p.FixedIPs {
				taken[ip.IP] = p
			}
		}
	}
	for _, f := range wanted {
		subject := "address " + f.ip + " of " + f.port
		p, used := taken[f.ip]
		switch {
		case !inside(subnets.Subnets, f.ip):
			c.add(lcm.CheckFailed, subject, hint("is not a valid IP for"), "it is in none of the subnets of network %s", f.network)
		case used && !c.plan.own[p.ID]:
			c.add(lcm.CheckFailed, subject, hint("ip address already allocated"), "the port %s has it", p.ID)
		default:
			c.add(lcm.CheckOK, subject, "", "it is free, as far as the project can see")
		}
	}
	return nil
}

func inside(subnets []subnetThing, ip string) bool {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(subnets, func(s subnetThing) bool {
		p, err := netip.ParsePrefix(s.CIDR)
		return err == nil && p.Contains(a)
	})
}

// ports looks for the ports that the consumer has made, and whether they are free.
func (c *checker) ports(ctx context.Context) error {
	ports, err := byNameOrID[port](ctx, c, "ports", c.need.ports)
	if err != nil {
		return err
	}
	for _, name := range c.need.ports {
		p, ok := pick(c, "port", name, ports, func(p port) thing { return thing{p.ID, p.Name} }, hint("Unable to find port"))
		switch {
		case !ok:
		case p.Device != "" && !c.plan.own[p.Device]:
			c.add(lcm.CheckFailed, "port "+name, hint("Port x is still in use."), "it is in use by %s", p.Device)
		default:
			c.add(lcm.CheckOK, "port "+name, "", "it is free")
		}
	}
	return nil
}
