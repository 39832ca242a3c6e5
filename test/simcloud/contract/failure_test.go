package contract

import (
	"net/http"
	"strings"
	"testing"
)

const noHost = `Went to status ERROR due to "Message: No valid host was found\. , Code: 500"`

func TestNoHost(t *testing.T) {
	t.Parallel()
	c := connect(t, "no host")
	c.withHuge()
	body := one()
	body["parameters"] = obj{"flavor": huge}
	s := c.begin("nohost", body)
	r := s.await("CREATE_FAILED") // a real Heat tries six times: some 85 s
	c.like("the stack's reason names resources and cause",
		`^Resource CREATE failed: ResourceInError: resources\.VDU-0\.resources\.VDU: `+noHost+`$`,
		r.str("stack", "stack_status_reason"))
	have := s.resources()
	c.same("resources down to the server have failed", []string{"CREATE_FAILED", "CREATE_FAILED", "CREATE_COMPLETE"},
		[]string{have["VDU-0"].status, have["VDU-0/VDU"].status, have["VDU-0/CP"].status})
	c.like("the nested stack's resource gives the whole path",
		`^ResourceInError: resources\.VDU-0\.resources\.VDU: `+noHost+`$`, have["VDU-0"].reason)
	c.like("the server's resource gives its own", `^ResourceInError: resources\.VDU: `+noHost+`$`,
		have["VDU-0/VDU"].reason)
	r = c.call(http.MethodGet, "heat", have["VDU-0"].nestedPath, nil)
	c.like("the nested stack has its reason", `^Resource CREATE failed: ResourceInError: resources\.VDU: `+noHost+`$`,
		r.str("stack", "stack_status_reason"))
	srv := c.server(have["VDU-0/VDU"].id)
	c.same("the last server stays, in ERROR, on no host", []any{"ERROR", nil},
		[]any{srv.str("server", "status"), srv.get("server", "OS-EXT-SRV-ATTR:host")})
	c.same("with a fault", []any{"No valid host was found. ", 500.0},
		[]any{srv.str("server", "fault", "message"), srv.get("server", "fault", "code")})
	c.like("whose details a user with the role admin sees", `^Traceback`, srv.str("server", "fault", "details"))

	s.update(obj{"parameters": obj{"flavor": "m1.tiny"}}, "UPDATE_COMPLETE")
	after := s.resources()
	c.fact("an update replaces the failed server", after["VDU-0/VDU"].id != have["VDU-0/VDU"].id &&
		after["VDU-0/VDU"].status == "CREATE_COMPLETE")
	c.same(
		"and keeps nested stack and port", have["VDU-0"].id+have["VDU-0/CP"].id, after["VDU-0"].id+after["VDU-0/CP"].id,
	)
	c.answers("the failed server is gone", http.StatusNotFound, c.server(have["VDU-0/VDU"].id))

	s.patch(obj{"parameters": obj{"flavor": huge}})
	c.eventually("the update has reached the server", func() bool {
		return s.resources()["VDU-0/VDU"].status == "UPDATE_IN_PROGRESS"
	})
	c.eventually("the server is itself again", func() bool {
		return c.server(after["VDU-0/VDU"].id).str("server", "status") == "ACTIVE"
	})
	srv = c.server(after["VDU-0/VDU"].id)
	c.same("a resize without a host leaves the server as it was, without a fault", []any{"ACTIVE", "m1.tiny", nil},
		[]any{srv.str("server", "status"), srv.str("server", "flavor", "original_name"), srv.get("server", "fault")})
	c.same("and Heat waits on", "UPDATE_IN_PROGRESS", s.status())
	c.answers("another update is accepted", http.StatusAccepted, s.patch(obj{"parameters": obj{"flavor": "m1.tiny"}}))
	c.same("and waits too", "UPDATE_IN_PROGRESS", s.status())
	s.remove()
	c.answers("a delete ends it", http.StatusNotFound, c.server(after["VDU-0/VDU"].id))
}

func TestVolumeOfAServerThatFailed(t *testing.T) {
	t.Parallel()
	c := connect(t, "volume of a server that failed")
	c.withHuge()
	s := c.create("reserved", obj{
		"template": single, "files": obj{"VDU.yaml": unitWithVolume}, "parameters": obj{"flavor": huge},
	}, "CREATE_FAILED")
	have := s.resources()
	v := c.volume(have["VDU-0/VOL"].id)
	c.fact("the volume of a server in ERROR that was never on a host is reserved and attached to nothing",
		v.str("volume", "status") == "reserved" && len(v.list("volume", "attachments")) == 0, v.text)
	r := s.update(obj{"parameters": obj{"flavor": "m1.tiny"}}, "UPDATE_FAILED")
	c.like("an update cannot make another server while the volume is reserved",
		`^Resource UPDATE failed: resources\.VDU-0: Resource CREATE failed: BadRequest: resources\.VDU: Invalid volume: Invalid input received: Invalid volume: Volume `+
			have["VDU-0/VOL"].id+` status must be available or downloading to reserve, but the current status is reserved\. \(HTTP 400\)`, r.str("stack", "stack_status_reason"))
	c.answers("the server in ERROR is deleted through Nova", http.StatusNoContent,
		c.call(http.MethodDelete, "nova", "/servers/"+have["VDU-0/VDU"].id, nil))
	c.eventually("the volume is available", func() bool {
		return c.volume(have["VDU-0/VOL"].id).str("volume", "status") == "available"
	})
	s.update(nil, "UPDATE_COMPLETE")
	after := s.resources()
	c.same("then an update makes a server with the same volume and port",
		[]any{have["VDU-0/VOL"].id, have["VDU-0/CP"].id, after["VDU-0/VDU"].id},
		[]any{after["VDU-0/VOL"].id, after["VDU-0/CP"].id, c.volume(after["VDU-0/VOL"].id).get(
			"volume", "attachments", 0, "server_id",
		)})
}

