package openstack

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// port is what Neutron says about a port.
type port struct {
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

// floatingIP is what Neutron says about a floating address.
type floatingIP struct {
	ID      string `json:"id"`
	Address string `json:"floating_ip_address"`
	Network string `json:"floating_network_id"`
	Port    string `json:"port_id"`
	Status  string `json:"status"`
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

// givenPorts lists the ports that the consumer made for external connection points of the VNF.
func givenPorts(links []sol.ExtVirtualLinkData) []string {
	var out []string
	for _, l := range links {
		for _, cp := range l.ExtCps {
			for _, c := range cp.CpConfig {
				if id := givenPort(l, c); id != "" {
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// givenPort is the port behind a linkPortId, "" when the configuration has none.
func givenPort(l sol.ExtVirtualLinkData, c sol.VnfExtCpConfig) string {
	if c.LinkPortID == "" {
		return ""
	}
	for _, p := range l.ExtLinkPorts {
		if p.ID == c.LinkPortID {
			return p.ResourceHandle.ResourceID
		}
	}
	return ""
}
