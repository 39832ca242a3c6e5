package simcloud

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacktemplates"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// change sends a PATCH (existing) or PUT and waits for its end.
func change(t *testing.T, u *user, method, name, id string, body map[string]any, want string) *stacks.RetrievedStack {
	t.Helper()
	send := u.heat.Patch
	if method == http.MethodPut {
		send = u.heat.Put
	}
	_, err := send(t.Context(), u.heat.ServiceURL("stacks", name, id), body, nil, nil)
	require.NoError(t, err)
	return waitStack(t, u, id, want)
}

func TestPatchAddsAndRemovesMembers(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	files := map[string]string{"worker.yaml": workerFile}
	id := createStack(t, u, "vnf", workersTop, files, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	kept := resources(t, u, "vnf", id, 2)["worker-0/worker"].PhysicalID

	top := strings.Replace(workersTop, "worker-1: *w", "worker-1: *w\n  worker-2: *w", 1)
	change(t, u, http.MethodPatch, "vnf", id, map[string]any{"template": top}, "UPDATE_COMPLETE")
	res := resources(t, u, "vnf", id, 2)
	require.Equal(t, kept, res["worker-0/worker"].PhysicalID, "what did not change stays")
	require.NotEmpty(t, res["worker-2/worker"].PhysicalID)
	require.Len(t, c.State()["servers"], 3)

	change(t, u, http.MethodPatch, "vnf", id, map[string]any{"template": workersTop}, "UPDATE_COMPLETE")
	require.Len(t, c.State()["servers"], 2)
	require.Len(t, c.State()["floatingips"], 2)

	_, err := u.heat.Put(t.Context(), u.heat.ServiceURL("stacks", "vnf", id),
		map[string]any{"template": workersTop, "files": files}, nil, nil)
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusBadRequest), "PUT does not keep parameters: %v", err)
}

func TestHealReplacesTheMarkedServerOnly(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	before := resources(t, u, "vnf", id, 2)
	nestedID := before["worker-0"].PhysicalID
	nested, err := stacks.Find(t.Context(), u.heat, nestedID).Extract()
	require.NoError(t, err)
	require.NoError(t, stackresources.MarkUnhealthy(t.Context(), u.heat, nested.Name, nestedID, "worker",
		stackresources.MarkUnhealthyOpts{MarkUnhealthy: true, ResourceStatusReason: "marked"}).ExtractErr())
	r, err := stackresources.Get(t.Context(), u.heat, nested.Name, nestedID, "worker").Extract()
	require.NoError(t, err)
	require.Equal(t, "CHECK_FAILED", r.Status)
	require.Equal(t, "marked", r.StatusReason)

	change(t, u, http.MethodPatch, "vnf", id, map[string]any{}, "UPDATE_COMPLETE")
	after := resources(t, u, "vnf", id, 2)
	require.NotEqual(t, before["worker-0/worker"].PhysicalID, after["worker-0/worker"].PhysicalID)
	require.Equal(
		t, before["worker-0/worker_CP1"].PhysicalID, after["worker-0/worker_CP1"].PhysicalID, "its port is taken over",
	)
	require.Equal(t, before["worker-1/worker"].PhysicalID, after["worker-1/worker"].PhysicalID)
	require.Equal(t, nestedID, after["worker-0"].PhysicalID)
	require.Len(t, c.State()["servers"], 2)
	srv, err := servers.Get(t.Context(), u.nova, after["worker-0/worker"].PhysicalID).Extract()
	require.NoError(t, err)
	require.Len(t, srv.Addresses[Net0], 2, "fixed and floating address follow")

	require.NoError(t, stackresources.MarkUnhealthy(t.Context(), u.heat, "vnf", id, "worker-1",
		stackresources.MarkUnhealthyOpts{MarkUnhealthy: true}).ExtractErr())
	change(t, u, http.MethodPatch, "vnf", id, map[string]any{}, "UPDATE_COMPLETE")
	again := resources(t, u, "vnf", id, 2)
	require.NotEqual(
		t, after["worker-1"].PhysicalID, again["worker-1"].PhysicalID, "a marked nested stack is replaced as a whole",
	)
	require.Len(t, c.State()["servers"], 2)
}

func TestUpdateInPlaceAndReplacement(t *testing.T) {
	t.Parallel()
	_, u := start(t)
	const top = `
heat_template_version: 2015-10-15
parameters: {zone: {type: string, default: nova}, tag: {type: string, default: a}, flavor: {type: string, default: m1.tiny}}
resources:
  server:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
      image: cirros-0.5.2-x86_64-disk
      availability_zone: {get_param: zone}
      metadata: {tag: {get_param: tag}}
      user_data: {str_replace: {template: "hello $who", params: {$who: {get_param: tag}}}}
      user_data_format: RAW
      networks: [{network: net0}]
`
	id := createStack(t, u, "one", top, nil, nil)
	waitStack(t, u, id, "CREATE_COMPLETE")
	first := resources(t, u, "one", id, 0)["server"].PhysicalID
	change(t, u, http.MethodPatch, "one", id, map[string]any{"parameters": map[string]any{"flavor": "m1.small"}},
		"UPDATE_COMPLETE")
	same := resources(t, u, "one", id, 0)["server"].PhysicalID
	require.Equal(t, first, same, "a flavor changes in place")
	change(
		t, u, http.MethodPatch, "one", id, map[string]any{"parameters": map[string]any{"tag": "b"}}, "UPDATE_COMPLETE",
	)
	require.NotEqual(
		t, first, resources(t, u, "one", id, 0)["server"].PhysicalID, "other user data need another server",
	)
	st, err := stacks.Get(t.Context(), u.heat, "one", id).Extract()
	require.NoError(t, err)
	require.Equal(t, "m1.small", st.Parameters["flavor"], "PATCH keeps parameters that it does not name")
	tmpl, err := stacktemplates.Get(t.Context(), u.heat, "one", id).Extract()
	require.NoError(t, err)
	require.Contains(t, string(tmpl), "OS::Nova::Server")
}