func TestFailuresAtOnce(t *testing.T) {
	t.Parallel()
	c := connect(t, "failures at once")
	fail := func(name, file string, params obj) (string, map[string]resource) {
		s := c.create(
			name, obj{"template": single, "files": obj{"VDU.yaml": file}, "parameters": params}, "CREATE_FAILED",
		)
		return s.reason(), s.resources()
	}
	reason, have := fail("flavor", unit, obj{"flavor": "none"})
	c.same("an unknown flavor in a nested file fails the create",
		"Resource CREATE failed: resources.VDU-0: Property error: resources.VDU.properties.flavor: Error validating "+
			"value 'none': No Flavor matching {'name': 'none'}. (HTTP 404)",
		reason)
	c.same("the nested stack has not come to be", []any{"CREATE_FAILED", ""},
		[]any{have["VDU-0"].status, have["VDU-0"].id})
	reason, _ = fail("image", strings.Replace(unit, "image: {get_param: image}", "image: none", 1), nil)
	c.same(
		"an unknown image likewise",
		"Resource CREATE failed: resources.VDU-0: Property error: resources.VDU.properties.image: Error validating "+
			"value 'none': No images matching {'name': 'none'}.",
		reason,
	)
	reason, _ = fail("network", unit, obj{"net": "none"})
	c.same(
		"an unknown network likewise",
		"Resource CREATE failed: resources.VDU-0: Property error: resources.CP.properties.network: Error validating "+
			"value 'none': Unable to find network with name or id 'none'",
		reason,
	)
	reason, have = fail(
		"zone", strings.Replace(unit, "      networks:", "      availability_zone: mars\n      networks:", 1), nil,
	)
	c.like("an unknown zone fails the create", `^Resource CREATE failed: BadRequest: resources\.VDU-0\.resources\.VDU: The requested availability zone is not available \(HTTP 400\) \(Request-ID: req-[0-9a-f-]{36}\)$`, reason)
	c.same(
		"a refused server has no id", []any{"CREATE_FAILED", ""}, []any{have["VDU-0/VDU"].status, have["VDU-0/VDU"].id},
	)
	reason, have = fail("outside", strings.Replace(unit, "properties: {network: {get_param: net}}",
		"properties: {network: {get_param: net}, fixed_ips: [{ip_address: 1.2.3.4}]}", 1), nil)
	c.like("an address outside the network fails the create", `^Resource CREATE failed: InvalidIpForNetworkClient: resources\.VDU-0\.resources\.CP: IP address 1\.2\.3\.4 is not a valid IP for any of the subnets on the specified network\.\nNeutron server returns request_ids: \['req-[0-9a-f-]{36}'\]$`, reason)
	c.same("what needs it has not begun", []any{"INIT_COMPLETE", "", ""},
		[]any{have["VDU-0/VDU"].status, have["VDU-0/VDU"].reason, have["VDU-0/VDU"].id})
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	c := connect(t, "conflicts")
	net0 := c.idOf("neutron", "/networks?name=net0", "networks", "net0")
	r := c.call(http.MethodPost, "neutron", "/ports", obj{"port": obj{"network_id": net0, "name": "contract"}})
	c.answers("a port is made", http.StatusCreated, r)
	defer c.call(http.MethodDelete, "neutron", "/ports/"+r.str("port", "id"), nil)
	ip := r.str("port", "fixed_ips", 0, "ip_address")
	s := c.begin("taken", obj{"template": single, "files": obj{"VDU.yaml": strings.Replace(
		unit, "properties: {network: {get_param: net}}",
		"properties: {network: {get_param: net}, fixed_ips: [{ip_address: "+ip+"}]}", 1,
	)}})
	r = s.await("CREATE_FAILED") // a real Heat tries six times
	c.like("an address that is taken fails the create", `^Resource CREATE failed: IpAddressAlreadyAllocatedClient: resources\.VDU-0\.resources\.CP: IP address `+ip+
		` already allocated in subnet [0-9a-f-]{36}\nNeutron server returns request_ids: \['req-[0-9a-f-]{36}'\]$`, r.str("stack", "stack_status_reason"))
}

