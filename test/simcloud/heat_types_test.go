package simcloud

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackevents"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"
)

const everything = `
heat_template_version: 2018-08-31
parameters: {big: {type: boolean, default: false}}
conditions: {big: {get_param: big}}
resources:
  net: {type: OS::Neutron::Net, properties: {name: inner, tags: [a]}}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24, gateway_ip: 10.9.0.254}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  iface: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}}
  group:
    type: OS::Neutron::SecurityGroup
    properties:
      rules: [{protocol: tcp, port_range_min: 22, port_range_max: 22}, {protocol: icmp, remote_mode: remote_group_id}]
  port:
    type: OS::Neutron::Port
    depends_on: subnet
    properties:
      network: {get_resource: net}
      fixed_ips: [{subnet: {get_resource: subnet}, ip_address: 10.9.0.77}]
      security_groups: [{get_resource: group}]
      tags: [x]
  fip: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
  assoc:
    type: OS::Neutron::FloatingIPAssociation
    depends_on: iface
    properties: {floatingip_id: {get_resource: fip}, port_id: {get_resource: port}}
  boot: {type: OS::Cinder::Volume, properties: {size: 2, image: cirros-0.5.2-x86_64-disk}}
  data: {type: OS::Cinder::Volume, properties: {size: 1, metadata: {k: 1}}}
  more: {type: OS::Cinder::Volume, properties: {size: {if: [big, 9, 3]}}}
  server:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{port: {get_resource: port}}, {subnet: subnet0}]
      block_device_mapping_v2:
        - {volume_id: {get_resource: boot}, boot_index: 0}
        - {volume_id: {get_resource: data}, boot_index: -1}
  attach: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: server}, volume_id: {get_resource: more}}}
  secret: {type: OS::Heat::RandomString, properties: {length: 20, sequence: digits}}
  value: {type: OS::Heat::Value, properties: {value: {list_join: ["-", [{get_attr: [secret, value]}, end]]}}}
  ignored: {type: OS::Heat::None, properties: {whatever: [1]}}
  only_big: {type: OS::Heat::RandomString, condition: big}
outputs:
  secret: {value: {get_resource: secret}}
  value: {value: {get_attr: [value, value]}}
  device: {value: {get_attr: [more, attachments_list, 0, device]}}
  addresses: {value: {get_attr: [server, networks, inner]}}
  cidr: {value: {get_attr: [port, subnets, 0, cidr]}}
  none: {value: {get_attr: [ignored, anything]}}
  wrong: {value: {get_attr: [port, nothing]}}
`

func TestEveryResourceType(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	before := c.State()
	id := createStack(t, u, "all", everything, nil, nil)
	st := waitStack(t, u, id, "CREATE_COMPLETE")
	out := map[string]any{}
	for _, o := range st.Outputs {
		out[o["output_key"].(string)] = o["output_value"]
		if o["output_key"] == "wrong" {
			require.Equal(t, "The Referenced Attribute (port nothing) is incorrect.", o["output_error"])
		}
	}
	require.Regexp(t, `^\d{20}$`, out["secret"])
	require.Equal(t, out["secret"].(string)+"-end", out["value"])
	require.Equal(t, "/dev/vdc", out["device"])
	require.Equal(t, "10.9.0.77", out["addresses"].([]any)[0])
	require.Len(t, out["addresses"], 2, "fixed and floating")
	require.Equal(t, "10.9.0.0/24", out["cidr"])
	require.Nil(t, out["none"])
	res := resources(t, u, "all", id, 1)
	require.NotContains(t, res, "only_big")
	require.Contains(t, res["port"].RequiredBy, "server")
	srv, err := servers.Get(t.Context(), u.nova, res["server"].PhysicalID).Extract()
	require.NoError(t, err)
	require.Len(t, srv.AttachedVolumes, 3)
	require.Len(t, srv.Addresses, 2)
	p, err := ports.Get(t.Context(), u.neutron, res["port"].PhysicalID).Extract()
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, p.Tags)
	r, err := stackresources.Get(t.Context(), u.heat, "all", id, "port").Extract()
	require.NoError(t, err)
	require.Equal(t, "10.9.0.77", r.Attributes["fixed_ips"].([]any)[0].(map[string]any)["ip_address"])

	// a volume grows while it is in use
	change(
		t, u, http.MethodPatch, "all", id, map[string]any{"parameters": map[string]any{"big": true}}, "UPDATE_COMPLETE",
	)
	// and does not shrink
	change(
		t, u, http.MethodPatch, "all", id, map[string]any{"parameters": map[string]any{"big": false}}, "UPDATE_FAILED",
	)
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "all", id).ExtractErr())
	eventually(t, "nothing left", func() bool { return len(c.State().Since(before)) == 0 })
}

