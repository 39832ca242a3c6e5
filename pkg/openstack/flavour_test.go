package openstack_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// vduFile is a nested template of a server with a port.
const vduFile = `heat_template_version: 2013-05-23
parameters: { flavor: { type: string }, image: { type: string }, net: { type: string }, zone: { type: string, default: nova } }
resources:
  %[1]s:
    type: OS::Nova::Server
    properties:
      flavor: { get_param: flavor }
      image: { get_param: image }
      availability_zone: { get_param: zone }
      networks: [ { port: { get_resource: %[1]s_CP1 } } ]
  %[1]s_CP1:
    type: OS::Neutron::Port
    properties: { network: { get_param: net } }
`

// vduResource uses it in a top template.
const vduResource = `  %[1]s:
    type: %[1]s.yaml
    properties:
      flavor: { get_param: [ nfv, VDU, %[1]s, computeFlavourId ] }
      image: { get_param: [ nfv, VDU, %[1]s, vcImageId ] }
      zone: { get_param: [ nfv, VDU, %[1]s, locationConstraints ] }
      net: { get_param: [ nfv, CP, %[1]s_CP1, network ] }
`

// twoFlavours is a package with the flavours small (VDU1 of m1.tiny) and big (VDU1 and VDU2 of m1.small).
func twoFlavours() onePackage {
	files := fstest.MapFS{}
	flavour := func(id, compute string, vdus ...string) vnfd.Flavour {
		out := vnfd.Flavour{ID: id}
		top := "heat_template_version: 2013-05-23\nparameters: { nfv: { type: json } }\nresources:\n"
		for _, v := range vdus {
			out.VDUs = append(out.VDUs, vnfd.VDU{
				Name: v, MaxInstances: 3, InitialInstances: 1, ComputeFlavour: compute,
				Image: &vnfd.SwImage{Name: "cirros-0.5.2-x86_64-disk"},
			})
			out.CPs = append(out.CPs, vnfd.CP{Name: v + "_CP1", VDU: v})
			top += fmt.Sprintf(vduResource, v)
			files["BaseHOT/"+id+"/nested/"+v+".yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil, vduFile, v)}
		}
		files["BaseHOT/"+id+"/top.yaml"] = &fstest.MapFile{Data: []byte(top)}
		return out
	}
	return onePackage{
		model: &vnfd.VNFD{ID: "d", Flavours: []vnfd.Flavour{
			flavour("small", "m1.tiny", "VDU1"), flavour("big", "m1.small", "VDU1", "VDU2"),
		}},
		files: files,
	}
}

// small is a world with an instance of the flavour small, in a zone.
func small(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.pkg, w.zones = twoFlavours(), []string{"nova"}
	params := map[string]any{"lcm-operation-user-data": "x.py", "lcm-operation-user-data-class": "StandardUserData"}
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "small", "additionalParams": params, "extVirtualLinks": w.links("VDU1_CP1"),
	})
	w.completed()
	w.store.instance.Params = encoded(t, params)
	return w
}

func (w *world) links(cps ...string) []any {
	var all []any
	for _, c := range cps {
		all = append(all, map[string]any{"cpdId": c})
	}
	return []any{map[string]any{"id": "e", "resourceId": w.cloud.Net0ID(), "extCps": all}}
}

func (w *world) toFlavour(id string, counts map[string]int) {
	w.t.Helper()
	w.resize(sol.LcmOperationChangeFlavour, id, counts, map[string]any{
		"newFlavourId": id, "extVirtualLinks": w.links("VDU1_CP1", "VDU2_CP1"),
	})
}

// TestChangeFlavour: VNFCs of VDUs that both flavours have stay the same servers, in another size; the others come and
// go.
func TestChangeFlavour(t *testing.T) {
	t.Parallel()
	w := small(t)
	first := w.serversOf("VDU1")
	w.toFlavour("big", map[string]int{"VDU1": 2, "VDU2": 1})
	w.completed()
	i := w.store.instance.Instantiated
	require.Equal(t, "big", i.FlavourID)
	require.Contains(t, w.serversOf("VDU1"), first[0])
	require.Len(t, w.serversOf("VDU1"), 2)
	require.Len(t, w.serversOf("VDU2"), 1)
	for _, r := range i.VnfcResourceInfo {
		require.Equal(t, "m1.small", r.Metadata["flavor"])
	}
	require.Contains(t, vnfcChanges(w.store.op.ResourceChanges), "MODIFIED "+first[0])

	w.resize(sol.LcmOperationChangeFlavour, "small", map[string]int{"VDU1": 1}, map[string]any{"newFlavourId": "small"})
	w.completed()
	require.Equal(t, first, w.serversOf("VDU1"))
	require.Len(t, w.liveServers(), 1)
	require.NotContains(
		t, fmt.Sprint(w.store.instance.Instantiated.Metadata["nfv"]), "VDU2", "what a VDU was made from went with it",
	)
	for _, l := range w.store.instance.Instantiated.ExtVirtualLinkInfo {
		require.Len(t, l.CurrentVnfExtCpData, 1, "a connection point that is gone is not connected")
	}
}

// TestChangeFlavourRolledBack: the VNF is what it was.
func TestChangeFlavourRolledBack(t *testing.T) {
	t.Parallel()
	w := small(t)
	first, was := w.serversOf("VDU1"), copied(w.store.instance.Instantiated)
	w.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU2",
		Action: "create", Reason: "no room",
	})
	w.toFlavour("big", map[string]int{"VDU1": 1, "VDU2": 1})
	require.Contains(t, w.failed().Detail, "no room")
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	require.Equal(t, first, w.liveServers())
	require.Equal(t, "small", w.store.instance.Instantiated.FlavourID)
	require.Equal(t, was.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
	require.Equal(t, was.VnfcResourceInfo, w.store.instance.Instantiated.VnfcResourceInfo)
}
