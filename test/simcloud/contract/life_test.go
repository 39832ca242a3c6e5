package contract

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStackLife(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "life of a stack", slow)
	s := &stack{c: c, name: fresh("life")}
	body := one()
	body["parameters"] = obj{"flavor": "m1.tiny"}
	r := c.post(s.name, body)
	require.Equal(t, http.StatusCreated, r.status, r.text)
	s.id = r.str("stack", "id")
	t.Cleanup(s.remove)
	c.same("a create is answered with id and a link to the page", c.url("heat")+s.path(),
		r.str("stack", "links", 0, "href"))
	c.same("a stack is listed at once", []string{s.name}, c.listed(url.Values{"name": {s.name}}))
	r = s.show()
	c.same("a stack has its page at once", "CREATE_IN_PROGRESS", r.str("stack", "stack_status"))
	c.same("and says so in words", "Stack CREATE started", r.str("stack", "stack_status_reason"))
	r = c.call(http.MethodGet, "heat", "/stacks/"+s.name, nil)
	c.fact("the name redirects to the page", r.status == http.StatusFound &&
		r.header.Get("Location") == c.url("heat")+s.path(), r.status, r.header.Get("Location"))
	r = c.call(http.MethodGet, "heat", "/stacks/"+s.id, nil)
	c.fact("so does the id", r.status == http.StatusFound && r.header.Get("Location") == c.url("heat")+s.path(),
		r.status, r.header.Get("Location"))
	c.refuses("a second stack of the name is refused", http.StatusConflict, "StackExists",
		`^The Stack \(`+s.name+`\) already exists\.$`, c.post(s.name, one()))

	r = s.await("CREATE_COMPLETE")
	c.same("a stack that is complete says so in words", "Stack CREATE completed successfully",
		r.str("stack", "stack_status_reason"))
	c.same("the page has the parameters", "m1.tiny", r.str("stack", "parameters", "flavor"))
	c.same("and those that Heat adds", s.id, r.str("stack", "parameters", "OS::stack_id"))
	c.like(
		"outputs of nested stacks reach the top", `^\d+\.\d+\.\d+\.\d+$`, r.str("stack", "outputs", 0, "output_value"),
	)
	c.fact("disable_rollback and timeout_mins are shown", r.get("stack", "disable_rollback") == true &&
		r.get("stack", "timeout_mins") == 10.0)
	c.fact("a stack that was never updated has no updated_time, and no parent",
		r.get("stack", "updated_time") == nil && r.get("stack", "parent") == nil, r.text)

	before := s.resources()
	s.unpack(before)
	again := c.call(http.MethodDelete, "heat", s.path(), nil)
	c.answers("a delete is answered 204", http.StatusNoContent, again)
	c.same("the stack is being deleted at once", "DELETE_IN_PROGRESS", s.status())
	c.answers("a second delete while the first goes on is answered 204", http.StatusNoContent,
		c.call(http.MethodDelete, "heat", s.path(), nil))
	c.refuses("an update while a delete goes on is refused", http.StatusBadRequest, "NotSupported",
		`^Updating a stack when it is deleting is not supported\.$`, s.patch(nil))
	s.await("DELETE_COMPLETE")
	s.gone(before)
}

// unpack checks the resources of a stack with one VNFC.
func (s *stack) unpack(have map[string]resource) {
	c := s.c
	c.t.Helper()
	c.same("nested_depth shows the resources of nested stacks too", 3, len(have))
	top, vdu, cp := have["VDU-0"], have["VDU-0/VDU"], have["VDU-0/CP"]
	c.same("the type of a nested stack is the name of its file", "VDU.yaml", top.typ)
	c.same("a resource of a nested stack names its parent", "VDU-0", vdu.parent)
	c.same("the id of a nested stack is the id of its resource",
		top.nestedPath[strings.LastIndex(top.nestedPath, "/")+1:], top.id)
	c.same("the link stack of a nested resource leads to the nested stack", top.nestedPath, vdu.stackPath)
	c.like("a nested stack is called by its parent, its resource and chance", `^/stacks/`+s.name+`-VDU-0-[a-z0-9]{12}/`,
		top.nestedPath)
	c.same("every resource is complete", []string{"CREATE_COMPLETE", "CREATE_COMPLETE", "CREATE_COMPLETE"},
		[]string{top.status, vdu.status, cp.status})
	c.same("and gives no reason", []string{"state changed", "state changed"}, []string{vdu.reason, top.reason})
	nested := strings.Split(top.nestedPath, "/")[2]
	server, port := c.server(vdu.id).get("server"), c.port(cp.id).get("port")
	c.like("a server without a name is called by its stack, its resource and chance", `^`+nested+`-VDU-[a-z0-9]{12}$`,
		at(server, "name").(string))
	c.like("a port likewise", `^`+nested+`-CP-[a-z0-9]{12}$`, at(port, "name").(string))
	c.same("nothing of the stack is in the metadata of a server", obj{}, at(server, "metadata"))
	c.same("nor in the tags of a port", []any{}, at(port, "tags"))
	list := c.call(http.MethodGet, "heat", "/stacks?show_nested=true&id="+top.id, nil).list("stacks")
	c.fact("a nested stack is listed when asked for, with its parent and without tags",
		len(list) == 1 && at(list, 0, "parent") == s.id && at(list, 0, "tags") == nil, list)
	c.same("it is not listed otherwise", []string{}, c.listed(url.Values{"id": {top.id}}))
}

