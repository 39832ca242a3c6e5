package cloud

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
)

// neutronAPI are the requests to Neutron.
type neutronAPI struct{ *session }

// Named is an object that a name or an id stands for.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Port is a port of Neutron.
type Port struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	Network  string `json:"network_id"`
	MAC      string `json:"mac_address"`
	Device   string `json:"device_id"`
	FixedIPs []struct {
		IP     string `json:"ip_address"`
		Subnet string `json:"subnet_id"`
	} `json:"fixed_ips"`
}

var portFields = []string{"id", "name", "status", "network_id", "mac_address", "device_id", "fixed_ips"}

// FloatingIP is a floating address.
type FloatingIP struct {
	ID      string `json:"id"`
	Address string `json:"floating_ip_address"`
	Network string `json:"floating_network_id"`
	Port    string `json:"port_id"`
	Status  string `json:"status"`
}

// Network is a network of Neutron.
type Network struct {
	Named
	Status   string `json:"status"`
	External bool   `json:"router:external"`
}

// Subnet is a subnet of Neutron.
type Subnet struct {
	Named
	Network string `json:"network_id"`
	CIDR    string `json:"cidr"`
}

// listNeutron lists objects of Neutron.
func listNeutron[T any](
	ctx context.Context, c doer, what, kind string, q url.Values, id func(T) string,
) (all []T, err error) {
	list := List{What: what, Service: Neutron, Path: "/" + kind, Member: kind, Query: q, Pages: maxPages}
	err = EachPage(ctx, c, list, func(o T) (string, bool) {
		all = append(all, o)
		return id(o), true
	})
	return all, err
}

func portID(p Port) string { return p.ID }

// ReadPorts reads ports by id. One that is gone is not in the result.
func (c neutronAPI) ReadPorts(ctx context.Context, ids []string) (map[string]Port, error) {
	return readNeutron(ctx, c, "ports", ids, portFields, portID)
}

// ReadFloatingIPs reads floating addresses by id. One that is gone is not in the result.
func (c neutronAPI) ReadFloatingIPs(ctx context.Context, ids []string) (map[string]FloatingIP, error) {
	return readNeutron(ctx, c, "floatingips", ids, nil, func(f FloatingIP) string { return f.ID })
}

func readNeutron[T any](
	ctx context.Context, c doer, kind string, ids, fields []string, id func(T) string,
) (map[string]T, error) {
	found := make(map[string]T, len(ids))
	err := byIDs(ids, url.Values{"fields": fields}, func(query url.Values) error {
		list, err := listNeutron(ctx, c, fmt.Sprintf("list %d %s", len(ids), kind), kind, query, id)
		for _, o := range list {
			found[id(o)] = o
		}
		return err
	})
	return found, err
}

// FindNetworks lists the networks that have one of these names or ids.
func (c neutronAPI) FindNetworks(ctx context.Context, names []string) ([]Network, error) {
	return byNameOrID(ctx, c, "networks", names, func(n Network) string { return n.ID })
}

// FindSubnets lists the subnets that have one of these names or ids.
func (c neutronAPI) FindSubnets(ctx context.Context, names []string) ([]Subnet, error) {
	return byNameOrID(ctx, c, "subnets", names, subnetID)
}

// FindPorts lists the ports that have one of these names or ids.
func (c neutronAPI) FindPorts(ctx context.Context, names []string) ([]Port, error) {
	return byNameOrID(ctx, c, "ports", names, portID)
}

func byNameOrID[T any](ctx context.Context, c doer, kind string, names []string, id func(T) string) ([]T, error) {
	var out []T
	for _, member := range []string{"id", "name"} {
		for chunk := range slices.Chunk(names, idsPerCall) {
			found, err := listNeutron(ctx, c, "look for "+kind, kind, url.Values{member: chunk}, id)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	return out, nil
}

// ListSubnets lists the subnets of a network.
func (c neutronAPI) ListSubnets(ctx context.Context, network string) ([]Subnet, error) {
	q := url.Values{"network_id": {network}}
	return listNeutron(ctx, c, "list the subnets of network "+network, "subnets", q, subnetID)
}

func subnetID(s Subnet) string { return s.ID }

// FindAddresses lists the ports of a network that have one of these addresses.
func (c neutronAPI) FindAddresses(ctx context.Context, network string, ips []string) ([]Port, error) {
	var out []Port
	for chunk := range slices.Chunk(ips, idsPerCall) {
		q := url.Values{"network_id": {network}, "fields": portFields}
		for _, ip := range chunk {
			q.Add("fixed_ips", "ip_address="+ip)
		}
		found, err := listNeutron(ctx, c, "look for addresses in network "+network, "ports", q, portID)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Quota is a limit and its use; a limit below zero means that it does not exist.
type Quota struct{ Limit, Used int }

// NetworkQuota returns the project's quota of networking by Neutron's names.
func (c neutronAPI) NetworkQuota(ctx context.Context) (map[string]Quota, error) {
	var found struct { // with a map: a quota that this Neutron does not have is not one of 0
		Quota map[string]quotas.QuotaDetail `json:"quota"`
	}
	err := c.typed(ctx, "read the quota of networking", Neutron,
		func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			return quotas.GetDetail(ctx, sc, segment(c.projectID)).ExtractInto(&found)
		})
	out := map[string]Quota{}
	for name, q := range found.Quota {
		out[name] = Quota{Limit: q.Limit, Used: q.Used + q.Reserved}
	}
	return out, err
}

// EmptyRouter removes the interfaces of a router, which cannot be deleted with them.
func (c neutronAPI) EmptyRouter(ctx context.Context, id string) error {
	q := url.Values{"device_owner": {"network:router_interface"}, "device_id": {id}}
	ports, err := listNeutron(ctx, c, "list the interfaces of router "+id, "ports", q, portID)
	if err != nil {
		return err
	}
	for _, p := range ports {
		for _, ip := range p.FixedIPs {
			what := "take subnet " + ip.Subnet + " off router " + id
			err := c.typed(ctx, what, Neutron, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
				return routers.RemoveInterface(ctx, sc, segment(id),
					routers.RemoveInterfaceOpts{SubnetID: ip.Subnet}).Err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
