package contract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"
)

const member = `
heat_template_version: 2013-05-23
parameters:
  flavor: {type: string}
  net: {type: string}
resources:
  VDU:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
      image: cirros-0.5.2-x86_64-disk
      networks: [{port: {get_resource: VDU_CP}}]
  VDU_CP:
    type: OS::Neutron::Port
    properties: {network: {get_param: net}}
  VDU_CP_floating_ip:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: VDU_CP}}
outputs:
  ip: {value: {get_attr: [VDU_CP, fixed_ips, 0, ip_address]}}
`

const top = `
heat_template_version: 2013-05-23
parameters:
  nfv: {type: json}
resources:
  VDU-0:
    type: member.yaml
    properties:
      flavor: {get_param: [nfv, VDU, VDU-0, computeFlavourId]}
      net: {get_param: [nfv, CP, VDU_CP-0, network]}
outputs:
  ip: {value: {get_attr: [VDU-0, ip]}}
`

func request() map[string]any {
	return map[string]any{
		"template": top, "files": map[string]string{"member.yaml": member}, "timeout_mins": 20,
		"parameters": map[string]any{"nfv": map[string]any{
			"VDU": map[string]any{"VDU-0": map[string]any{"computeFlavourId": "m1.tiny"}},
			"CP":  map[string]any{"VDU_CP-0": map[string]any{"network": "net0"}},
		}},
	}
}

func TestNestedStackLife(t *testing.T) {
	t.Parallel()
	c := connect(t)
	const name = "contract-nested"
	st := c.create(t, name, request(), "CREATE_COMPLETE")
	require.Contains(t, st.Parameters["nfv"], "m1.tiny", "a json parameter is shown as its text")
	require.Equal(t, st.ID, st.Parameters["OS::stack_id"])
	require.NotNil(t, st.Outputs[0]["output_value"])

	res := c.resources(t, name, st.ID)
	require.Len(t, res, 4)
	require.Equal(t, "member.yaml", res["VDU-0"].Type)
	require.Empty(t, res["VDU-0"].ParentResource)
	rels := map[string]string{}
	for _, l := range res["VDU-0/VDU"].Links {
		rels[l.Rel] = l.Href
	}
	require.True(t, strings.HasSuffix(rels["stack"], "/"+res["VDU-0"].PhysicalID), "%v", rels)
	require.Regexp(t, `/stacks/`+name+`-VDU-0-[a-z0-9]{12}/`, rels["stack"])
	require.Contains(t, rels, "self")

	srv, err := servers.Get(t.Context(), c.nova, res["VDU-0/VDU"].PhysicalID).Extract()
	require.NoError(t, err)
	require.Equal(t, "ACTIVE", srv.Status)
	kinds := map[any]bool{}
	for _, a := range srv.Addresses["net0"].([]any) {
		kinds[a.(map[string]any)["OS-EXT-IPS:type"]] = true
	}
	require.Equal(t, map[any]bool{"fixed": true, "floating": true}, kinds)

	found, err := stacks.Find(t.Context(), c.heat, name).Extract()
	require.NoError(t, err, "the name redirects to the page")
	require.Equal(t, st.ID, found.ID)
	c.remove(t.Context(), t, name, st.ID)
	_, err = stacks.Find(t.Context(), c.heat, name).Extract()
	status, kind, _ := refusal(t, err)
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "EntityNotFound", kind)
	gone, err := stacks.Get(t.Context(), c.heat, name, st.ID).Extract()
	require.NoError(t, err, "a deleted stack keeps its page")
	require.Equal(t, "DELETE_COMPLETE", gone.Status)
	_, err = servers.Get(t.Context(), c.nova, srv.ID).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusNotFound))
}

