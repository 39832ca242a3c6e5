package simcloud

import (
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"
)

// template makes a gophercloud template whose nested files are sent under their bare names.
func template(top string) *stacks.Template {
	tmpl := &stacks.Template{}
	tmpl.Bin = []byte(top)
	return tmpl
}

// createStack sends a create as a VNFM does, with files under bare names, and returns name and id.
func createStack(t *testing.T, u *user, name, top string, files map[string]string, params map[string]any) string {
	t.Helper()
	var out struct {
		Stack struct{ ID string } `json:"stack"`
	}
	_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks"), map[string]any{
		"stack_name": name, "template": top, "files": files, "parameters": params, "timeout_mins": 20,
	}, &out, nil)
	require.NoError(t, err)
	return out.Stack.ID
}

func waitStack(t *testing.T, u *user, id, want string) *stacks.RetrievedStack {
	t.Helper()
	var st *stacks.RetrievedStack
	eventually(t, "stack "+id+" is "+want, func() bool {
		var err error
		st, err = stacks.Find(t.Context(), u.heat, id).Extract()
		require.NoError(t, err)
		require.False(t, strings.HasSuffix(st.Status, "FAILED") && !strings.HasSuffix(want, "FAILED"), "%s: %s",
			st.Status, st.StatusReason)
		return st.Status == want
	})
	return st
}

func resources(t *testing.T, u *user, name, id string, depth int) map[string]stackresources.Resource {
	t.Helper()
	page, err := stackresources.List(u.heat, name, id, stackresources.ListOpts{Depth: depth}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := stackresources.ExtractResources(page)
	require.NoError(t, err)
	out := map[string]stackresources.Resource{}
	for _, r := range list {
		key := r.Name
		if r.ParentResource != "" {
			key = r.ParentResource + "/" + r.Name
		}
		out[key] = r
	}
	return out
}

const workerFile = `
heat_template_version: 2013-05-23
parameters:
  flavor: {type: string}
  image: {type: string}
  net: {type: string}
  vip: {type: string, default: ''}
resources:
  worker:
    type: OS::Nova::Server
    properties:
      name: worker
      flavor: {get_param: flavor}
      image: {get_param: image}
      networks: [{port: {get_resource: worker_CP1}}]
  worker_CP1:
    type: OS::Neutron::Port
    properties:
      network: {get_param: net}
  worker_CP1_floating_ip:
    type: OS::Neutron::FloatingIP
    properties:
      floating_network: public
      port_id: {get_resource: worker_CP1}
outputs:
  ip: {value: {get_attr: [worker_CP1, fixed_ips, 0, ip_address]}}
`

const workersTop = `
heat_template_version: 2013-05-23
parameters:
  nfv: {type: json}
resources:
  worker-0: &w
    type: worker.yaml
    properties:
      flavor: {get_param: [nfv, VDU, worker-0, computeFlavourId]}
      image: {get_param: [nfv, VDU, worker-0, vcImageId]}
      net: {get_param: [nfv, CP, worker_CP1-0, network]}
  worker-1: *w
outputs:
  ips: {value: [{get_attr: [worker-0, ip]}, {get_attr: [worker-1, ip]}]}
`

func nfv() map[string]any {
	return map[string]any{"nfv": map[string]any{
		"VDU": map[string]any{"worker-0": map[string]any{
			"computeFlavourId": "m1.medium", "vcImageId": "ubuntu-22.04-server-cloudimg-amd64",
		}},
		"CP": map[string]any{"worker_CP1-0": map[string]any{"network": Net0}},
	}}
}

func TestStackWithNestedStacks(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	before := c.State()
	id := createStack(t, u, "vnf-1", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	st := waitStack(t, u, id, "CREATE_COMPLETE")
	require.Equal(t, "vnf-1", st.Name)
	require.Contains(t, st.Parameters["nfv"], `"computeFlavourId":"m1.medium"`)
	res := resources(t, u, "vnf-1", id, 2)
	require.Len(t, res, 2+2*3)
	require.Equal(t, "worker.yaml", res["worker-0"].Type)
	server := res["worker-0/worker"]
	require.Equal(t, "OS::Nova::Server", server.Type)
	var nested string
	for _, l := range server.Links {
		if l.Rel == "stack" {
			nested = l.Href
		}
	}
	require.Regexp(t, `/stacks/vnf-1-worker-0-[a-z2-7]{12}/[0-9a-f-]{36}$`, nested)
	require.True(
		t, strings.HasSuffix(nested, res["worker-0"].PhysicalID), "the nested resource's id is the nested stack's",
	)
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "vnf-1", id).ExtractErr())
	eventually(t, "nothing left", func() bool { return len(c.State().Since(before)) == 0 })
	require.Equal(t, "DELETE_COMPLETE", waitStack(t, u, id, "DELETE_COMPLETE").Status)
}
