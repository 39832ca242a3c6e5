package openstack_test

import (
	"encoding/json"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tackerapi"
	"github.com/gybe-nfv/gybe/test/tacker"
)

// manager is a Tacker in front of the lab.
func (w *world) manager() (*tacker.Server, *tacker.VIM) {
	w.t.Helper()
	server := tacker.Start(w.t, tacker.Options{})
	v := w.lab.vars
	return server, server.Connect(gophercloud.AuthOptions{
		IdentityEndpoint: v["OS_AUTH_URL"], Username: v["OS_USERNAME"], Password: v["OS_PASSWORD"],
		DomainName: "Default", TenantName: v["OS_PROJECT_NAME"], AllowReauth: true,
		Scope: &gophercloud.AuthScope{ProjectName: v["OS_PROJECT_NAME"], DomainName: "Default"},
	})
}

// read reads an instance of Tacker as the command does.
func (w *world) read(server *tacker.Server, id string) *tackerapi.Instance {
	w.t.Helper()
	c, err := tackerapi.New(server.URL, tackerapi.Options{})
	require.NoError(w.t, err)
	in, err := c.Instance(w.t.Context(), id, 0)
	require.NoError(w.t, err)
	return in
}

// The stand-in of Tacker makes stacks that the real Heat accepts, and says of them what OpenStack says.
func TestAdoptableStacks(t *testing.T) {
	w := start(t, 0) // no node of Gybe has a part in it
	server, vim := w.manager()
	standard, groups := server.AddPackage("../../packages/standard"), server.AddPackage(
		server.Version1("../../packages/groups"))
	for name, tt := range map[string]struct {
		instantiate func() *tacker.VNF
		out, in     int
	}{
		"a stack per VNFC": {
			func() *tacker.VNF { return vim.Standard(standard, "by Tacker", w.standard("volumes")) }, 2, 1,
		},
		// One signal only: Heat drops a signal to a group that is busy with the one before, and answers 200.
		"a group with policies": {
			func() *tacker.VNF { return vim.Groups(groups, "by Tacker", w.groups("policies", "smallest")) }, 1, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			vnf := tt.instantiate()
			t.Cleanup(func() { w.cloud.remove(t, w.cloud.heat, "stacks/"+vnf.StackName+"/"+vnf.StackID) })
			w.named(server, vnf, 2)
			vnf.Scale(sol.ScaleTypeOut, "VDU1_scale", tt.out)
			w.named(server, vnf, 2+tt.out)
			if tt.in > 0 {
				vnf.Scale(sol.ScaleTypeIn, "VDU1_scale", tt.in)
				w.named(server, vnf, 2+tt.out-tt.in)
			}
		})
	}
}

// named wants an instance of Tacker to name n servers, which run and are those of its stack.
func (w *world) named(server *tacker.Server, vnf *tacker.VNF, n int) []string {
	w.t.Helper()
	var doc struct {
		Info struct {
			VNFCs []sol.VnfcResourceInfo `json:"vnfcResourceInfo"`
		} `json:"instantiatedVnfInfo"`
	}
	require.NoError(w.t, json.Unmarshal(w.read(server, vnf.ID).Request.VnfInstance, &doc))
	var ids []string
	for _, v := range doc.Info.VNFCs {
		id := v.ComputeResource.ResourceID
		require.Equal(w.t, "ACTIVE", w.cloud.get(w.t, w.cloud.nova, "servers/"+id, "server").text("status"))
		ids = append(ids, id)
	}
	resources, err := list(w.t.Context(), w.cloud.heat, "stacks/"+vnf.StackName+"/"+vnf.StackID+
		"/resources?nested_depth=3", "resources")
	require.NoError(w.t, err)
	var inStack []string
	for _, r := range resources {
		if r.text("resource_type") == "OS::Nova::Server" {
			inStack = append(inStack, r.text("physical_resource_id"))
		}
	}
	require.ElementsMatch(w.t, inStack, ids)
	require.Len(w.t, ids, n)
	return ids
}
