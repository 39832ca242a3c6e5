package tacker_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tackerapi"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
	"github.com/gybe-nfv/gybe/test/tacker"
)

type obj = map[string]any

// start starts a cloud with the networks of the test packages, and a Tacker in front of it.
func start(t *testing.T, opts tacker.Options) (*simcloud.Cloud, *tacker.Server, *tacker.VIM, stack.Requests) {
	t.Helper()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	requests, err := stack.NewRequests(t.Context(), cloud)
	require.NoError(t, err)
	server := tacker.Start(t, opts)
	return cloud, server, server.Connect(cloud.AuthOptions()), requests
}

// read reads an instance as the command does.
func read(t *testing.T, server *tacker.Server, id string) *tackerapi.Instance {
	t.Helper()
	c, err := tackerapi.New(server.URL, tackerapi.Options{})
	require.NoError(t, err)
	in, err := c.Instance(t.Context(), id, 0)
	require.NoError(t, err)
	for _, r := range server.Requests() {
		require.Equal(t, "GET", r.Method, r.Path)
	}
	return in
}

// servers are the ids of the servers that an instance names, sorted.
func servers(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var doc struct {
		Info struct {
			VNFCs []sol.VnfcResourceInfo `json:"vnfcResourceInfo"`
		} `json:"instantiatedVnfInfo"`
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	var out []string
	for _, v := range doc.Info.VNFCs {
		out = append(out, v.ComputeResource.ResourceID)
	}
	slices.Sort(out)
	return out
}

// inCloud are the ids of all servers of the cloud, sorted.
func inCloud(cloud *simcloud.Cloud) []string {
	var out []string
	for _, s := range cloud.State()["servers"] {
		out = append(out, s.ID)
	}
	slices.Sort(out)
	return out
}

func subnetOf(cloud *simcloud.Cloud, name string) string {
	for _, s := range cloud.State()["subnets"] {
		if s.Name == name {
			return s.ID
		}
	}
	return ""
}

func TestStandardOfVersion2(t *testing.T) {
	cloud, server, vim, requests := start(t, tacker.Options{Wrap: standard(t)})
	pkg := server.AddPackage("../packages/standard")
	vnf := vim.Standard(pkg, "standard", requests.Standard("volumes"))
	in := read(t, server, vnf.ID)
	require.Equal(t, 2, in.Request.Source.APIVersion)
	require.Equal(t, "standard", in.Name)
	require.Equal(t, pkg.Model.ID, in.VnfdID)
	require.Equal(t, []tackerapi.Connection{
		{Key: "vim1", VimID: vim.ID, VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
	}, in.Connections)
	require.Equal(t, inCloud(cloud), servers(t, in.Request.VnfInstance))
	require.Len(t, inCloud(cloud), 2)
	require.Len(t, in.Request.Vims, 1)
	require.Len(t, in.Request.Operations, 1)
	require.NotContains(t, string(in.Request.Operations[0]), simcloud.Password)

	var doc sol.VnfInstance
	require.NoError(t, json.Unmarshal(in.Request.VnfInstance, &doc))
	info := doc.InstantiatedVnfInfo
	require.Len(t, info.ExtCpInfo, 2)
	require.Len(t, info.VirtualStorageResourceInfo, 2)
	require.Len(t, info.VnfVirtualLinkResourceInfo, 1)
	require.Len(t, info.VnfVirtualLinkResourceInfo[0].VnfLinkPorts, 1)
	nfv := info.Metadata["nfv"].(obj)
	require.Equal(t, obj{
		"computeFlavourId": "m1.tiny", "vcImageId": "cirros-0.5.2-x86_64-disk",
		"locationConstraints": "nova",
	}, nfv["VDU"].(obj)["VDU1-0"])
	require.Equal(t, []any{obj{"ip_address": stack.StandardAddress, "subnet": subnetOf(cloud, "subnet1")}},
		nfv["CP"].(obj)["VDU2_CP1-0"].(obj)["fixed_ips"])

	before := inCloud(cloud)
	vnf.Scale(sol.ScaleTypeOut, "VDU1_scale", 2)
	in = read(t, server, vnf.ID)
	require.Equal(t, inCloud(cloud), servers(t, in.Request.VnfInstance))
	require.Len(t, inCloud(cloud), 4)
	require.Subset(t, inCloud(cloud), before)
	require.Contains(t, string(in.Request.VnfInstance), `{"aspectId":"VDU1_scale","scaleLevel":2}`)
	vnf.Scale(sol.ScaleTypeIn, "VDU1_scale", 1)
	in = read(t, server, vnf.ID)
	require.Equal(t, inCloud(cloud), servers(t, in.Request.VnfInstance))
	require.Len(t, inCloud(cloud), 3)
	require.Subset(t, inCloud(cloud), before)
	require.Len(t, in.Request.Operations, 3)
	require.Contains(t, string(in.Request.Operations[0]), `"SCALE_IN"`)
}

func TestGroupsOfVersion1(t *testing.T) {
	cloud, server, vim, requests := start(t, tacker.Options{})
	pkg := server.AddPackage(server.Version1("../packages/groups"))
	req := requests.Groups("policies", "smallest")
	req.AdditionalParams = sol.KeyValuePairs{
		"lcm-operation-user-data":       "./UserData/k8s_cluster_user_data.py",
		"lcm-operation-user-data-class": "KubernetesClusterUserData", "some_name": obj{"inner_name": 1},
	}
	vnf := vim.Groups(pkg, "groups", req)
	in := read(t, server, vnf.ID)
	require.Equal(t, 1, in.Request.Source.APIVersion)
	require.Equal(t, pkg.ID, in.VnfPkgID)
	require.Equal(t, inCloud(cloud), servers(t, in.Request.VnfInstance))
	require.Len(t, inCloud(cloud), 2)
	require.Contains(t, string(in.Request.VnfInstance), `"someName":{"innerName":1}`)
	require.Contains(t, string(in.Request.Operations[0]), `"some_name":{"inner_name":1}`)
	require.Equal(t, "vnflcm_"+vnf.ID, cloud.State()["stacks"][0].Name)

	before := inCloud(cloud)
	vnf.Scale(sol.ScaleTypeOut, "VDU1_scale", 2)
	in = read(t, server, vnf.ID)
	require.Equal(t, inCloud(cloud), servers(t, in.Request.VnfInstance))
	require.Len(t, inCloud(cloud), 4)
	require.Subset(t, inCloud(cloud), before)
	vnf.Scale(sol.ScaleTypeIn, "VDU1_scale", 1)
	in = read(t, server, vnf.ID)
	require.Equal(t, inCloud(cloud), servers(t, in.Request.VnfInstance))
	require.Len(t, inCloud(cloud), 3)
}

func TestVariants(t *testing.T) {
	cloud, server, vim, requests := start(t, tacker.Options{})
	vnf := vim.Standard(server.AddPackage("../packages/standard"), "standard", requests.Standard("smallest"))
	running := vnf.AddOperation("HEAL", "PROCESSING", obj{"cause": "test"})
	require.Contains(t, string(read(t, server, vnf.ID).Request.Operations[0]), `"operationState":"PROCESSING"`)
	vnf.SetOperation(running, "COMPLETED")

	vnf.ScaleUnrecorded(sol.ScaleTypeOut, "VDU1_scale", 1)
	require.Len(t, inCloud(cloud), 2)
	require.Len(t, servers(t, read(t, server, vnf.ID).Request.VnfInstance), 1, "one more than Tacker says")
	vnf.ScaleUnrecorded(sol.ScaleTypeIn, "VDU1_scale", 1)

	cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Reason: "no valid host",
	})
	failed := vnf.Scale(sol.ScaleTypeOut, "VDU1_scale", 1)
	in := read(t, server, vnf.ID)
	require.Contains(t, string(in.Request.Operations[0]), `"operationState":"FAILED_TEMP"`)
	require.Contains(t, string(in.Request.Operations[0]), failed)
	require.Contains(t, string(in.Request.VnfInstance), `{"aspectId":"VDU1_scale","scaleLevel":0}`)
	var status string
	for _, s := range cloud.State()["stacks"] {
		if s.ID == vnf.StackID {
			status = s.Status
		}
	}
	require.Equal(t, "UPDATE_FAILED", status)

	id := vnf.DeleteServer(0)
	require.Equal(t, []string{id}, servers(t, read(t, server, vnf.ID).Request.VnfInstance))
	require.NotContains(t, inCloud(cloud), id)
}