func TestResourcesAreMadeInOrder(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	const top = `
heat_template_version: 2013-05-23
resources:
  a: {type: OS::Heat::RandomString, properties: {salt: {get_attr: [c, value]}}}
  b: {type: OS::Heat::RandomString, depends_on: [a, d]}
  c: {type: OS::Heat::RandomString}
  d: {type: OS::Heat::RandomString, properties: {salt: {str_replace: {template: v, params: {v: {get_resource: c}}}}}}
`
	c.SetTiming(
		Timing{Create: map[string]Duration{"*": Duration(2e6)}, Delete: map[string]Duration{"*": Duration(2e6)}},
	)
	id := createStack(t, u, "order", top, nil, nil)
	waitStack(t, u, id, "CREATE_COMPLETE")
	events := func(status string) []string {
		page, err := stackevents.List(u.heat, "order", id, nil).AllPages(t.Context())
		require.NoError(t, err)
		list, err := stackevents.ExtractEvents(page)
		require.NoError(t, err)
		var out []string
		for _, e := range list {
			if e.ResourceStatus == status && e.ResourceName != "order" {
				out = append(out, e.ResourceName)
			}
		}
		return out
	}
	made := events("CREATE_COMPLETE")
	require.Equal(t, "c", made[0])
	require.Equal(t, "b", made[3])
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "order", id).ExtractErr())
	waitStack(t, u, id, "DELETE_COMPLETE")
	gone := events("DELETE_COMPLETE")
	require.Equal(t, "b", gone[0])
	require.Equal(t, "c", gone[3])
	require.Len(t, slices.Compact(gone), 4)
}

func TestStackActions(t *testing.T) {
	t.Parallel()
	_, u := start(t)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	act := func(name string) error {
		_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks", "vnf", id, "actions"), map[string]any{name: nil},
			nil, &gophercloud.RequestOpts{OkCodes: []int{200}})
		return err
	}
	require.NoError(t, act("check"))
	waitStack(t, u, id, "CHECK_COMPLETE")
	require.NoError(t, servers.Delete(t.Context(), u.nova, resources(t, u, "vnf", id,
		2)["worker-1/worker"].PhysicalID).ExtractErr())
	eventually(t, "the server goes", func() bool {
		return len(resources(t, u, "vnf", id, 2)) > 0 && len(serverList(t, u)) == 1
	})
	require.NoError(t, act("check"))
	st := waitStack(t, u, id, "CHECK_FAILED")
	require.Contains(t, st.StatusReason, "could not be found")
	change(t, u, http.MethodPatch, "vnf", id, map[string]any{}, "UPDATE_COMPLETE")
	require.Len(t, serverList(t, u), 2, "a server that failed the check is recreated")
	err := act("cancel_update")
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusBadRequest), "%v", err)
}

func serverList(t *testing.T, u *user) []servers.Server {
	t.Helper()
	page, err := servers.List(u.nova, nil).AllPages(t.Context())
	require.NoError(t, err)
	list, err := servers.ExtractServers(page)
	require.NoError(t, err)
	return list
}
