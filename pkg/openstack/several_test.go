package openstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// inTwoClouds is a world with an instance of the old package of which VDU1 is in another cloud, edge.
func inTwoClouds(t *testing.T) (w *world, edge *simcloud.Cloud, empty [2]simcloud.State) {
	t.Helper()
	core := simcloud.StartTest(t, simcloud.Options{})
	edge = simcloud.StartTest(t, simcloud.Options{})
	empty = [2]simcloud.State{core.State(), edge.State()}
	w = newWorld(t, core)
	all := rolling(1)
	w.pkgs, w.pkg = all, all["pkg-1"]
	w.store.instance.VnfdID = w.pkg.model.ID
	second := connectionTo(edge)["vim1"]
	second.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU1"}}
	w.store.instance.VimConnections["edge"] = second
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "additionalParams": standardUserData,
		"extVirtualLinks": []any{link("ext-0", core.Net0ID(), "VDU2_CP1"), link("ext-1", edge.Net0ID(), "VDU1_CP1", "VDU1_CP2")},
	})
	w.store.instance.Params = standardUserData
	w.completed()
	w.reset()
	return w, edge, empty
}

// machinesIn lists the servers of a cloud with their compute flavours.
func machinesIn(cloud *simcloud.Cloud) []string {
	out := []string{}
	for _, s := range cloud.State()["servers"] {
		parts := strings.Split(s.Name, "-VDU")
		out = append(out, "VDU"+parts[len(parts)-1][:1])
	}
	return out
}

// present says that the VNFCs of VDU1 are in edge, and all others in core.
func (w *world) present(edge *simcloud.Cloud, other string) {
	w.t.Helper()
	require.ElementsMatch(w.t, []string{"VDU1", "VDU1"}, machinesIn(edge))
	require.ElementsMatch(w.t, []string{"VDU2", other}, machinesIn(w.cloud))
	i := w.store.instance
	for _, r := range i.Instantiated.VnfcResourceInfo {
		want := "vim1"
		if r.VduID == "VDU1" {
			want = "edge"
		}
		require.Equal(w.t, want, r.ComputeResource.VimConnectionID)
	}
	for _, r := range i.Inventory {
		require.Equal(w.t, r.VDU == "VDU1" || strings.HasPrefix(r.Name, "VDU1"), r.Vim == "edge", "%+v", r)
	}
	require.Len(w.t, i.Instantiated.ExtVirtualLinkInfo, 2)
	vims, _ := i.Instantiated.Metadata["vims"].(map[string]any)
	require.Contains(w.t, vims, "edge")
	require.NotContains(w.t, fmt.Sprint(i.Instantiated.Metadata["nfv"]), "VDU1", "the values of a stack are its own")
}

// TestPackageIsChangedInTwoClouds: each stack is changed, and the images go when no stack uses them; a rollback goes back in
// both clouds.
func TestPackageIsChangedInTwoClouds(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprint("rolled back ", back), func(t *testing.T) {
			t.Parallel()
			w, edge, empty := inTwoClouds(t)
			w.present(edge, "VDU3")
			before := w.store.instance
			require.Empty(t, w.images(), "the image is for VDU1 alone")
			refusal := ""
			if back {
				refusal = edge.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1", Action: "update", Reason: "no",
				})
			}
			w.upgrade(nil)
			if !back {
				w.completed()
				w.present(edge, "VDU4")
				images := 0
				for _, i := range edge.State()["images"] {
					if i.Name == "app" {
						images++
					}
				}
				require.Equal(t, 1, images, "the image of the old package is gone")
			} else {
				require.Contains(t, w.failed().Detail, "no")
				require.True(t, edge.Faults().Remove(refusal))
				w.steer(lcm.EventRollback)
				require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
				w.present(edge, "VDU3")
				require.Equal(t, before.Instantiated.Metadata["vims"], w.store.instance.Instantiated.Metadata["vims"])
			}
			w.terminate()
			w.completed()
			require.Empty(t, w.cloud.State().Since(empty[0]))
			require.Empty(t, edge.State().Since(empty[1]))
		})
	}
}

// TestOtherStacksAreLeftAlone: an operation on VNFCs of one cloud does not change the stack in the other one.
func TestOtherStacksAreLeftAlone(t *testing.T) {
	t.Parallel()
	w, edge, _ := inTwoClouds(t)
	scope := lcm.Scope{Flavour: "default", Counts: map[string]int{"VDU1": 2, "VDU2": 1, "VDU3": 1}, VNFCs: w.vnfcs("VDU1")[:1]}
	w.change(sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": scope.VNFCs}, scope)
	w.completed()
	w.present(edge, "VDU3")
	require.Equal(t, 1, w.updates())
	for _, c := range w.calls {
		require.False(t, strings.HasPrefix(c, http.MethodPatch) && !strings.Contains(c, "-edge"), c)
	}

	w.change(sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}, lcm.Scope{
		Flavour: "default", Counts: scope.Counts, VNFCs: w.vnfcs("VDU1", "VDU2", "VDU3"), Whole: true,
	})
	servers := w.store.instance.Instantiated.VnfcResourceInfo
	w.completed()
	w.present(edge, "VDU3")
	for _, r := range w.store.instance.Instantiated.VnfcResourceInfo {
		for _, old := range servers {
			require.NotEqual(t, old.ID, r.ID, "everything is recreated")
		}
	}
}

// TestInstantiationInTwoCloudsIsRolledBack: when the second cloud has no room, a rollback deletes both stacks.
func TestInstantiationInTwoCloudsIsRolledBack(t *testing.T) {
	t.Parallel()
	w, edge, empty := inTwoClouds(t)
	w.terminate()
	w.completed()
	w.store.instance.HoldsResources = true
	second := connectionTo(edge)["vim1"]
	second.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU1"}}
	w.store.instance.VimConnections = connectionTo(w.cloud)
	w.store.instance.VimConnections["edge"] = second
	edge.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1", Action: "create", Reason: "quota",
	})
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "additionalParams": standardUserData,
		"extVirtualLinks": []any{link("ext-0", w.cloud.Net0ID(), "VDU2_CP1"), link("ext-1", edge.Net0ID(), "VDU1_CP1", "VDU1_CP2")},
	})
	require.Contains(t, w.failed().Detail, "quota")
	require.ElementsMatch(t, []string{"VDU2", "VDU3"}, machinesIn(w.cloud))
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	require.Empty(t, w.cloud.State().Since(empty[0]))
	require.Empty(t, edge.State().Since(empty[1]))
}
