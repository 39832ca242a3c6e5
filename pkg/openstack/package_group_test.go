package openstack_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

const rollGroups = `heat_template_version: 2018-08-31
parameters: {nfv: {type: json}}
resources:
  VDU1_group:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 0
      max_size: 3
      desired_capacity: {get_param: [nfv, VDU, VDU1, desired_capacity]}
      resource:
        type: VDU1.yaml
        properties:
          flavor: {get_param: [nfv, VDU, VDU1, computeFlavourId]}
          net: {get_param: [nfv, CP, VDU1_CP1, network]}
  VDU2:
    type: VDU2.yaml
    properties: {flavor: {get_param: [nfv, VDU, VDU2, computeFlavourId]}}
`

// groups are packages for DefaultUserData: a group of VDU1, and one VDU2 in a nested template.
func groups() packages {
	nested := func(vdu, more string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`heat_template_version: 2018-08-31
parameters: {flavor: {type: string}, net: {type: string, default: net0}}
resources:
  ` + vdu + `: {type: 'OS::Nova::Server', properties: {` + more + ` flavor: {get_param: flavor}, image: cirros-0.5.2-x86_64-disk, networks: [{port: {get_resource: ` + vdu + `_CP1}}]}}
  ` + vdu + `_CP1: {type: 'OS::Neutron::Port', properties: {network: {get_param: net}}}
`)}
	}
	pkg := func(id, flavour, more string) onePackage {
		return onePackage{&vnfd.VNFD{ID: id, Flavours: []vnfd.Flavour{{
			ID:           "default",
			VDUs:         []vnfd.VDU{{Name: "VDU1", ComputeFlavour: flavour}, {Name: "VDU2", ComputeFlavour: flavour}},
			CPs:          []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1", External: true}},
			Levels:       []vnfd.InstantiationLevel{{ID: "two", VDUs: map[string]int{"VDU1": 2, "VDU2": 1}}},
			DefaultLevel: "two",
		}}}, fstest.MapFS{
			"BaseHOT/default/top.yaml":         {Data: []byte(rollGroups)},
			"BaseHOT/default/nested/VDU1.yaml": nested("VDU1", more),
			"BaseHOT/default/nested/VDU2.yaml": nested("VDU2", more),
		}}
	}
	return packages{
		"pkg-1": pkg("vnfd-1", "m1.tiny", ""), "pkg-2": pkg("vnfd-2", "m1.small", "metadata: {generation: two},"),
		"pkg-3": pkg("vnfd-3", "m1.missing", ""),
	}
}

// newGroupWorld is a world with an instance of the package of groups.
func newGroupWorld(tb testing.TB, cloud *simcloud.Cloud) *world {
	tb.Helper()
	w := newWorld(tb, cloud)
	w.instantiateGroups(groups())
	return w
}

// instantiateGroups instantiates the first of the packages of groups.
func (w *world) instantiateGroups(all packages) {
	w.t.Helper()
	w.pkgs, w.pkg = all, all["pkg-1"]
	w.store.instance.VnfdID = w.pkg.model.ID
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "extVirtualLinks": []any{link("ext-0", w.cloud.Net0ID(), "VDU1_CP1")},
	})
	w.completed()
}

// TestPackageOfGroups: all VNFCs of a group are changed by one update, and each is asked about; a rollback takes the
// groups back one by one.
func TestPackageOfGroups(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		cloud := simcloud.StartTest(t, simcloud.Options{})
		w := newGroupWorld(t, cloud)
		w.reset()
		before, servers := copied(w.store.instance), w.ids("OS::Nova::Server")
		c := newCoordinator(t, w)
		if fails {
			cloud.AddFault(simcloud.Fault{
				Kind: fault.FailResource, ResourceName: "VDU2",
				ResourceType: "OS::Nova::Server", Action: "update", Reason: "broken", Count: 1,
			})
		}
		w.change(sol.LcmOperationChangeVnfpkg, map[string]any{
			"vnfdId": "vnfd-2", "additionalParams": c.vduParams("VDU1", "VDU2"),
		}, lcm.Scope{Flavour: "default"})
		w.store.op.VnfPkgID = "pkg-2"
		if fails {
			w.failed()
			require.Equal(t, []string{"VDU1", "VDU1"}, c.about())
			w.steer(lcm.EventRollback)
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
			require.Equal(t, []string{"VDU1", "VDU1", "VDU2 back", "VDU1 back", "VDU1 back"}, c.about())
			require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
		} else {
			w.completed()
			require.Equal(t, []string{"VDU1", "VDU1", "VDU2"}, c.about())
			require.Equal(t, 3, w.updates(), "one for each resource of the template, one for the rest")
		}
		require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))
		want := map[bool]string{true: "m1.tiny", false: "m1.small"}[fails]
		for _, r := range w.store.instance.Instantiated.VnfcResourceInfo {
			require.Equal(t, want, r.Metadata["flavor"])
		}
	}
}