func TestPackageAndLogin(t *testing.T) {
	cloud, server, vim, requests := start(t, tacker.Options{})
	pkg := server.AddPackage("../packages/plain")
	c, err := tackerapi.New(server.URL, tackerapi.Options{})
	require.NoError(t, err)
	p, err := c.Package(t.Context(), pkg.Model.ID)
	require.NoError(t, err)
	require.Equal(t, pkg.ID, p.ID)
	var got bytes.Buffer
	_, err = c.Content(t.Context(), p, &got)
	require.NoError(t, err)
	want, err := os.ReadFile(pkg.Archive)
	require.NoError(t, err)
	require.Equal(t, want, got.Bytes())
	sum := sha512.Sum512(want)
	require.Equal(t, hex.EncodeToString(sum[:]), p.Checksum.Hash)
	_, err = c.Package(t.Context(), "c4000000-0000-4000-8000-000000000000")
	require.ErrorContains(t, err, "no package has the VNFD")

	_, _ = vim, requests
	closed := tacker.Start(t, tacker.Options{Keystone: cloud.AuthURL()})
	c, err = tackerapi.New(closed.URL, tackerapi.Options{})
	require.NoError(t, err)
	_, err = c.Package(t.Context(), pkg.Model.ID)
	require.ErrorContains(t, err, "401 Unauthorized: Unauthorized: The request you have made requires authentication.")
	provider, err := simcloud.Login(t.Context(), cloud.AuthOptions())
	require.NoError(t, err)
	defer provider.HTTPClient.CloseIdleConnections()
	c, err = tackerapi.New(closed.URL, tackerapi.Options{Credentials: token(provider.Token())})
	require.NoError(t, err)
	_, err = c.Package(t.Context(), pkg.Model.ID)
	require.ErrorContains(t, err, "no package has the VNFD")
}

func TestPagesOfOperations(t *testing.T) {
	_, server, vim, requests := start(t, tacker.Options{PageSize: 2})
	standard := vim.Standard(server.AddPackage("../packages/standard"), "standard", requests.Standard("smallest"))
	groups := vim.Groups(server.AddPackage(server.Version1("../packages/groups")), "groups",
		requests.Groups("policies", "smallest"))
	for _, vnf := range []*tacker.VNF{standard, groups} {
		for range 4 {
			vnf.AddOperation("MODIFY_INFO", "COMPLETED", nil)
		}
		in := read(t, server, vnf.ID)
		require.Len(t, in.Request.Operations, 5)
		require.Contains(t, string(in.Request.Operations[4]), `"INSTANTIATE"`)
	}
	require.True(t, slices.ContainsFunc(server.Requests(), func(r tacker.Request) bool {
		return strings.Contains(r.Path, "nextpage_opaque_marker")
	}))
}
