package preview

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// networks looks for networks and subnets, and whether the fixed addresses in them are free.
func (c *checker) networks(ctx context.Context) error {
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.need.networks, c.need.external))))
	nets, err := c.cloud.FindNetworks(ctx, names)
	if err != nil {
		return err
	}
	const wrong = "check the network ids of extVirtualLinks and the network names in the package's templates"
	ids := map[string]string{}
	for _, name := range names {
		n, ok := resolveName(c, "network", name, nets, func(n cloud.Network) cloud.Named { return n.Named }, wrong)
		if !ok {
			continue
		}
		ids[name] = n.ID
		switch {
		case slices.Contains(c.need.external, name) && !n.External:
			c.add(lcm.CheckFailed, "network "+name, cloud.Hint("is not a valid external network"),
				"it is not an external network: it has no floating addresses")
		case n.Status != "ACTIVE":
			c.add(lcm.CheckWarning, "network "+name, "", "it is %s", n.Status)
		default:
			c.add(lcm.CheckOK, "network "+name, "", "found: %s", n.ID)
		}
	}
	subnets, err := c.cloud.FindSubnets(ctx, c.need.subnets)
	if err != nil {
		return err
	}
	for _, name := range c.need.subnets {
		if s, ok := resolveName(c, "subnet", name, subnets, func(s cloud.Subnet) cloud.Named {
			return s.Named
		}, wrong); ok {
			c.add(lcm.CheckOK, "subnet "+name, "", "found: %s", s.CIDR)
		}
	}
	return c.addresses(ctx, ids)
}

// addresses looks whether fixed addresses are inside their networks and free. The ids of networks are by the names that
// the templates have.
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
	return lcm.Each(
		ctx, 8, nets, func(ctx context.Context, n network) error { return c.addressesOf(ctx, n.id, n.wanted) },
	)
}

func (c *checker) addressesOf(ctx context.Context, network string, wanted []fixedAddress) error {
	subnets, err := c.cloud.ListSubnets(ctx, network)
	if err != nil {
		return err
	}
	ips := make([]string, len(wanted))
	for i, f := range wanted {
		ips[i] = f.ip
	}
	ports, err := c.cloud.FindAddresses(ctx, network, ips)
	if err != nil {
		return err
	}
	taken := map[string]cloud.Port{}
	for _, p := range ports {
		for _, ip := range p.FixedIPs {
			taken[ip.IP] = p
		}
	}
	for _, f := range wanted {
		subject := "address " + f.ip + " of " + f.port
		p, used := taken[f.ip]
		switch {
		case !inside(subnets, f.ip):
			c.add(lcm.CheckFailed, subject, cloud.Hint("is not a valid IP for"),
				"it is in none of the subnets of network %s", f.network)
		case used && !c.plan.own[p.ID]:
			c.add(lcm.CheckFailed, subject, cloud.Hint("ip address already allocated"), "the port %s has it", p.ID)
		default:
			c.add(lcm.CheckOK, subject, "", "it is free, as far as the project can see")
		}
	}
	return nil
}

func inside(subnets []cloud.Subnet, ip string) bool {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(subnets, func(s cloud.Subnet) bool {
		p, err := netip.ParsePrefix(s.CIDR)
		return err == nil && p.Contains(a)
	})
}

// ports looks for the ports that the consumer has made, and whether they are free.
func (c *checker) ports(ctx context.Context) error {
	ports, err := c.cloud.FindPorts(ctx, c.need.ports)
	if err != nil {
		return err
	}
	for _, name := range c.need.ports {
		p, ok := resolveName(c, "port", name, ports, func(p cloud.Port) cloud.Named {
			return cloud.Named{ID: p.ID, Name: p.Name}
		}, cloud.Hint("Unable to find port"))
		switch {
		case !ok:
		case p.Device != "" && !c.plan.own[p.Device]:
			c.add(lcm.CheckFailed, "port "+name, cloud.Hint("Port x is still in use."), "it is in use by %s", p.Device)
		default:
			c.add(lcm.CheckOK, "port "+name, "", "it is free")
		}
	}
	return nil
}