// TestPackageOfGroupsThatHeatRefuses: a member that failed with a property of the new package is given the old one by
// the rollback, and so is one that has the new package already.
func TestPackageOfGroupsThatHeatRefuses(t *testing.T) {
	t.Parallel()
	w := newGroupWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.reset()
	before, servers := copied(w.store.instance), w.ids("OS::Nova::Server")
	w.changeGroups("3")
	require.Contains(t, w.failed().Detail, "No Flavor matching {'name': 'm1.missing'}")
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	w.unchanged(before, servers)

	rule := w.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceName: "VDU1", ResourceType: "OS::Nova::Server", Action: "update",
		Reason: "broken", Nth: 2,
	})
	w.changeGroups("2")
	require.Contains(t, w.failed().Detail, "broken")
	require.ElementsMatch(t, []string{"m1.small", "m1.tiny", "m1.tiny"}, w.flavoursOfAll())
	require.True(t, w.cloud.Faults().Remove(rule))
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	w.unchanged(before, servers)
}

// TestPackageOfGroupsInBatches: members that are changed together are changed back together.
func TestPackageOfGroupsInBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	all := groups()
	for _, p := range all {
		top := p.files.(fstest.MapFS)["BaseHOT/default/top.yaml"]
		top.Data = bytes.Replace(top.Data, []byte("max_size: 3"), []byte(
			"max_size: 3\n      rolling_updates: {max_batch_size: 2, min_in_service: 1}"), 1)
	}
	w.instantiateGroups(all)
	w.reset()
	before, servers := copied(w.store.instance), w.ids("OS::Nova::Server")
	w.changeGroups("3")
	w.failed()
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	w.unchanged(before, servers)
}

// TestPackageOfNestedGroupsThatHeatRefuses: members of a group in a nested template are changed back as those of a
// group in the top template are, also in batches.
func TestPackageOfNestedGroupsThatHeatRefuses(t *testing.T) {
	t.Parallel()
	for _, batch := range []string{"1", "2"} {
		t.Run("in batches of "+batch, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
			all := groups()
			for _, p := range all {
				nestGroup(p.files.(fstest.MapFS), batch)
			}
			w.instantiateGroups(all)
			w.reset()
			before, servers := copied(w.store.instance), w.ids("OS::Nova::Server")
			w.changeGroups("3")
			require.Contains(t, w.failed().Detail, "No Flavor matching {'name': 'm1.missing'}")
			w.steer(lcm.EventRollback)
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
			w.unchanged(before, servers)
			w.changeGroups("2")
			w.completed()
			require.Equal(t, []string{"m1.small", "m1.small", "m1.small"}, w.flavoursOfAll())
		})
	}
}

// nestGroup moves the group of VDU1 into a nested template.
func nestGroup(files fstest.MapFS, batch string) {
	const from, to = "  VDU1_group:\n", "  VDU2:\n"
	top := files["BaseHOT/default/top.yaml"]
	head, rest, _ := strings.Cut(string(top.Data), from)
	group, tail, _ := strings.Cut(rest, to)
	top.Data = []byte(head + `  VDU1_part:
    type: part.yaml
    properties:
      size: {get_param: [nfv, VDU, VDU1, desired_capacity]}
      flavor: {get_param: [nfv, VDU, VDU1, computeFlavourId]}
      net: {get_param: [nfv, CP, VDU1_CP1, network]}
` + to + tail)
	files["BaseHOT/default/nested/part.yaml"] = &fstest.MapFile{Data: []byte(`heat_template_version: 2018-08-31
parameters: {size: {type: number}, flavor: {type: string}, net: {type: string}}
resources:
` + from + strings.NewReplacer(
		"[nfv, VDU, VDU1, desired_capacity]", "size", "[nfv, VDU, VDU1, computeFlavourId]", "flavor",
		"[nfv, CP, VDU1_CP1, network]", "net",
		"max_size: 3", "max_size: 3\n      rolling_updates: {max_batch_size: "+batch+", min_in_service: 0}",
	).Replace(group))}
}

