package contract

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// stack is a stack that the test has made; it goes with the test.
type stack struct {
	c        *cloud
	name, id string
}

// resource is one line of a stack's list of resources.
type resource struct {
	id, typ, status, reason, parent, stackPath, nestedPath string
}

func fresh(name string) string { return "ct-" + name + "-" + sim.ShortID()[:4] }

// post asks for a stack.
func (c *cloud) post(name string, body obj) reply {
	c.t.Helper()
	b := obj{"stack_name": name, "timeout_mins": 10, "disable_rollback": true}
	for k, v := range body {
		if m, ok := v.(obj); !ok || m != nil {
			b[k] = v
		}
	}
	return c.call(http.MethodPost, "heat", "/stacks", b)
}

// begin makes a stack and does not wait for it.
func (c *cloud) begin(name string, body obj) *stack {
	c.t.Helper()
	s := &stack{c: c, name: fresh(name)}
	r := c.post(s.name, body)
	require.Equal(c.t, http.StatusCreated, r.status, r.text)
	s.id = r.str("stack", "id")
	c.t.Cleanup(s.remove)
	return s
}

// create makes a stack and waits for the status.
func (c *cloud) create(name string, body obj, want string) *stack {
	c.t.Helper()
	s := c.begin(name, body)
	s.await(want)
	return s
}

func (s *stack) path() string { return "/stacks/" + s.name + "/" + s.id }

func (s *stack) show() reply { s.c.t.Helper(); return s.c.call(http.MethodGet, "heat", s.path(), nil) }

func (s *stack) status() string { s.c.t.Helper(); return s.show().str("stack", "stack_status") }

func (s *stack) reason() string { s.c.t.Helper(); return s.show().str("stack", "stack_status_reason") }

// settle waits until nothing is in progress and returns the stack.
func (s *stack) settle() reply {
	s.c.t.Helper()
	var r reply
	s.c.eventually(s.name+" settles", func() bool {
		r = s.show()
		return !strings.HasSuffix(r.str("stack", "stack_status"), "IN_PROGRESS")
	})
	return r
}

// await waits until nothing is in progress and demands a status.
func (s *stack) await(want string) reply {
	s.c.t.Helper()
	r := s.settle()
	require.Equal(s.c.t, want, r.str("stack", "stack_status"), r.str("stack", "stack_status_reason"))
	return r
}

// patch asks for an update that keeps what it does not name.
func (s *stack) patch(body obj) reply {
	s.c.t.Helper()
	b := obj{"existing": true}
	maps.Copy(b, body)
	return s.c.call(http.MethodPatch, "heat", s.path(), b)
}

// update patches and waits for the status.
func (s *stack) update(body obj, want string) reply {
	s.c.t.Helper()
	r := s.patch(body)
	require.Equal(s.c.t, http.StatusAccepted, r.status, r.text)
	return s.await(want)
}

func (s *stack) action(name string) reply {
	s.c.t.Helper()
	return s.c.call(http.MethodPost, "heat", s.path()+"/actions", obj{name: nil})
}

// remove deletes the stack and waits until its page says so. Heat does not try again when another service has a hiccup:
// a stack that cannot be deleted is reported and left behind.
func (s *stack) remove() {
	s.c.t.Helper()
	const attempts = 5
	for range attempts {
		r := s.c.call(http.MethodDelete, "heat", s.path(), nil)
		if r.status == http.StatusNotFound {
			return
		}
		require.Equal(s.c.t, http.StatusNoContent, r.status, r.text)
		if r = s.settle(); r.str("stack", "stack_status") == "DELETE_COMPLETE" {
			return
		}
		s.c.t.Log(r.str("stack", "stack_status_reason"))
	}
	s.c.t.Log("left behind: " + s.path())
}

// resources are the stack's and its nested stacks' resources: by name, those of nested ones after their parent's name.
func (s *stack) resources() map[string]resource {
	s.c.t.Helper()
	r := s.c.call(http.MethodGet, "heat", s.path()+"/resources?nested_depth=4", nil)
	require.Equal(s.c.t, http.StatusOK, r.status, r.text)
	out := map[string]resource{}
	for _, e := range r.list("resources") {
		text := func(k string) string { v, _ := at(e, k).(string); return v }
		x := resource{
			id: text("physical_resource_id"), typ: text("resource_type"), status: text("resource_status"),
			reason: text("resource_status_reason"), parent: text("parent_resource"),
		}
		for _, l := range at(e, "links").([]any) {
			href, _ := at(l, "href").(string)
			_, path, _ := strings.Cut(href, s.c.url("heat"))
			switch at(l, "rel") {
			case "stack":
				x.stackPath = path
			case "nested":
				x.nestedPath = path
			}
		}
		name := text("resource_name")
		if x.parent != "" {
			name = x.parent + "/" + name
		}
		out[name] = x
	}
	return out
}

