package contract

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworks(t *testing.T) {
	t.Parallel()
	c := connect(t, "networks")
	net0, public := c.idOf("neutron", "/networks?name=net0", "networks", "net0"), c.idOf(
		"neutron", "/networks?name=public", "networks", "public",
	)
	port := func(body obj) reply {
		c.t.Helper()
		return c.call(http.MethodPost, "neutron", "/ports", obj{"port": body})
	}
	r := port(obj{"network_id": net0, "name": "contract"})
	require.Equal(t, http.StatusCreated, r.status, r.text)
	p := r.str("port", "id")
	t.Cleanup(func() { c.call(http.MethodDelete, "neutron", "/ports/"+p, nil) })
	ip := r.str("port", "fixed_ips", 0, "ip_address")
	c.fact("a port without a device is DOWN and has an address", r.str("port", "status") == "DOWN" && ip != "" &&
		r.str("port", "device_id") == "", r.text)
	r = port(obj{"network_id": net0, "fixed_ips": []obj{{"ip_address": ip}}})
	c.fact("an address that is taken is a conflict", r.status == http.StatusConflict &&
		r.str("NeutronError", "type") == "IpAddressAlreadyAllocated", r.status, r.text)
	r = port(obj{"network_id": net0, "fixed_ips": []obj{{"ip_address": "1.2.3.4"}}})
	c.fact("one outside the network is refused",
		r.status == http.StatusBadRequest && r.str("NeutronError", "type") == "InvalidIpForNetwork", r.status, r.text)
	r = port(obj{"network_id": unknownID})
	c.fact("an unknown network is not found",
		r.status == http.StatusNotFound && r.str("NeutronError", "type") == "NetworkNotFound", r.status, r.text)
	r = c.port(unknownID)
	c.fact("an unknown port is not found", r.status == http.StatusNotFound &&
		r.str("NeutronError", "type") == "PortNotFound" &&
		r.str("NeutronError", "message") == "Port "+unknownID+" could not be found.", r.status, r.text)

	second := port(obj{"network_id": net0, "name": "contract-second"}).str("port", "id")
	t.Cleanup(func() { c.call(http.MethodDelete, "neutron", "/ports/"+second, nil) })
	r = c.call(http.MethodGet, "neutron", "/ports?id="+p+"&id="+second+"&fields=id&fields=name", nil)
	have := names(r.list("ports"), "id")
	slices.Sort(have)
	want := []string{p, second}
	slices.Sort(want)
	c.same("id may be repeated", want, have)
	c.same("fields are the members shown", 2, len(r.list("ports")[0].(obj)))
	c.same("a name is the whole name", []string{p}, names(
		c.call(http.MethodGet, "neutron", "/ports?name=contract&id="+p+"&id="+second, nil).list("ports"), "id",
	))
	c.same("an address finds its port", []string{p}, names(
		c.call(http.MethodGet, "neutron", "/ports?network_id="+net0+"&fixed_ips=ip_address%3D"+ip, nil).list("ports"),
		"id",
	))
	r = c.call(http.MethodGet, "neutron", "/ports?limit=1", nil)
	c.fact("a page that is not the last links to the next", len(r.list("ports")) == 1 &&
		slices.Contains(names(r.list("ports_links"), "rel"), "next"), r.text)
	r = c.call(http.MethodGet, "neutron", "/ports?colour=red", nil)
	c.fact("an unknown filter is refused", r.status == http.StatusBadRequest &&
		r.str("NeutronError", "message") == "['colour'] is invalid attribute for filtering", r.status, r.text)
	c.answers("tags are put on a port", http.StatusOK, c.call(
		http.MethodPut, "neutron", "/ports/"+p+"/tags", obj{"tags": []string{"contract-a"}},
	))
	c.same("and find it", []string{p}, names(
		c.call(http.MethodGet, "neutron", "/ports?tags=contract-a&id="+p+"&id="+second, nil).list("ports"), "id",
	))
	c.floating(p, ip, net0, public)
}

func (c *cloud) floating(p, ip, net0, public string) {
	c.t.Helper()
	r := c.call(
		http.MethodPost, "neutron", "/floatingips", obj{"floatingip": obj{"floating_network_id": public, "port_id": p}},
	)
	require.Equal(c.t, http.StatusCreated, r.status, r.text)
	f := r.str("floatingip", "id")
	c.t.Cleanup(func() { c.call(http.MethodDelete, "neutron", "/floatingips/"+f, nil) })
	c.same("a floating IP for a port points at its address", ip, r.str("floatingip", "fixed_ip_address"))
	c.eventually("the floating IP is ACTIVE", func() bool {
		return c.call(http.MethodGet, "neutron", "/floatingips/"+f, nil).str("floatingip", "status") == "ACTIVE"
	})
	r = c.call(http.MethodPost, "neutron", "/floatingips", obj{"floatingip": obj{"floating_network_id": net0}})
	c.fact("a network that is not external has none",
		r.status == http.StatusBadRequest && r.str("NeutronError", "type") == "BadRequest", r.status, r.text)
	c.answers("a port goes while its floating IP points at it", http.StatusNoContent,
		c.call(http.MethodDelete, "neutron", "/ports/"+p, nil))
	r = c.call(http.MethodGet, "neutron", "/floatingips/"+f, nil)
	c.fact("the floating IP outlives its port", r.status == http.StatusOK && r.get("floatingip", "port_id") == nil,
		r.status, r.text)
	r = c.call(http.MethodGet, "neutron", "/floatingips/"+unknownID, nil)
	c.fact("an unknown floating IP is not found",
		r.status == http.StatusNotFound && r.str("NeutronError", "type") == "FloatingIPNotFound", r.status, r.text)
	r = c.call(http.MethodGet, "neutron", "/extensions", nil)
	for _, e := range []string{"quota_details", "standard-attr-tag", "router", "external-net", "filter-validation"} {
		c.fact("Neutron has the extension "+e, slices.Contains(names(r.list("extensions"), "alias"), e))
	}
}