// TestPackageOfGroupsGoesForwardAgain: after a rollback that failed on its way, a retry gives all members the new
// package, and a rollback after that the old one.
func TestPackageOfGroupsGoesForwardAgain(t *testing.T) {
	t.Parallel()
	w := newGroupWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.reset()
	before, servers := copied(w.store.instance), w.ids("OS::Nova::Server")
	fails := func(vdu string, nth int) string {
		return w.cloud.AddFault(simcloud.Fault{
			Kind: fault.FailResource, ResourceName: vdu, ResourceType: "OS::Nova::Server", Action: "update",
			Reason: "broken", Nth: nth,
		})
	}
	rule := fails("VDU2", 1)
	w.changeGroups("2")
	w.failed()
	require.ElementsMatch(t, []string{"m1.small", "m1.small", "m1.tiny"}, w.flavoursOfAll())
	for range 2 {
		require.True(t, w.cloud.Faults().Remove(rule))
		rule = fails("VDU1", 2)
		w.steer(lcm.EventRollback)
		require.Equal(t, sol.LcmOperationStateFailedTemp, w.run())
		require.ElementsMatch(t, []string{"m1.small", "m1.tiny", "m1.tiny"}, w.flavoursOfAll())
		require.True(t, w.cloud.Faults().Remove(rule))
		rule = fails("VDU2", 1)
		w.steer(lcm.EventRetry)
		w.failed()
		require.ElementsMatch(t, []string{"m1.small", "m1.small", "m1.tiny"}, w.flavoursOfAll())
	}
	require.True(t, w.cloud.Faults().Remove(rule))
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	w.unchanged(before, servers)
}

// TestGroupAfterAFailedChange: when the user leaves a failed change as it is, the next operation gives the members the
// package that the instance has.
func TestGroupAfterAFailedChange(t *testing.T) {
	t.Parallel()
	w := newGroupWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.reset()
	w.changeGroups("3")
	w.failed()
	w.steer(lcm.EventFail)
	w.change(sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"nfv": map[string]any{
		"VDU": map[string]any{"VDU1": map[string]any{"computeFlavourId": "m1.tiny"}},
	}}}, lcm.Scope{
		Flavour: "default", VNFCs: []string{w.store.instance.Instantiated.VnfcInfo[0].ID},
	})
	w.completed()
	require.Equal(t, []string{"m1.tiny", "m1.tiny", "m1.tiny"}, w.flavoursOfAll())
}

// changeGroups admits a change to one of the packages of groups.
func (w *world) changeGroups(number string) {
	w.t.Helper()
	w.change(
		sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": "vnfd-" + number}, lcm.Scope{Flavour: "default"},
	)
	w.store.op.VnfPkgID = "pkg-" + number
}

// flavoursOfAll are the flavours of all servers in the cloud, sorted.
func (w *world) flavoursOfAll() []string {
	w.t.Helper()
	var servers []map[string]any
	for _, id := range w.ids("OS::Nova::Server") {
		s, _ := w.ask("compute", http.MethodGet, "/servers/"+id, nil)["server"].(map[string]any)
		servers = append(servers, s)
	}
	out := strings.Fields(w.flavoursOf(servers))
	slices.Sort(out)
	return out
}

// unchanged wants servers, flavours and nfv to be as they were.
func (w *world) unchanged(before lcm.Instance, servers map[string]string) {
	w.t.Helper()
	require.Empty(w.t, differing(servers, w.ids("OS::Nova::Server")))
	require.Equal(w.t, []string{"m1.tiny", "m1.tiny", "m1.tiny"}, w.flavoursOfAll())
	require.Equal(w.t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
}