// mark marks a resource of the stack or of a nested one.
func (s *stack) mark(x resource, name string) reply {
	s.c.t.Helper()
	return s.c.call(http.MethodPatch, "heat", x.stackPath+"/resources/"+name,
		obj{"mark_unhealthy": true, "resource_status_reason": "marked by the contract"})
}

// heal marks resources, given as "VDU-0/VDU", and updates the stack with nothing.
func (s *stack) heal(marked ...string) map[string]resource {
	s.c.t.Helper()
	have := s.resources()
	for _, m := range marked {
		r := s.mark(have[m], m[strings.LastIndex(m, "/")+1:])
		require.Equal(s.c.t, http.StatusOK, r.status, r.text)
	}
	s.update(nil, "UPDATE_COMPLETE")
	return s.resources()
}

func (c *cloud) server(id string) reply {
	c.t.Helper()
	return c.call(http.MethodGet, "nova", "/servers/"+id, nil)
}

func (c *cloud) port(id string) reply {
	c.t.Helper()
	return c.call(http.MethodGet, "neutron", "/ports/"+id, nil)
}

func (c *cloud) volume(id string) reply {
	c.t.Helper()
	return c.call(http.MethodGet, "cinder", "/volumes/"+id, nil)
}

// listed are the names of the stacks in a list.
func (c *cloud) listed(query url.Values) []string {
	c.t.Helper()
	r := c.call(http.MethodGet, "heat", "/stacks?"+query.Encode(), nil)
	require.Equal(c.t, http.StatusOK, r.status, r.text)
	return names(r.list("stacks"), "stack_name")
}

const hot = "heat_template_version: 2016-10-14\n"

// unit is the template of one VNFC: a server and its port.
const unit = hot + `
parameters:
  flavor: {type: string, default: m1.tiny}
  image: {type: string, default: cirros-0.5.2-x86_64-disk}
  net: {type: string, default: net0}
  zone: {type: string, default: ''}
resources:
  VDU:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
      image: {get_param: image}
      networks: [{port: {get_resource: CP}}]
  CP:
    type: OS::Neutron::Port
    properties: {network: {get_param: net}}
outputs:
  ip: {value: {get_attr: [CP, fixed_ips, 0, ip_address]}}
`

// single is a stack with one VNFC.
const single = hot + `
parameters:
  flavor: {type: string, default: m1.tiny}
  net: {type: string, default: net0}
resources:
  VDU-0:
    type: VDU.yaml
    properties: {flavor: {get_param: flavor}, net: {get_param: net}}
outputs:
  ip: {value: {get_attr: [VDU-0, ip]}}
`

func one() obj { return obj{"template": single, "files": obj{"VDU.yaml": unit}} }

// network makes a network with a subnet 10.98.0.0/24 that goes with the test.
func (c *cloud) network(name string) (id string) {
	c.t.Helper()
	r := c.call(http.MethodPost, "neutron", "/networks", obj{"network": obj{"name": fresh(name)}})
	require.Equal(c.t, http.StatusCreated, r.status, r.text)
	id = r.str("network", "id")
	c.t.Cleanup(func() { c.call(http.MethodDelete, "neutron", "/networks/"+id, nil) })
	r = c.call(http.MethodPost, "neutron", "/subnets", obj{
		"subnet": obj{"network_id": id, "cidr": "10.98.0.0/24", "ip_version": 4},
	})
	require.Equal(c.t, http.StatusCreated, r.status, r.text)
	return id
}

// double is single with a second VNFC.
var double = strings.Replace(single, "outputs:", `  VDU-1:
    type: VDU.yaml
    properties: {flavor: {get_param: flavor}, net: {get_param: net}}
outputs:`, 1)

// huge is the name of a flavor that no host can bear.
const huge = "contract-huge"

// withHuge makes sure of that flavor.
func (c *cloud) withHuge() {
	c.t.Helper()
	r := c.call(
		http.MethodPost, "nova", "/flavors", obj{"flavor": obj{"name": huge, "ram": 99999999, "vcpus": 1, "disk": 1}},
	)
	require.Contains(c.t, []int{http.StatusOK, http.StatusConflict}, r.status, r.text)
}