func TestScaleAndHealThroughPatch(t *testing.T) {
	t.Parallel()
	c := connect(t)
	const name = "contract-patch"
	st := c.create(t, name, request(), "CREATE_COMPLETE")
	two := strings.Replace(top, "outputs:", strings.ReplaceAll(top[strings.Index(top, "  VDU-0:"):strings.Index(top, "outputs:")], "  VDU-0:", "  VDU-1:")+"outputs:", 1)
	before := c.resources(t, name, st.ID)
	c.patch(t, name, st.ID, map[string]any{"template": two})
	scaled := c.resources(t, name, st.ID)
	require.Len(t, scaled, 8)
	require.Equal(t, before["VDU-0/VDU"].PhysicalID, scaled["VDU-0/VDU"].PhysicalID)

	nested, err := stacks.Find(t.Context(), c.heat, scaled["VDU-1"].PhysicalID).Extract()
	require.NoError(t, err)
	require.NoError(t, stackresources.MarkUnhealthy(t.Context(), c.heat, nested.Name, nested.ID, "VDU",
		stackresources.MarkUnhealthyOpts{MarkUnhealthy: true, ResourceStatusReason: "marked"}).ExtractErr())
	c.patch(t, name, st.ID, map[string]any{})
	healed := c.resources(t, name, st.ID)
	require.NotEqual(t, scaled["VDU-1/VDU"].PhysicalID, healed["VDU-1/VDU"].PhysicalID)
	require.Equal(t, scaled["VDU-1/VDU_CP"].PhysicalID, healed["VDU-1/VDU_CP"].PhysicalID)
	require.Equal(t, scaled["VDU-0/VDU"].PhysicalID, healed["VDU-0/VDU"].PhysicalID)
	page, err := ports.List(c.neutron, ports.ListOpts{DeviceID: healed["VDU-1/VDU"].PhysicalID}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := ports.ExtractPorts(page)
	require.NoError(t, err)
	require.Len(t, list, 1)

	c.patch(t, name, st.ID, map[string]any{"template": top})
	require.Len(t, c.resources(t, name, st.ID), 4)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := connect(t)
	const hot = "heat_template_version: 2013-05-23\n"
	for _, tc := range []struct {
		name, kind, message string
		status              int
		body                map[string]any
	}{
		{"unknown type", "StackValidationFailed", "The Resource Type (OS::Foo::Bar) could not be found.", 400, map[string]any{"template": hot + "resources: {a: {type: OS::Foo::Bar}}"}},
		{"unknown property", "StackValidationFailed", "Unknown Property colour", 400, map[string]any{"template": hot + "resources: {a: {type: OS::Neutron::Net, properties: {colour: red}}}"}},
		{"missing parameter", "UserParameterMissing", "The Parameter (p) was not provided.", 400, map[string]any{"template": hot + "parameters: {p: {type: string}}"}},
		{"unknown parameter", "UnknownUserParameter", "The Parameter (q) was not defined in template.", 400, map[string]any{"template": hot, "parameters": map[string]any{"q": "1"}}},
		{"bad reference", "InvalidTemplateReference", `The specified reference "b"`, 400, map[string]any{"template": hot + "resources: {a: {type: OS::Neutron::Net, properties: {name: {get_resource: b}}}}"}},
		{"cycle", "CircularDependencyException", "Circular Dependency Found", 400, map[string]any{"template": hot + "resources: {a: {type: OS::Neutron::Net, depends_on: b}, b: {type: OS::Neutron::Net, depends_on: a}}"}},
		{"unknown flavor", "StackValidationFailed", "No Flavor matching {'name': 'm9.none'}", 400, map[string]any{"template": hot + "resources: {a: {type: OS::Nova::Server, properties: {flavor: m9.none, image: cirros-0.5.2-x86_64-disk}}}"}},
		{"unknown image", "StackValidationFailed", "No images matching {'name': 'none'}", 400, map[string]any{"template": hot + "resources: {a: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: none}}}"}},
		{"unknown network", "StackValidationFailed", "Unable to find network with name or id 'none'", 400, map[string]any{"template": hot + "resources: {a: {type: OS::Neutron::Port, properties: {network: none}}}"}},
		{"unknown version", "InvalidTemplateVersion", "2001-01-01", 400, map[string]any{"template": "heat_template_version: 2001-01-01"}},
	} {
		tc.body["stack_name"] = "contract-refused"
		_, err := c.heat.Post(t.Context(), c.heat.ServiceURL("stacks"), tc.body, nil, nil)
		status, kind, message := refusal(t, err)
		require.Equal(t, tc.status, status, tc.name)
		require.Equal(t, tc.kind, kind, tc.name)
		require.Contains(t, message, tc.message, tc.name)
	}
	c.create(t, "contract-twice", map[string]any{"template": hot}, "CREATE_COMPLETE")
	_, err := c.heat.Post(t.Context(), c.heat.ServiceURL("stacks"), map[string]any{"stack_name": "contract-twice", "template": hot}, nil, nil)
	status, kind, _ := refusal(t, err)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "StackExists", kind)
}

func TestFailureReasonNamesThePath(t *testing.T) {
	t.Parallel()
	c := connect(t)
	body := request()
	body["files"] = map[string]string{"member.yaml": strings.Replace(member, "      networks:", "      availability_zone: 'mars'\n      networks:", 1)}
	st := c.create(t, "contract-failure", body, "CREATE_FAILED")
	require.Contains(t, st.StatusReason, "Resource CREATE failed: ")
	require.Contains(t, st.StatusReason, "resources.VDU-0.resources.VDU: ")
	require.Contains(t, st.StatusReason, "The requested availability zone is not available")
}

func TestAntiAffinityGroup(t *testing.T) {
	t.Parallel()
	c := connect(t)
	const group = `
heat_template_version: 2018-08-31
resources:
  grp: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity]}}
  rg:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: OS::Nova::Server
        properties:
          name: contract-%index%
          flavor: m1.tiny
          image: cirros-0.5.2-x86_64-disk
          networks: [{network: net0}]
          scheduler_hints: {group: {get_resource: grp}}
`
	st := c.create(t, "contract-group", map[string]any{"template": group}, "CREATE_COMPLETE")
	hosts := map[string]bool{}
	for name, r := range c.resources(t, "contract-group", st.ID) {
		if strings.HasPrefix(name, "rg/") {
			srv, err := servers.Get(t.Context(), c.nova, r.PhysicalID).Extract()
			require.NoError(t, err)
			require.Equal(t, "contract-"+strings.TrimPrefix(name, "rg/"), srv.Name)
			hosts[srv.HostID+srv.Host] = true
		}
	}
	require.Len(t, hosts, 2)
}