const asgTop = `
heat_template_version: 2013-05-23
parameters: {n: {type: number, default: 1}}
resources:
  workers:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 4
      desired_capacity: {get_param: n}
      resource:
        type: worker.yaml
        properties: {flavor: m1.tiny, image: cirros-0.5.2-x86_64-disk, net: net0}
  out:
    type: OS::Heat::ScalingPolicy
    properties: {adjustment_type: change_in_capacity, auto_scaling_group_id: {get_resource: workers}, scaling_adjustment: 1}
outputs:
  size: {value: {get_attr: [workers, current_size]}}
  ips: {value: {get_attr: [workers, outputs_list, ip]}}
`

func TestAutoScalingGroup(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	id := createStack(t, u, "asg", asgTop, map[string]string{"worker.yaml": workerFile}, nil)
	waitStack(t, u, id, "CREATE_COMPLETE")
	require.Len(t, c.State()["servers"], 1)
	first := c.State()["servers"][0].ID
	require.NoError(t, sim.Sleep(t.Context(), time.Second)) // ages count in seconds
	change(t, u, http.MethodPatch, "asg", id, map[string]any{"parameters": map[string]any{"n": 3}}, "UPDATE_COMPLETE")
	require.Len(t, c.State()["servers"], 3)
	st, err := stacks.Get(t.Context(), u.heat, "asg", id).Extract()
	require.NoError(t, err)
	for _, o := range st.Outputs {
		if o["output_key"] == "ips" {
			require.Len(t, o["output_value"], 3)
		}
	}
	_, err = u.heat.Post(t.Context(), u.heat.ServiceURL("stacks", "asg", id, "resources", "out", "signal"), nil, nil,
		&gophercloud.RequestOpts{OkCodes: []int{200}})
	require.NoError(t, err)
	eventually(t, "the signal adds a member", func() bool { return len(c.State()["servers"]) == 4 })
	eventually(t, "the group settles", func() bool {
		for _, s := range c.State()["stacks"] {
			if strings.HasSuffix(s.Status, "PROGRESS") {
				return false
			}
		}
		return true
	})
	change(t, u, http.MethodPatch, "asg", id, map[string]any{"parameters": map[string]any{"n": 2}}, "UPDATE_COMPLETE")
	left := c.State()["servers"]
	require.Len(t, left, 2)
	for _, s := range left {
		require.NotEqual(t, first, s.ID, "the oldest member goes first")
	}
}

func TestResourceGroupNumbersItsMembers(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	const top = `
heat_template_version: 2018-08-31
parameters: {n: {type: number, default: 3}}
resources:
  grp: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity]}}
  rg:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: n}
      resource_def:
        type: OS::Nova::Server
        properties:
          name: sg%index%
          flavor: m1.tiny
          image: cirros-0.5.2-x86_64-disk
          networks: [{network: net0}]
          scheduler_hints: {group: {get_resource: grp}}
outputs:
  addresses: {value: {get_attr: [rg, first_address]}}
  second: {value: {get_attr: [rg, resource.1, name]}}
`
	id := createStack(t, u, "rg", top, nil, nil)
	st := waitStack(t, u, id, "CREATE_COMPLETE")
	out := map[string]any{}
	for _, o := range st.Outputs {
		out[o["output_key"].(string)] = o["output_value"]
	}
	require.Len(t, out["addresses"], 3)
	require.Equal(t, "sg1", out["second"])
	hosts := map[string]bool{}
	for _, s := range c.State()["servers"] {
		hosts[s.Detail] = true
	}
	require.Len(t, hosts, 3, "anti-affinity puts every member on a host of its own")
	change(t, u, http.MethodPatch, "rg", id, map[string]any{"parameters": map[string]any{"n": 1}}, "UPDATE_COMPLETE")
	require.Equal(t, "sg0", c.State()["servers"][0].Name)
}

func TestNestedTemplateMayChangeItsName(t *testing.T) {
	t.Parallel()
	_, u := start(t)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	before := resources(t, u, "vnf", id, 2)

	top := strings.ReplaceAll(workersTop, "type: worker.yaml", "type: worker.2.yaml")
	require.NotEqual(t, workersTop, top)
	change(t, u, http.MethodPatch, "vnf", id,
		map[string]any{"template": top, "files": map[string]string{"worker.2.yaml": workerFile}}, "UPDATE_COMPLETE")
	after := resources(t, u, "vnf", id, 2)
	require.Equal(t, "worker.2.yaml", after["worker-0"].Type)
	for name, r := range before {
		require.Equal(t, r.PhysicalID, after[name].PhysicalID, name)
	}
}
