package openstack_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// placed is a way in which a package has its servers.
type placed struct {
	name, top string
	params    map[string]any
}

var bothPlaced = []placed{
	{"a stack per VNFC", `heat_template_version: 2018-08-31
parameters: {nfv: {type: json}}
resources:
  VDU1: {type: VDU1.yaml, properties: {flavor: {get_param: [nfv, VDU, VDU1, computeFlavourId]}, net: {get_param: [nfv, CP, VDU1_CP1, network]}}}
  VDU2: {type: 'OS::Nova::Server', properties: {flavor: {get_param: [nfv, VDU, VDU2, computeFlavourId]}, image: cirros-0.5.2-x86_64-disk, networks: [{network: net0}]}}
`, standardUserData},
	{"a group", `heat_template_version: 2018-08-31
parameters: {nfv: {type: json}}
resources:
  VDU1_group:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 0
      max_size: 9
      desired_capacity: {get_param: [nfv, VDU, VDU1, desired_capacity]}
      resource: {type: VDU1.yaml, properties: {flavor: {get_param: [nfv, VDU, VDU1, computeFlavourId]}, net: {get_param: [nfv, CP, VDU1_CP1, network]}}}
  VDU2: {type: 'OS::Nova::Server', properties: {flavor: {get_param: [nfv, VDU, VDU2, computeFlavourId]}, image: cirros-0.5.2-x86_64-disk, networks: [{network: net0}]}}
`, nil},
}

// pkg is a package of this form, with placement rules.
func (p placed) pkg(id, flavour string, rules ...vnfd.PlacementRule) onePackage {
	return onePackage{&vnfd.VNFD{ID: id, Flavours: []vnfd.Flavour{{
		ID: "default", VDUs: []vnfd.VDU{
			{Name: "VDU1", MaxInstances: 9, ComputeFlavour: flavour},
			{Name: "VDU2", MaxInstances: 1, ComputeFlavour: flavour},
		},
		CPs:    []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1", External: true}},
		Levels: []vnfd.InstantiationLevel{{ID: "two", VDUs: map[string]int{"VDU1": 2, "VDU2": 1}}}, DefaultLevel: "two",
		Placement: rules,
	}}}, fstest.MapFS{
		"BaseHOT/default/top.yaml": {Data: []byte(p.top)},
		"BaseHOT/default/nested/VDU1.yaml": {Data: []byte(`heat_template_version: 2018-08-31
parameters: {flavor: {type: string}, net: {type: string}}
resources:
  VDU1: {type: 'OS::Nova::Server', properties: {flavor: {get_param: flavor}, image: cirros-0.5.2-x86_64-disk, networks: [{port: {get_resource: VDU1_CP1}}]}}
  VDU1_CP1: {type: 'OS::Neutron::Port', properties: {network: {get_param: net}}}
`)},
	}}
}

// apart and close are rules for VDU1.
var (
	apart = vnfd.PlacementRule{Name: "apart", Anti: true, Scope: "nfvi_node", Targets: []string{"VDU1"}}
	near  = vnfd.PlacementRule{Name: "near", Scope: "nfvi_node", Targets: []string{"VDU1", "VDU2"}}
)

// threeHosts is a cloud with fewer hosts than a VDU can have VNFCs.
func threeHosts(t *testing.T) *simcloud.Cloud {
	t.Helper()
	return simcloud.StartTest(t, simcloud.Options{Hosts: []simcloud.Host{
		{Name: "cmp1", Zone: "nova"}, {Name: "cmp2", Zone: "nova"}, {Name: "cmp3", Zone: "nova"},
	}})
}

// place is a world with an instance of the first package.
func (p placed) place(t *testing.T, cloud *simcloud.Cloud, all packages) *world {
	t.Helper()
	w := newWorld(t, cloud)
	w.pkgs, w.pkg = all, all["pkg-1"]
	w.store.instance.VnfdID = w.pkg.model.ID
	req := map[string]any{"flavourId": "default", "extVirtualLinks": []any{link("ext-0", cloud.Net0ID(), "VDU1_CP1")}}
	if p.params != nil {
		req["additionalParams"], w.store.instance.Params = p.params, encoded(t, p.params)
	}
	w.admit(sol.LcmOperationInstantiate, req)
	return w
}

// serverGroups are those in the cloud: "policy: VNFCs, hosts".
func (w *world) serverGroups() []string {
	w.t.Helper()
	list, _ := w.ask("compute", http.MethodGet, "/os-server-groups", nil)["server_groups"].([]any)
	hosts := map[string]string{}
	for _, s := range w.cloud.State()["servers"] {
		hosts[s.ID] = s.Detail
	}
	out := []string{}
	for _, g := range list {
		m, _ := g.(map[string]any)
		members, _ := m["members"].([]any)
		policies, _ := m["policies"].([]any)
		var in []string
		on := map[string]bool{}
		for _, id := range members {
			on[hosts[fmt.Sprint(id)]] = true
			for place, server := range w.ids("OS::Nova::Server") {
				if server == id {
					in = append(in, strings.Fields(place)[0])
				}
			}
		}
		require.Len(w.t, in, len(members), "the members are VNFCs")
		slices.Sort(in)
		out = append(out, fmt.Sprintf("%v: %s on %d hosts", policies[0], strings.Join(in, " "), len(on)))
	}
	slices.Sort(out)
	return out
}

