package openstack

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// twoVims are connections of which edge has the VDU workerNode.
func twoVims() map[string]sol.VimConnectionInfo {
	edge := stubcloud.VimAt("http://edge/identity/v3")
	edge.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"workerNode"}}
	return map[string]sol.VimConnectionInfo{"core": stubcloud.VimAt("http://core/identity/v3"), "edge": edge}
}

// TestSeveralConnectionsAreValidated: a selection that stacks of their own cannot serve is rejected, with the place in
// the request where it can be corrected.
func TestSeveralConnectionsAreValidated(t *testing.T) {
	t.Parallel()
	on := func(server, vim string) sol.VnfcResourceInfo {
		return sol.VnfcResourceInfo{ID: server, VduID: "workerNode", ComputeResource: sol.ResourceHandle{
			VimConnectionID: vim, ResourceID: server,
		}}
	}
	instantiated := func(vims map[string]any, vnfcs ...sol.VnfcResourceInfo) *sol.InstantiatedVnfInfo {
		info := &sol.InstantiatedVnfInfo{
			FlavourID: "simple", VnfcResourceInfo: vnfcs, Metadata: sol.KeyValuePairs{"stack_id": "s1"},
		}
		if vims != nil {
			info.Metadata["vims"] = vims
		}
		return info
	}
	links := func(req map[string]any) []any { return req["extVirtualLinks"].([]any) }
	for name, tt := range map[string]struct {
		spoil   func(req map[string]any, r *lcm.Request)
		pointer string
		detail  string
	}{
		"as it is": {func(map[string]any, *lcm.Request) {}, "", ""},
		"links that name the connections": {func(req map[string]any, _ *lcm.Request) {
			links(req)[0].(map[string]any)["vimConnectionId"] = "core"
			links(req)[1].(map[string]any)["vimConnectionId"] = "edge"
		}, "", ""},
		"a link of the other connection": {func(req map[string]any, _ *lcm.Request) {
			links(req)[1].(map[string]any)["vimConnectionId"] = "core"
		}, "/extVirtualLinks/1/extCps/0/cpdId", "in the VIM of the connection edge"},
		"a link of both": {func(req map[string]any, _ *lcm.Request) {
			master, worker := links(req)[0].(map[string]any), links(req)[1].(map[string]any)
			master["extCps"] = append(master["extCps"].([]any), worker["extCps"].([]any)...)
			req["extVirtualLinks"] = []any{master}
		}, "/extVirtualLinks/0", "the connections core and edge"},
		"a primary connection without VDUs": {func(_ map[string]any, r *lcm.Request) {
			r.Instance.VimConnections["edge"].Extra[lcm.ExtraVDUs] = []any{"workerNode", "masterNode"}
		}, "/vimConnectionInfo/core", "no VDU"},
		"a second connection that is incomplete": {func(_ map[string]any, r *lcm.Request) {
			delete(r.Instance.VimConnections["edge"].InterfaceInfo, "endpoint")
		}, "/vimConnectionInfo/edge/interfaceInfo/endpoint", ""},
		"a connection that a stack needs is removed": {func(_ map[string]any, r *lcm.Request) {
			r.Type = sol.LcmOperationModifyInfo
			delete(r.Instance.VimConnections, "edge")
			r.Instance.Instantiated = instantiated(map[string]any{"edge": map[string]any{"stack_id": "s2"}})
		}, "/vimConnectionInfo/edge", "keep its key"},
		"a connection that has no stack": {func(_ map[string]any, r *lcm.Request) {
			r.Type = sol.LcmOperationModifyInfo
			r.Instance.Instantiated = instantiated(nil)
		}, "/vimConnectionInfo/edge/extra/gybe.vdus", "can add one"},
		"VNFCs that would move": {func(_ map[string]any, r *lcm.Request) {
			r.Type = sol.LcmOperationModifyInfo
			r.Instance.Instantiated = instantiated(
				map[string]any{"edge": map[string]any{"stack_id": "s2"}}, on("a", "removed"),
			)
		}, "/vimConnectionInfo/edge", "cannot move"},
		"VNFCs where they are": {func(_ map[string]any, r *lcm.Request) {
			r.Type = sol.LcmOperationModifyInfo
			r.Instance.Instantiated = instantiated(
				map[string]any{"edge": map[string]any{"stack_id": "s2"}}, on("a", "edge"),
			)
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := asked(t)
			f := clusterFlavour()
			r := lcm.Request{
				Type: sol.LcmOperationInstantiate, Flavour: f,
				Package:  os.DirFS("../../vnf-packages/kubernetes-cluster"),
				Instance: &lcm.Instance{ID: "i", VimConnections: twoVims()},
			}
			tt.spoil(req, &r)
			raw, err := json.Marshal(req)
			require.NoError(t, err)
			r.Params = raw
			err = testDriver(t, Config{}).Validate(t.Context(), r)
			if tt.pointer == "" {
				require.NoError(t, err)
				return
			}
			e := asError(t, err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			require.Equal(t, tt.pointer, e.Params[0].Pointer, e.Detail)
			require.Contains(t, e.Params[0].Detail, tt.detail)
		})
	}
}

// TestNamesOfStacks: the name of a stack is one that Heat accepts, and another one for each key.
func TestNamesOfStacks(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range []string{"edge", "edge/1", "edge_1", "edge 1", "", "ü", string(make([]byte, 300))} {
		name := plainKey(key)
		require.Regexp(t, `^[a-zA-Z0-9_.-]{1,60}$`, name)
		require.Empty(t, seen[name], key)
		seen[name] = key + "."
	}
	require.Contains(t, slices.Collect(maps.Keys(seen)), "edge")
}
