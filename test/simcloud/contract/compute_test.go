package contract

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

// quick is a simulated cloud whose seconds are short for Heat's test resources.
var quick = simcloud.Options{HeatMinute: 6 * time.Second}

// timed is one whose minutes are short.
var timed = simcloud.Options{HeatMinute: 500 * time.Millisecond}

func TestServers(t *testing.T) {
	t.Parallel()
	c := connect(t, "servers")
	net0 := c.idOf("neutron", "/networks?name=net0", "networks", "net0")
	began := time.Now().UTC().Add(-2 * time.Second).Format(time.RFC3339)
	name := fresh("server")
	spec := obj{
		"name": name, "flavorRef": c.idOf("nova", "/flavors", "flavors", "m1.tiny"),
		"imageRef": c.idOf("glance", "/images", "images", "cirros-0.5.2-x86_64-disk"),
		"networks": []obj{{"uuid": net0}}, "metadata": obj{"a": "b"},
	}
	r := c.call(http.MethodPost, "nova", "/servers", obj{"server": spec})
	c.answers("a server create is answered 202", http.StatusAccepted, r)
	id := r.str("server", "id")
	t.Cleanup(func() { c.call(http.MethodDelete, "nova", "/servers/"+id, nil) })
	c.answers("and the server has its page at once", http.StatusOK, c.server(id))
	becomes := func(want string) {
		c.eventually("the server is "+want, func() bool {
			r = c.server(id)
			return r.str("server", "status") == want && r.get("server", "OS-EXT-STS:task_state") == nil
		})
	}
	becomes("ACTIVE")
	s := r.get("server")
	c.same(
		"from 2.47 on a server shows its flavor's values and name, and no id", []any{"m1.tiny", 1.0, 512.0, 1.0, nil},
		[]any{
			at(s, "flavor", "original_name"), at(s, "flavor", "vcpus"), at(s, "flavor", "ram"),
			at(s, "flavor", "disk"), at(s, "flavor", "id"),
		})
	c.like("its addresses are listed by network, with their MAC addresses", `^fa:16:3e(:[0-9a-f]{2}){3}$`,
		r.str("server", "addresses", "net0", 0, "OS-EXT-IPS-MAC:mac_addr"))
	c.same("and their kind", "fixed", r.str("server", "addresses", "net0", 0, "OS-EXT-IPS:type"))
	c.like("a user with the role admin sees the host", `.`, r.str("server", "OS-EXT-SRV-ATTR:host"))
	c.like("the time of creation has whole seconds", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, r.str("server", "created"))
	c.like(
		"the launch more exactly", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$`, r.str("server", "OS-SRV-USG:launched_at"),
	)
	c.same("power state 1 is running", 1.0, r.get("server", "OS-EXT-STS:power_state"))
	r = c.callWith(http.MethodGet, "nova", "/servers/"+id, nil, obj{"X-OpenStack-Nova-API-Version": "2.1"})
	c.fact("at 2.1 a server shows its flavor's id, and no tags", r.str("server", "flavor", "id") != "" &&
		r.get("server", "tags") == nil, r.text)

	act := func(body obj) reply { return c.call(http.MethodPost, "nova", "/servers/"+id+"/action", body) }
	c.answers("os-stop is answered 202", http.StatusAccepted, act(obj{"os-stop": nil}))
	becomes("SHUTOFF")
	c.same("power state 4 is off", 4.0, r.get("server", "OS-EXT-STS:power_state"))
	r = act(obj{"os-stop": nil})
	c.fact("a stopped server cannot be stopped", r.status == http.StatusConflict &&
		r.str("conflictingRequest", "message") == "Cannot 'stop' instance "+id+" while it is in vm_state stopped",
		r.status, r.text)
	c.answers("os-start is answered 202", http.StatusAccepted, act(obj{"os-start": nil}))
	becomes("ACTIVE")
	r = act(obj{"os-start": nil})
	c.fact("a running server cannot be started", r.status == http.StatusConflict &&
		r.str("conflictingRequest", "message") == "Cannot 'start' instance "+id+" while it is in vm_state active",
		r.status, r.text)
	c.answers("a hard reboot is answered 202", http.StatusAccepted, act(obj{"reboot": obj{"type": "HARD"}}))
	becomes("ACTIVE")
	c.interfaces(id)
	c.serverLists(id, name, began)
	c.answers(
		"a server delete is answered 204", http.StatusNoContent, c.call(http.MethodDelete, "nova", "/servers/"+id, nil),
	)
	c.eventually("the server is gone", func() bool { return c.server(id).status == http.StatusNotFound })
	r = c.server(id)
	c.fact("a server that is gone is not found",
		r.str("itemNotFound", "message") == "Instance "+id+" could not be found.", r.text)
	r = c.call(http.MethodGet, "nova", "/servers/detail?changes-since="+began, nil)
	i := slices.Index(names(r.list("servers"), "id"), id)
	c.fact("but listed among the changes, as DELETED", i >= 0 && r.str("servers", i, "status") == "DELETED", r.text)
	r = c.call(http.MethodPost, "nova", "/servers", obj{
		"server": obj{"name": "x", "flavorRef": "none", "imageRef": spec["imageRef"], "networks": "none"},
	})
	c.fact("an unknown flavor is refused", r.status == http.StatusBadRequest && r.str("badRequest", "message") != "",
		r.status, r.text)
}

// interfaces checks what a server says about its ports.
func (c *cloud) interfaces(id string) {
	c.t.Helper()
	r := c.call(http.MethodGet, "nova", "/servers/"+id+"/os-interface", nil)
	port := r.str("interfaceAttachments", 0, "port_id")
	c.same("a server lists its ports", "ACTIVE", r.str("interfaceAttachments", 0, "port_state"))
	p := c.port(port)
	c.fact("a port of a server names it, its zone and its host", p.str("port", "device_id") == id &&
		p.str("port", "device_owner") == "compute:"+c.server(id).str("server", "OS-EXT-AZ:availability_zone") &&
		p.str("port", "binding:host_id") != "" && p.str("port", "status") == "ACTIVE", p.text)
}

func (c *cloud) serverLists(id, name, began string) {
	c.t.Helper()
	list := func(query string) []string {
		r := c.call(http.MethodGet, "nova", "/servers/detail?"+query, nil)
		require.Equal(c.t, http.StatusOK, r.status, r.text)
		return names(r.list("servers"), "id")
	}
	c.same("a name is a regular expression", []string{id}, list("name=%5E"+name+"%24"))
	c.same("or a part of the name", []string{id}, list("name="+name[1:len(name)-1]))
	c.same("that must match", []string{}, list("name=%5E"+name[:len(name)-1]+"%24"))
	c.fact("changes-since lists what has changed", slices.Contains(list("changes-since="+began), id))
	c.same("and nothing else", []string{}, list("changes-since="+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	c.same("one page has as many as the limit", 1, len(list("limit=1")))
	c.answers("changes-since must be a time", http.StatusBadRequest,
		c.call(http.MethodGet, "nova", "/servers/detail?changes-since=bad", nil))
	r := c.call(http.MethodGet, "nova", "/servers/detail?colour=red", nil)
	c.fact("an unknown filter is refused from 2.75 on", r.status == http.StatusBadRequest &&
		strings.Contains(r.str("badRequest", "message"), "'colour' does not match any of the regexes"), r.status,
		r.text)
	c.answers("and ignored before", http.StatusOK, c.callWith(
		http.MethodGet, "nova", "/servers/detail?colour=red", nil, obj{"X-OpenStack-Nova-API-Version": "2.60"},
	))
}

func TestCatalogOfCompute(t *testing.T) {
	t.Parallel()
	c := connect(t, "flavors, zones, versions of Nova")
	r := c.request(http.MethodGet, c.url("nova")[:strings.LastIndex(c.url("nova"), "/")]+"/", "", nil, nil)
	c.answers("the versions are public", http.StatusOK, r)
	i := slices.Index(names(r.list("versions"), "id"), "v2.1")
	c.fact(
		"v2.1 is the current one and tells its microversions", i >= 0 && r.str("versions", i, "status") == "CURRENT" &&
			r.str("versions", i, "min_version") == "2.1" && strings.HasPrefix(r.str("versions", i, "version"), "2."),
		r.text)
	highest := r.str("versions", i, "version")
	r = c.callWith(http.MethodGet, "nova", "/servers", nil, obj{"X-OpenStack-Nova-API-Version": "2.999"})
	c.fact("a microversion that it does not know is refused", r.status == http.StatusNotAcceptable &&
		r.str("computeFault", "message") == "Version 2.999 is not supported by the API. Minimum is 2.1 and maximum is "+
			highest+".", r.status, r.text)
	r = c.callWith(http.MethodGet, "nova", "/servers", nil, obj{
		"OpenStack-API-Version": "compute 2.60", "X-OpenStack-Nova-API-Version": "2.60",
	})
	c.same("an answer says its microversion", "compute 2.60", r.header.Get("OpenStack-API-Version"))
	r = c.call(http.MethodGet, "nova", "/os-availability-zone", nil)
	i = slices.Index(names(r.list("availabilityZoneInfo"), "zoneName"), "nova")
	c.fact("zones are listed, without hosts", i >= 0 && r.get("availabilityZoneInfo", i, "zoneState",
		"available") == true && r.get("availabilityZoneInfo", i, "hosts") == nil, r.text)
	r = c.call(http.MethodGet, "nova", "/os-availability-zone/detail", nil)
	i = slices.Index(names(r.list("availabilityZoneInfo"), "zoneName"), "nova")
	c.fact("in detail with hosts, whose services are available",
		i >= 0 && r.get("availabilityZoneInfo", i, "hosts", "cmp1", "nova-compute", "available") == true, r.text)
	c.fact("and with the zone internal", slices.Contains(names(r.list("availabilityZoneInfo"), "zoneName"), "internal"),
		r.text)
	r = c.call(http.MethodGet, "nova", "/flavors/detail", nil)
	i = slices.Index(names(r.list("flavors"), "name"), "m1.tiny")
	c.same("flavors show what they give", []any{1.0, 512.0, 1.0, 0.0, 0.0},
		[]any{
			r.get("flavors", i, "vcpus"), r.get("flavors", i, "ram"), r.get("flavors", i, "disk"),
			r.get("flavors", i, "swap"), r.get("flavors", i, "OS-FLV-EXT-DATA:ephemeral"),
		})
	c.same("from 2.61 on with their extra specs", obj{}, r.get("flavors", i, "extra_specs"))
	r = c.call(http.MethodGet, "nova", "/flavors/"+unknownID, nil)
	c.fact("an unknown flavor is not found", r.status == http.StatusNotFound &&
		r.str("itemNotFound", "message") == "Flavor "+unknownID+" could not be found.", r.status, r.text)
	r = c.call(http.MethodGet, "nova", "/os-keypairs/contract-none", nil)
	c.answers("an unknown key pair is not found", http.StatusNotFound, r)
}
