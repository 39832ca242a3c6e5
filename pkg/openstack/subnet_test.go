package openstack_test

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/timing"
)

// internals are packages of a VDU with a port on a network of the top template, which the second one replaces by
// another network. No template says that the port needs the network's subnet.
func internals(vdu string) packages {
	pkg := func(id, net string, block int) onePackage {
		return onePackage{&vnfd.VNFD{ID: id, Flavours: []vnfd.Flavour{{
			ID:   "default",
			VDUs: []vnfd.VDU{{Name: "VDU1", ComputeFlavour: "m1.tiny"}},
			CPs:  []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1"}},
			Levels: []vnfd.InstantiationLevel{
				{ID: "two", VDUs: map[string]int{"VDU1": 2}},
			},
			DefaultLevel: "two",
		}}}, fstest.MapFS{
			"BaseHOT/default/top.yaml": {Data: []byte(fmt.Sprintf(`heat_template_version: 2018-08-31
parameters: {nfv: {type: json}}
resources:
  %[1]s: {type: 'OS::Neutron::Net'}
  %[1]s_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: %[1]s}, cidr: 10.77.%[2]d.0/24}
  VDU1:
`, net, block) + fmt.Sprintf(vdu, net))},
			"BaseHOT/default/nested/VDU1.yaml": {Data: []byte(`heat_template_version: 2018-08-31
parameters: {flavor: {type: string}, net: {type: string}}
resources:
  VDU1: {type: 'OS::Nova::Server', properties: {flavor: {get_param: flavor}, image: cirros-0.5.2-x86_64-disk, networks: [{port: {get_resource: VDU1_CP1}}]}}
  VDU1_CP1: {type: 'OS::Neutron::Port', properties: {network: {get_param: net}}}
`)},
		}}
	}
	return packages{"pkg-1": pkg("vnfd-1", "internal", 1), "pkg-2": pkg("vnfd-2", "other", 2)}
}

// TestPortsWaitForTheSubnet of a network that is created with them, also where the network is new in a package.
func TestPortsWaitForTheSubnet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		params map[string]any
		vdu    string
	}{
		"VNFCs of their own": {standardUserData, `    type: VDU1.yaml
    properties: {flavor: {get_param: [nfv, VDU, VDU1, computeFlavourId]}, net: {get_resource: %s}}
`},
		"members of a group": {nil, `    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 0
      max_size: 3
      desired_capacity: 2
      resource:
        type: VDU1.yaml
        properties: {flavor: {get_param: [nfv, VDU, VDU1, computeFlavourId]}, net: {get_resource: %s}}
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
			w.cloud.AddFault(simcloud.Fault{
				Kind: fault.DelayResource, ResourceType: "OS::Neutron::Subnet", Action: "create",
				Delay: timing.Duration(300 * time.Millisecond),
			})
			all := internals(tt.vdu)
			w.pkgs, w.pkg = all, all["pkg-1"]
			w.store.instance.VnfdID = w.pkg.model.ID
			w.admit(sol.LcmOperationInstantiate, map[string]any{
				"flavourId": "default", "additionalParams": tt.params,
			})
			if tt.params != nil {
				w.store.instance.Params = encoded(t, tt.params)
			}
			w.completed()
			for _, place := range []string{"VDU1-0 VDU1_CP1", "VDU1-1 VDU1_CP1"} {
				_, ip := w.networkOf(place)
				require.Contains(t, ip, "10.77.1.")
			}
			w.change(
				sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": "vnfd-2"}, lcm.Scope{Flavour: "default"},
			)
			w.store.op.VnfPkgID = "pkg-2"
			w.completed()
			for _, place := range []string{"VDU1-0 VDU1_CP1", "VDU1-1 VDU1_CP1"} {
				_, ip := w.networkOf(place)
				require.Contains(t, ip, "10.77.2.")
			}
		})
	}
}