// stillHas wants these servers to be there, of whatever age they are among the others.
func (w *world) stillHas(servers map[string]string) {
	w.t.Helper()
	require.Subset(w.t, slices.Collect(maps.Values(w.ids("OS::Nova::Server"))), slices.Collect(maps.Values(servers)))
}

// grown scales VDU1 out.
func (w *world) grown(n int) {
	w.t.Helper()
	w.scale(sol.ScaleTypeOut, map[string]int{"VDU1": n, "VDU2": 1})
	w.completed()
}

// repackaged admits the change to the second package.
func (w *world) repackaged() {
	w.t.Helper()
	w.change(sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": "vnfd-2", "additionalParams": map[string]any{}},
		lcm.Scope{Flavour: "default"})
	w.store.op.VnfPkgID = "pkg-2"
}

// TestServerGroups: a VNFD's rule for hosts applies from the instantiation on, while there are enough hosts; no
// operation recreates a server because of it, whatever later packages say, and at the end nothing is left.
func TestServerGroups(t *testing.T) {
	t.Parallel()
	for _, p := range bothPlaced {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			cloud := threeHosts(t)
			empty := cloud.State()
			w := p.place(t, cloud, packages{
				"pkg-1": p.pkg("vnfd-1", "m1.tiny", apart), "pkg-2": p.pkg("vnfd-2", "m1.small", near),
			})
			plan := w.preview()
			require.Contains(t, plannedNames(plan.Add), "Nova::ServerGroup apart_soft-anti-affinity")
			require.Contains(t, checksIn(plan, lcm.CheckOK),
				"quota of members of server group apart_soft-anti-affinity", "%v", plan.Checks)
			w.completed()
			require.Equal(t, []string{"soft-anti-affinity: VDU1-0 VDU1-1 on 2 hosts"}, w.serverGroups())
			first := w.ids("OS::Nova::Server")

			w.grown(4)
			require.Equal(t, []string{"soft-anti-affinity: VDU1-0 VDU1-1 VDU1-2 VDU1-3 on 3 hosts"}, w.serverGroups(),
				"fewer hosts than VNFCs are no failure")
			w.stillHas(first)

			w.heal(nil, w.vnfc("VDU1", 1))
			w.completed()
			require.Equal(t, []string{"soft-anti-affinity: VDU1-0 VDU1-1 VDU1-2 VDU1-3 on 3 hosts"}, w.serverGroups())

			servers, groups := w.ids("OS::Nova::Server"), w.ids("OS::Nova::ServerGroup")
			require.Len(t, groups, 1)
			w.repackaged()
			require.Empty(t, w.preview().Replace)
			w.completed()
			require.Equal(t, "vnfd-2", w.store.instance.VnfdID)
			require.Empty(t, differing(servers, w.ids("OS::Nova::Server")), "another rule recreates no server")
			require.Empty(t, differing(groups, w.ids("OS::Nova::ServerGroup")))
			require.Equal(t, []string{"soft-anti-affinity: VDU1-0 VDU1-1 VDU1-2 VDU1-3 on 3 hosts"}, w.serverGroups())

			w.pkg = w.pkgs.(packages)["pkg-2"]
			w.grown(5)
			w.stillHas(servers)
			if p.params != nil {
				require.Equal(t, []string{
					"soft-affinity: VDU1-4 on 1 hosts", "soft-anti-affinity: VDU1-0 VDU1-1 VDU1-2 VDU1-3 on 3 hosts",
				}, w.serverGroups(), "a new VNFC follows the new rule")
			} else {
				require.Equal(t, []string{"soft-anti-affinity: VDU1-0 VDU1-1 VDU1-2 VDU1-3 VDU1-4 on 3 hosts"},
					w.serverGroups(), "members of a group are all alike")
			}
			w.change(sol.LcmOperationHeal, sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}},
				lcm.Scope{Flavour: "default", Whole: true, VNFCs: w.all()})
			w.completed()
			require.Equal(t, []string{"soft-affinity: VDU1-0 VDU1-1 VDU1-2 VDU1-3 VDU1-4 VDU2-0 on 1 hosts"},
				w.serverGroups(), "recreated servers follow the current rules")
			require.Empty(t, w.leftovers().Extra)
			w.terminate()
			w.completed()
			require.Empty(t, cloud.State().Since(empty))
		})
	}
}