// gone checks what is left of a deleted stack.
func (s *stack) gone(have map[string]resource) {
	c := s.c
	c.t.Helper()
	c.eventually("the name is free", func() bool {
		return c.call(http.MethodGet, "heat", "/stacks/"+s.name, nil).status == http.StatusNotFound
	})
	r := s.show()
	c.fact("a deleted stack keeps its page", r.status == http.StatusOK && r.get("stack", "deletion_time") != nil,
		r.status, r.text)
	c.refuses("its name is not known any more", http.StatusNotFound, "EntityNotFound",
		`^The Stack \(`+s.name+`\) could not be found\.$`,
		c.call(http.MethodGet, "heat", "/stacks/"+s.name, nil))
	c.refuses("deleting it again is answered 404", http.StatusNotFound, "EntityNotFound", `could not be found`,
		c.call(http.MethodDelete, "heat", s.path(), nil))
	r = s.patch(nil)
	c.fact("updating it is refused", r.status == http.StatusNotFound || r.status == http.StatusBadRequest, r.status,
		r.text)
	r = c.call(http.MethodGet, "heat", s.path()+"/resources", nil)
	c.fact("it has an empty list of resources", r.status == http.StatusOK && len(r.list("resources")) == 0, r.status,
		r.text)
	c.same("it is not listed", []string{}, c.listed(url.Values{"name": {s.name}}))
	c.same("but when deleted ones are asked for", []string{s.name},
		c.listed(url.Values{"name": {s.name}, "show_deleted": {"true"}}))
	c.answers("its server is gone", http.StatusNotFound, c.server(have["VDU-0/VDU"].id))
	c.answers("its port is gone", http.StatusNotFound, c.port(have["VDU-0/CP"].id))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := connect(t, "refusals")
	const invalid = "StackValidationFailed"
	for _, tc := range []struct {
		what, kind, message string
		body                obj
	}{
		{
			"an unknown type is refused", invalid, `^The Resource Type \(OS::Foo::Bar\) could not be found\.$`,
			obj{"template": hot + "resources: {a: {type: OS::Foo::Bar}}"},
		},
		{
			"an unknown property is refused", invalid,
			`^Property error: : resources\.a\.properties: : Unknown Property colour$`,
			obj{
				"template": hot + "resources: {a: {type: OS::Neutron::Net, properties: {colour: red}}}",
			},
		},
		{
			"an unknown property in a nested file is refused", invalid, `Unknown Property colour$`,
			obj{"template": single, "files": obj{
				"VDU.yaml": strings.Replace(unit, "properties: {network", "properties: {colour: red, network", 1),
			}},
		},
		{
			"an unknown parameter of a nested file is refused", invalid,
			`^Property error: : resources\.VDU-0\.properties: : Unknown Property bogus$`,
			obj{"template": strings.Replace(single, "properties: {flavor", "properties: {bogus: 1, flavor",
				1), "files": obj{"VDU.yaml": unit}},
		},
		{
			"a missing property is refused", invalid,
			`^Property error: : resources\.a\.properties: : Property flavor not assigned$`,
			obj{
				"template": hot +
					"resources: {a: {type: OS::Nova::Server, properties: {image: cirros-0.5.2-x86_64-disk}}}",
			},
		},
		{
			"a missing file is refused", invalid, `^Could not fetch remote template "VDU\.yaml": Invalid URL scheme $`,
			obj{"template": single},
		},
		{
			"a missing parameter is refused", "UserParameterMissing", `^The Parameter \(p\) was not provided\.$`,
			obj{"template": hot + "parameters: {p: {type: string}}"},
		},
		{
			"an unknown parameter is refused", "UnknownUserParameter",
			`^The Parameter \(q\) was not defined in template\.$`,
			obj{"template": hot, "parameters": obj{"q": "1"}},
		},
		{
			"a dangling reference is refused", "InvalidTemplateReference", `The specified reference "b"`,
			obj{"template": hot + "resources: {a: {type: OS::Neutron::Net, properties: {name: {get_resource: b}}}}"},
		},
		{"an unknown flavor in the top template is refused", invalid, `^Property error: : resources\.a\.properties\.flavor: : Error validating value 'm9\.none': No Flavor matching \{'name': 'm9\.none'\}\. \(HTTP 404\)$`, obj{"template": hot + "resources: {a: {type: OS::Nova::Server, properties: {flavor: m9.none, image: cirros-0.5.2-x86_64-disk}}}"}},
		{"an unknown image in the top template is refused", invalid, `resources\.a\.properties\.image: : Error validating value 'none': No images matching \{'name': 'none'\}\.$`, obj{"template": hot + "resources: {a: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: none}}}"}},
		{"an unknown network in the top template is refused", invalid, `resources\.a\.properties\.network: : Error validating value 'none': Unable to find network with name or id 'none'$`, obj{"template": hot + "resources: {a: {type: OS::Neutron::Port, properties: {network: none}}}"}},
		{
			"an unknown port in the top template is refused", invalid,
			`resources\.a\.properties\.networks\[0\]\.port: : Error validating value '` + unknownID +
				`': Unable to find port with name or id '` + unknownID + `'$`,
			obj{
				"template": hot +
					"resources: {a: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: " +
					"cirros-0.5.2-x86_64-disk, networks: [{port: " + unknownID +
					"}]}}}",
			},
		},
		{"a parameter that breaks its constraint is refused", invalid, `^Parameter 'n' is invalid: Error validating value 'x': No Flavor matching \{'name': 'x'\}\. \(HTTP 404\)$`, obj{"template": hot + "parameters: {n: {type: string, constraints: [{custom_constraint: nova.flavor}]}}", "parameters": obj{"n": "x"}}},
		{"an unknown version is refused", "InvalidTemplateVersion", `2001-01-01`, obj{
			"template": "heat_template_version: 2001-01-01",
		}},
		{"a request without a template is refused", "HTTPBadRequest", `^No template specified$`, obj{}},
		{
			"a timeout that is no number is refused", "HTTPBadRequest",
			`^Only integer is acceptable by 'timeout_mins'\.$`,
			obj{"template": hot, "timeout_mins": "x"},
		},
	} {
		c.refuses(tc.what, http.StatusBadRequest, tc.kind, tc.message, c.post(fresh("refused"), tc.body))
	}
	c.refuses("a name with a blank is refused", http.StatusBadRequest, invalid,
		`^Invalid stack name 1 x must contain only alphanumeric`, c.post("1 x", obj{"template": hot}))
	r := c.post(fresh("refused"), obj{"template": hot +
		"resources: {a: {type: OS::Neutron::Net, depends_on: b}, b: {type: OS::Neutron::Net, depends_on: a}}"})
	c.fact("a cycle is refused", r.status >= http.StatusBadRequest, r.status, r.text)
	c.answers("tags as a list are refused", http.StatusBadRequest,
		c.post(fresh("refused"), obj{"template": hot, "tags": []string{"a"}}))
	c.answers("an unknown stack is not found", http.StatusNotFound,
		c.call(http.MethodGet, "heat", "/stacks/contract-none/"+unknownID, nil))
	c.answers("what is not JSON is refused", http.StatusBadRequest, c.call(http.MethodPost, "heat", "/stacks", "{"))
}