func TestDeleteFails(t *testing.T) {
	t.Parallel()
	c := connect(t, "delete fails")
	s := c.create("undeletable", obj{"template": hot + `
resources:
  NET: {type: OS::Neutron::Net}
  SUB: {type: OS::Neutron::Subnet, properties: {network: {get_resource: NET}, cidr: 10.99.0.0/24}}
`}, "CREATE_COMPLETE")
	have := s.resources()
	r := c.call(
		http.MethodPost, "neutron", "/ports", obj{"port": obj{"network_id": have["NET"].id, "name": "contract"}},
	)
	c.answers("a port of another user is created in the stack's network", http.StatusCreated, r)
	port := r.str("port", "id")
	c.call(http.MethodDelete, "heat", s.path(), nil)
	r = s.await("DELETE_FAILED") // a real Heat tries six times
	c.like("what cannot go fails the delete",
		`^Resource DELETE failed: Conflict: resources\.SUB: Unable to complete operation on subnet `+have["SUB"].id+
			`: One or more ports have an IP allocation from this subnet\.\nNeutron server returns request_ids: `, r.str("stack", "stack_status_reason"))
	c.same("the resource has failed, the one it needs is as it was", []string{"DELETE_FAILED", "CREATE_COMPLETE"},
		[]string{s.resources()["SUB"].status, s.resources()["NET"].status})
	c.refuses("an update is refused", http.StatusBadRequest, "NotSupported",
		`^Updating a stack when it is deleting is not supported\.$`, s.patch(nil))
	c.refuses("the name is still taken", http.StatusConflict, "StackExists", `already exists`,
		c.post(s.name, obj{"template": hot}))
	c.answers("the port goes", http.StatusNoContent, c.call(http.MethodDelete, "neutron", "/ports/"+port, nil))
	s.remove()
	c.same("and then the stack", "DELETE_COMPLETE", s.status())
}

// failing is a stack of which one resource fails while others are being made.
const failing = hot + `
resources:
  BEGIN: {type: OS::Heat::TestResource, properties: {value: x}}
  BAD: {type: OS::Heat::TestResource, depends_on: BEGIN, properties: {value: x, fail: true, action_wait_secs: {create: 3}}}
  LONG: {type: OS::Heat::TestResource, properties: {value: x, action_wait_secs: {create: 10}}}
  AFTER: {type: OS::Heat::TestResource, depends_on: LONG, properties: {value: x}}
  N: {type: inner.yaml}
`

const failingInner = hot + `
resources:
  LONG: {type: OS::Heat::TestResource, properties: {value: x, action_wait_secs: {create: 10}}}
  AFTER: {type: OS::Heat::TestResource, depends_on: LONG, properties: {value: x}}
`

func TestFailureStopsNothing(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "a failure and the others", quick)
	s := c.create("failing", obj{"template": failing, "files": obj{"inner.yaml": failingInner}}, "CREATE_FAILED")
	have := s.resources()
	c.same("a stack fails at the first failure",
		"Resource CREATE failed: ValueError: resources.BAD: Test Resource failed BAD", s.reason())
	c.same("what was under way then is under way still", []string{"CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS"},
		[]string{have["LONG"].status, have["N"].status})
	c.eventually("nothing is under way any more", s.quiet)
	have = s.resources()
	c.same("and is brought to its end, nested stacks with all that is in them",
		[]string{"CREATE_COMPLETE", "CREATE_COMPLETE", "CREATE_COMPLETE"},
		[]string{have["LONG"].status, have["N"].status, have["N/AFTER"].status})
	c.same("what had not begun does not begin", "INIT_COMPLETE", have["AFTER"].status)
	c.same("the stack has failed all the same", "CREATE_FAILED", s.status())
	s.update(obj{"template": strings.Replace(failing, "fail: true", "fail: false", 1)}, "UPDATE_COMPLETE")
	after := s.resources()
	c.same("an update keeps what is there and makes the rest", []string{
		have["LONG"].id, have["N"].id, "CREATE_COMPLETE",
	}, []string{after["LONG"].id, after["N"].id, after["AFTER"].status})
}

// endless is a stack whose create takes longer than it may.
const endless = hot + `
parameters: {w: {type: number, default: 300}}
resources:
  N: {type: endless.yaml, properties: {w: {get_param: w}}}
`

const endlessFile = hot + `
parameters: {w: {type: number}}
resources:
  R: {type: OS::Heat::TestResource, properties: {value: x, wait_secs: {get_param: w}}}
`

func TestTimeout(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "timeout", timed)
	s := c.begin("timeout", obj{"template": endless, "files": obj{"endless.yaml": endlessFile}, "timeout_mins": 1})
	r := s.await("CREATE_FAILED")
	c.same("a create that takes too long fails in two words", "Timed out", r.str("stack", "stack_status_reason"))
	have := s.resources()
	c.same("the nested stack's resource is aborted", "CREATE_FAILED", have["N"].status)
	c.like("and says why", `^CREATE aborted \(Task create from TemplateResource "N" Stack "`+s.name+`" \[`+s.id+
		`\] Timed out\)$`, have["N"].reason)
	s.update(obj{"parameters": obj{"w": 0}, "timeout_mins": 10}, "UPDATE_COMPLETE")
	c.same("an update repairs it", "CREATE_COMPLETE", s.resources()["N/R"].status)
}
