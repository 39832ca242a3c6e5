package openstack_test

import (
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
	}
}

// newGroupWorld is a world with an instance of the package of groups.
func newGroupWorld(t *testing.T, cloud *simcloud.Cloud) *world {
	t.Helper()
	w := newWorld(t, cloud)
	all := groups()
	w.pkgs, w.pkg = all, all["pkg-1"]
	w.store.instance.VnfdID = w.pkg.model.ID
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "extVirtualLinks": []any{link("ext-0", cloud.Net0ID(), "VDU1_CP1")},
	})
	w.completed()
	return w
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