const unknownID = "11111111-2222-3333-4444-555555555555"

// nulls hands null to parameters of every type.
const nulls = hot + `
resources:
  N:
    type: N.yaml
    properties: {text: null, number: null, flag: null, list: null, object: null, named: null}
outputs:
  all: {value: {get_attr: [N, all]}}`

const nullable = hot + `
parameters:
  text: {type: string}
  number: {type: number}
  flag: {type: boolean}
  list: {type: comma_delimited_list}
  object: {type: json}
  named: {type: string, default: name}
resources:
  V: {type: "OS::Heat::Value", properties: {value: {get_param: text}}}
outputs:
  all:
    value:
      - {get_param: text}
      - {get_param: number}
      - {get_param: flag}
      - {get_param: list}
      - {get_param: object}
      - {get_param: named}`

// TestNull: gybe sends null where no value is given, as for a zone.
func TestNull(t *testing.T) {
	t.Parallel()
	c := connect(t, "null")
	s := c.create("null", obj{"template": nulls, "files": obj{"N.yaml": nullable}}, "CREATE_COMPLETE")
	c.same("null is the empty value of a nested parameter, whatever its type and default",
		[]any{"", 0.0, false, []any{}, obj{}, ""},
		s.show().get("stack", "outputs", 0, "output_value"))
}