// TestServerGroupsOfOlderInstances: servers that were made before there were groups stay as they are, in every
// operation.
func TestServerGroupsOfOlderInstances(t *testing.T) {
	t.Parallel()
	for _, p := range bothPlaced {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			w := p.place(t, threeHosts(t), packages{
				"pkg-1": p.pkg("vnfd-1", "m1.tiny"), "pkg-2": p.pkg("vnfd-2", "m1.small", apart),
			})
			w.completed()
			// the rule that was not used
			w.pkgs.(packages)["pkg-1"].model.Flavours[0].Placement = []vnfd.PlacementRule{apart}
			servers := w.ids("OS::Nova::Server")
			w.repackaged()
			w.completed()
			require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))
			require.Empty(t, w.serverGroups())
			w.pkg = w.pkgs.(packages)["pkg-2"]
			w.grown(3)
			w.stillHas(servers)
			if p.params != nil {
				require.Equal(t, []string{"soft-anti-affinity: VDU1-2 on 1 hosts"}, w.serverGroups())
			} else {
				require.Empty(t, w.serverGroups())
			}
		})
	}
}

// TestServerGroupsAreRolledBack: a change of package that fails leads back to the same servers in the same groups.
func TestServerGroupsAreRolledBack(t *testing.T) {
	t.Parallel()
	for _, p := range bothPlaced {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			cloud := threeHosts(t)
			w := p.place(t, cloud, packages{
				"pkg-1": p.pkg("vnfd-1", "m1.tiny", apart), "pkg-2": p.pkg("vnfd-2", "m1.small", near),
			})
			w.completed()
			before, groups, servers := copied(w.store.instance), w.serverGroups(), maps.Clone(w.ids("OS::Nova::Server"))
			cloud.AddFault(simcloud.Fault{
				Kind: fault.FailResource, ResourceName: "VDU2",
				ResourceType: "OS::Nova::Server", Action: "update", Reason: "broken", Count: 1,
			})
			cloud.AddFault(simcloud.Fault{
				Kind: fault.FailResource, ResourceName: "VDU2-0",
				ResourceType: "OS::Nova::Server", Action: "update", Reason: "broken", Count: 1,
			})
			w.repackaged()
			w.failed()
			w.steer(lcm.EventRollback)
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
			require.Equal(t, groups, w.serverGroups())
			require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))
			require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
		})
	}
}

// TestServerGroupsOfAnotherFlavour: a server that stays in the VNF stays in its group, and new ones follow the new
// flavour's rules; where another class recreates every server, all do.
func TestServerGroupsOfAnotherFlavour(t *testing.T) {
	t.Parallel()
	begin := func() *world {
		w := newWorld(t, threeHosts(t))
		w.pkg = twoFlavours()
		w.pkg.model.Flavours[0].Placement, w.pkg.model.Flavours[1].Placement = []vnfd.PlacementRule{
			apart,
		}, []vnfd.PlacementRule{near}
		w.admit(sol.LcmOperationInstantiate, map[string]any{
			"flavourId": "small", "additionalParams": standardUserData, "extVirtualLinks": w.links("VDU1_CP1"),
		})
		w.completed()
		w.store.instance.Params = encoded(t, standardUserData)
		require.Equal(t, []string{"soft-anti-affinity: VDU1-0 on 1 hosts"}, w.serverGroups())
		return w
	}
	w := begin()
	first := w.ids("OS::Nova::Server")
	w.toFlavour("big", map[string]int{"VDU1": 2, "VDU2": 1})
	w.completed()
	w.stillHas(first)
	require.Equal(t, []string{"soft-affinity: VDU1-1 VDU2-0 on 1 hosts", "soft-anti-affinity: VDU1-0 on 1 hosts"},
		w.serverGroups())

	w = begin()
	w.resize(sol.LcmOperationChangeFlavour, "big", map[string]int{"VDU1": 1, "VDU2": 1}, map[string]any{
		"newFlavourId": "big", "extVirtualLinks": w.links("VDU1_CP1", "VDU2_CP1"),
		"additionalParams": map[string]any{
			"lcm-operation-user-data": "x.py", "lcm-operation-user-data-class": "DefaultUserData",
		},
	})
	w.completed()
	require.Equal(t, []string{"soft-affinity: VDU1-0 VDU2-0 on 1 hosts"}, w.serverGroups())
}

// TestServerGroupsOfAPackage: a rule as package authors write it.
func TestServerGroupsOfAPackage(t *testing.T) {
	t.Parallel()
	files := os.DirFS(filepath.Join("..", "..", "test", "packages", "apart"))
	res, err := tosca.Parse(files, tosca.Options{Entry: "Definitions/apart_top.vnfd.yaml"})
	require.NoError(t, err)
	for flavour, params := range map[string]map[string]any{"default": standardUserData, "groups": nil} {
		w := newWorld(t, threeHosts(t))
		w.pkg = onePackage{res.VNFD, files}
		w.admit(sol.LcmOperationInstantiate, map[string]any{
			"flavourId": flavour, "instantiationLevelId": "instantiation_level_2", "additionalParams": params,
			"extVirtualLinks": w.links("VDU1_CP1"),
		})
		w.completed()
		require.Equal(t, []string{"soft-anti-affinity: VDU1-0 VDU1-1 VDU1-2 on 3 hosts"}, w.serverGroups())
	}
}
