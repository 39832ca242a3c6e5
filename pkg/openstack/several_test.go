package openstack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// selected are connections to two clouds, of which edge has some VDUs.
func selected(core, edge *simcloud.Cloud, vdus ...string) map[string]sol.VimConnectionInfo {
	out, second := connectionTo(core), connectionTo(edge)["vim1"]
	list := []any{}
	for _, v := range vdus {
		list = append(list, v)
	}
	// an empty one keeps the connection from becoming the primary one
	second.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: list}
	out["edge"] = second
	return out
}

// inTwoClouds is a world with an instance of the old package of which some VDUs are in another cloud, edge.
func inTwoClouds(t *testing.T, vdus ...string) (w *world, edge *simcloud.Cloud, empty [2]simcloud.State) {
	t.Helper()
	core := simcloud.StartTest(t, simcloud.Options{})
	edge = simcloud.StartTest(t, simcloud.Options{})
	empty = [2]simcloud.State{core.State(), edge.State()}
	w = newWorld(t, core)
	all := rolling(1)
	w.pkgs, w.pkg = all, all["pkg-1"]
	w.store.instance.VnfdID = w.pkg.model.ID
	w.store.instance.VimConnections = selected(core, edge, vdus...)
	at := core
	if slices.Contains(vdus, "VDU1") {
		at = edge
	}
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "additionalParams": standardUserData,
		"extVirtualLinks": []any{
			link("ext-0", core.Net0ID(), "VDU2_CP1"), link("ext-1", at.Net0ID(), "VDU1_CP1", "VDU1_CP2"),
		},
	})
	w.store.instance.Params = encoded(t, standardUserData)
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

// TestPackageIsChangedInTwoClouds: each stack is changed, and the images go when no stack uses them; a rollback goes
// back in both clouds.
func TestPackageIsChangedInTwoClouds(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprint("rolled back ", back), func(t *testing.T) {
			t.Parallel()
			w, edge, empty := inTwoClouds(t, "VDU1")
			w.present(edge, "VDU3")
			before := w.store.instance
			require.Empty(t, w.images(), "the image is for VDU1 alone")
			refusal := ""
			if back {
				refusal = edge.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1", Action: "update",
					Reason: "no",
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
	w, edge, _ := inTwoClouds(t, "VDU1")
	scope := lcm.Scope{
		Flavour: "default", Counts: map[string]int{"VDU1": 2, "VDU2": 1, "VDU3": 1}, VNFCs: w.vnfcs("VDU1")[:1],
	}
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
	w, edge, empty := inTwoClouds(t, "VDU1")
	w.terminate()
	w.completed()
	w.store.instance.HoldsResources = true
	w.store.instance.VimConnections = selected(w.cloud, edge, "VDU1")
	edge.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1", Action: "create",
		Reason: "quota",
	})
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "additionalParams": standardUserData,
		"extVirtualLinks": []any{
			link("ext-0", w.cloud.Net0ID(), "VDU2_CP1"), link("ext-1", edge.Net0ID(), "VDU1_CP1", "VDU1_CP2"),
		},
	})
	require.Contains(t, w.failed().Detail, "quota")
	require.ElementsMatch(t, []string{"VDU2", "VDU3"}, machinesIn(w.cloud))
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	require.Empty(t, w.cloud.State().Since(empty[0]))
	require.Empty(t, edge.State().Since(empty[1]))
}

// TestPackageChangesTheClouds: a VDU of the new package can be in a cloud in which there was no stack, and the stack of
// a cloud goes with its last VDU; a rollback reverses both.
func TestPackageChangesTheClouds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, after []string }{
		"a stack is added":              {nil, []string{"VDU4"}},
		"a stack is removed":            {[]string{"VDU3"}, nil},
		"a stack gets other VDUs":       {[]string{"VDU3"}, []string{"VDU4"}},
		"a stack loses one of two VDUs": {[]string{"VDU1", "VDU3"}, []string{"VDU1"}},
		"a stack gets one more VDU":     {[]string{"VDU1"}, []string{"VDU1", "VDU4"}},
	} {
		for _, back := range []string{"", "before the second cloud", "in the second cloud"} {
			t.Run(name+" "+back, func(t *testing.T) {
				t.Parallel()
				w, edge, empty := inTwoClouds(t, tt.before...)
				at, refusals := w.cloud, []string{}
				refuse := func(action string, names ...string) {
					for _, n := range names {
						refusals = append(refusals, at.AddFault(simcloud.Fault{
							Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: n, Action: action,
							Reason: "no",
						}))
					}
				}
				switch back {
				case "before the second cloud":
					refuse("update", "VDU2")
				case "in the second cloud":
					at = edge
					refuse("create", "VDU4-0")
					refuse("update", "VDU1")
					refuse("delete", "VDU3-0")
				}
				w.upgrade(nil)
				w.store.instance.VimConnections = selected(w.cloud, edge, tt.after...)
				inEdge := tt.after
				if back == "" {
					w.completed()
				} else {
					require.Contains(t, w.failed().Detail, "no")
					for _, r := range refusals {
						require.True(t, at.Faults().Remove(r))
					}
					w.steer(lcm.EventRollback)
					require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
					w.store.instance.VimConnections = selected(w.cloud, edge, tt.before...)
					inEdge = tt.before
				}
				w.endsWith(edge, empty, inEdge)
			})
		}
	}
}

// endsWith says which VDUs are in edge, and that nothing is left when the instance is terminated.
func (w *world) endsWith(edge *simcloud.Cloud, empty [2]simcloud.State, inEdge []string) {
	w.t.Helper()
	want := []string{}
	for _, v := range inEdge {
		want = append(want, map[string][]string{"VDU1": {"VDU1", "VDU1"}, "VDU3": {"VDU3"}, "VDU4": {"VDU4"}}[v]...)
	}
	require.ElementsMatch(w.t, want, machinesIn(edge))
	require.Len(w.t, append(machinesIn(edge), machinesIn(w.cloud)...), 4)
	require.Len(w.t, w.store.instance.Instantiated.VnfcInfo, 4)
	vims, _ := w.store.instance.Instantiated.Metadata["vims"].(map[string]any)
	require.Equal(w.t, len(inEdge) > 0, len(vims) > 0)
	if len(inEdge) == 0 {
		require.Empty(w.t, edge.State().Since(empty[1]))
	}
	w.reset()
	w.terminate()
	w.completed()
	require.Empty(w.t, w.cloud.State().Since(empty[0]))
	require.Empty(w.t, edge.State().Since(empty[1]))
}

// TestCloudsChangeWithDeaths: a node dies at any change of either cloud, while stacks are created and deleted by a
// change of the package.
func TestCloudsChangeWithDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of upgrades")
	}
	t.Parallel()
	for name, tt := range map[string]struct{ before, after []string }{
		"a stack is added":   {nil, []string{"VDU4"}},
		"a stack is removed": {[]string{"VDU3"}, nil},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " after a change ", after), func(t *testing.T) {
				t.Parallel()
				for n, died := 1, true; died; n++ {
					w, edge, empty := inTwoClouds(t, tt.before...)
					w.upgrade(nil)
					w.store.instance.VimConnections = selected(w.cloud, edge, tt.after...)
					w.dieAtChange, w.dieAfterCall = n, after
					w.completed()
					died = w.deaths > 0
					w.endsWith(edge, empty, tt.after)
				}
			})
		}
	}
}
