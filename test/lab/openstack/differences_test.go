package openstack_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// plainVariant makes a package usable that is a change of the package plain, and returns its vnfdId, which is its name.
func (w *world) plainVariant(name string, change func(s stack.Source)) string {
	w.t.Helper()
	s, err := stack.ReadSource("../../packages/plain")
	require.NoError(w.t, err)
	w.edit(s, "Definitions/*", "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a11", `"`+name+`"`)
	change(s)
	file := filepath.Join(w.t.TempDir(), "package.zip")
	require.NoError(w.t, s.Build(w.t.Context(), file))
	vnfd, err := stack.Onboard(w.t.Context(), w.api, file)
	require.NoError(w.t, err)
	require.Equal(w.t, name, vnfd)
	return vnfd
}

// edit changes files of a package, which have the text.
func (w *world) edit(s stack.Source, pattern, old, replacement string) {
	w.t.Helper()
	require.NoError(w.t, s.Edit(pattern, old, replacement))
}

// plainOf is the request for a flavour of a variant of plain with all of its VNFCs.
func (w *world) plainOf(flavour string) sol.InstantiateVnfRequest {
	req := w.plain()
	req.FlavourID, req.InstantiationLevelID = flavour, "instantiation_level_2"
	if flavour == "groups" {
		req.AdditionalParams = nil
	}
	return req
}

// flavours are the flavours of the servers of a VDU.
func (w *world) flavours(id, vdu string) []string {
	w.t.Helper()
	var out []string
	for _, m := range of(w.instance(id), vdu) {
		server := w.cloud.get(w.t, w.cloud.nova, "servers/"+m.server, "server")
		name, _ := server["flavor"].(map[string]any)["original_name"].(string)
		out = append(out, name)
	}
	return out
}

// images are the images of the servers of an instance.
func (w *world) images(id string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, m := range machines(w.instance(id)) {
		server := w.cloud.get(w.t, w.cloud.nova, "servers/"+m.server, "server")
		out[m.server], _ = server["image"].(map[string]any)["id"].(string)
	}
	return out
}

// addresses are the addresses of the servers of a VDU, sorted.
func (w *world) addresses(id, vdu string) []string {
	w.t.Helper()
	var out []string
	for _, m := range of(w.instance(id), vdu) {
		ports, err := list(w.t.Context(), w.cloud.neutron, "ports?device_id="+m.server, "ports")
		require.NoError(w.t, err)
		for _, p := range ports {
			for _, ip := range p["fixed_ips"].([]any) {
				out = append(out, ip.(map[string]any)["ip_address"].(string))
			}
		}
	}
	slices.Sort(out)
	return out
}

// groupOf is the group of the package plain, groupParams what a nested template takes from nfv for it.
const (
	groupOf = `  VDU1_scale:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: { get_param: [ nfv, VDU, VDU1, desired_capacity ] }
      resource:
        type: VDU1.yaml
        properties:
          flavor: { get_param: [ nfv, VDU, VDU1, computeFlavourId ] }
          image: { get_param: [ nfv, VDU, VDU1, vcImageId ] }
          net: { get_param: [ nfv, CP, VDU1_CP1, network ] }
`
	groupPart = `  VDU1_part:
    type: part.yaml
    properties:
      size: { get_param: [ nfv, VDU, VDU1, desired_capacity ] }
      flavor: { get_param: [ nfv, VDU, VDU1, computeFlavourId ] }
      image: { get_param: [ nfv, VDU, VDU1, vcImageId ] }
      net: { get_param: [ nfv, CP, VDU1_CP1, network ] }
`
)

// A change of the package that the members of a group cannot have is rolled back, also when several members have
// failed, and when the group is in a nested template; a correct one goes through after it.
func TestChangeOfPackageOfAGroupIsRolledBack(t *testing.T) {
	w := start(t, 1)
	batches := strings.Replace(groupOf, "      max_size: 3\n",
		"      max_size: 3\n      rolling_updates: { max_batch_size: 2, min_in_service: 0 }\n", 1)
	nested := "heat_template_version: 2013-05-23\nparameters:\n  size: { type: number }\n  flavor: { type: string }\n" +
		"  image: { type: string }\n  net: { type: string }\nresources:\n" + strings.NewReplacer(
		"[ nfv, VDU, VDU1, desired_capacity ]", "size", "[ nfv, VDU, VDU1, computeFlavourId ]", "flavor",
		"[ nfv, VDU, VDU1, vcImageId ]", "image", "[ nfv, CP, VDU1_CP1, network ]", "net",
	).Replace(batches)
	for _, tt := range []struct{ name, top, part string }{
		{"in the top template", groupOf, ""}, {"in batches", batches, ""}, {"in a nested template", groupPart, nested},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			version := func(number, flavour string) string {
				return w.plainVariant(tt.name+" "+number, func(s stack.Source) {
					w.edit(s, "BaseHOT/groups/plain.yaml", groupOf, tt.top)
					if tt.part != "" {
						s["BaseHOT/groups/nested/part.yaml"] = tt.part
					}
					w.edit(s, "Definitions/plain_df_*.yaml", "m1.tiny", flavour)
				})
			}
			first, missing, next := version("1", "m1.tiny"), version("2", "m1.nowhere"), version("3", "m1.small")
			id := w.up(first, w.plainOf("groups"))
			before := machines(w.instance(id))
			op := w.begin(id, sol.LcmOperationChangeVnfpkg, sol.ChangeCurrentVnfPkgRequest{VnfdID: missing})
			w.failed(op, "m1.nowhere")
			w.rolledBack(op)
			require.Equal(t, first, w.instance(id).VnfdID)
			require.Equal(t, []string{"m1.tiny", "m1.tiny", "m1.tiny"}, w.flavours(id, "VDU1"))
			require.Equal(t, before, machines(w.instance(id)), "the servers are the same")
			w.run(id, sol.LcmOperationChangeVnfpkg, sol.ChangeCurrentVnfPkgRequest{VnfdID: next})
			require.Equal(t, []string{"m1.small", "m1.small", "m1.small"}, w.flavours(id, "VDU1"))
			w.servers(id, "ACTIVE")
			w.down(id)
		})
	}
}

// A configuration under another key takes the place of the only one that a connection point has: all VNFCs move.
func TestConfigurationUnderAnotherKeyMovesAllVNFCs(t *testing.T) {
	w := start(t, 1)
	for _, flavour := range []string{"default", "groups"} {
		t.Run(flavour, func(t *testing.T) {
			w := w.in(t)
			req := w.plainOf(flavour)
			id := w.up(w.vnfd("plain"), req)
			servers := machines(w.instance(id))
			to := link("link2", w.cloud.network(t, "net_mgmt"), map[string]sol.IpAddressData{"VDU1_CP1": dynamic("")})
			to.ExtCps[0].CpConfig = map[string]sol.VnfExtCpConfig{"moved": to.ExtCps[0].CpConfig["VDU1_CP1"]}
			w.run(id, sol.LcmOperationChangeExtConn, sol.ChangeExtVnfConnectivityRequest{
				AdditionalParams: req.AdditionalParams, ExtVirtualLinks: []sol.ExtVirtualLinkData{to},
			})
			moved := w.addresses(id, "VDU1")
			require.Len(t, moved, 3)
			for _, ip := range moved {
				require.Contains(t, ip, "192.168.120.")
			}
			for _, m := range machines(w.instance(id)) {
				require.Equal(t, servers[m.vnfc].server, m.server)
			}
			w.down(id)
		})
	}
}

// After a change of the vnfdId, a VNFC that is healed gets the image of the new package, and the others keep theirs.
func TestHealAfterAnotherVnfdID(t *testing.T) {
	w := start(t, 1)
	next := w.plainVariant("with an image", func(s stack.Source) {
		s["Files/images/vm.img"] = "an image of the package"
		const flavours = "Definitions/plain_df_*.yaml"
		w.edit(s, flavours, "          checksum:\n            algorithm: sha-256\n            hash: "+
			"932fcae93574e242dc3d772d5235061747dfe537668443a1f0567d893614b464\n", "")
		w.edit(s, flavours, "name: cirros-0.5.2-x86_64-disk", "name: of-the-package") // names in the VIM are unique
		w.edit(s, flavours, "      capabilities:\n", "      artifacts:\n        sw_image:\n          type: "+
			"tosca.artifacts.nfv.SwImage\n          file: ../Files/images/vm.img\n      capabilities:\n")
	})
	id := w.up(w.vnfd("plain"), w.plainOf("default"))
	before := w.images(id)
	w.run(id, sol.LcmOperationModifyInfo, map[string]any{"vnfdId": next})
	require.Equal(t, before, w.images(id))

	healed := of(w.instance(id), "VDU1")[0]
	w.run(id, sol.LcmOperationHeal, sol.HealVnfRequest{
		VnfcInstanceID: []string{healed.vnfc}, AdditionalParams: userData(),
	})
	packaged, err := list(t.Context(), w.cloud.glance, "images?tag="+id, "images")
	require.NoError(t, err)
	require.Len(t, packaged, 1)
	want := maps.Clone(before)
	delete(want, healed.server)
	want[of(w.instance(id), "VDU1")[0].server] = packaged[0].text("id")
	require.Equal(t, want, w.images(id))
	w.servers(id, "ACTIVE")
	w.down(id)
}

// Ports in nested stacks wait for the subnet of a network that is created with them, although no template says so, also
// where a change of the package brings another network.
func TestPortsWaitForTheSubnetOfANewNetwork(t *testing.T) {
	w := start(t, 1)
	version := func(name, cidr string) string {
		return w.plainVariant("internal "+name, func(s stack.Source) {
			for _, flavour := range []string{"default", "groups"} {
				w.edit(s, "BaseHOT/"+flavour+"/plain.yaml", "{ get_param: [ nfv, CP, VDU1_CP1, network ] }",
					"{ get_resource: "+name+" }")
				w.edit(s, "BaseHOT/"+flavour+"/plain.yaml", "outputs: {}", "  "+name+":\n"+
					"    type: OS::Neutron::Net\n  "+name+"_subnet:\n    type: OS::Neutron::Subnet\n    properties:\n"+
					"      network: { get_resource: "+name+" }\n      cidr: "+cidr+"\n")
			}
		})
	}
	first, next := version("one", "192.168.71.0/24"), version("two", "192.168.72.0/24")
	for _, flavour := range []string{"default", "groups"} {
		t.Run(flavour, func(t *testing.T) {
			w := w.in(t)
			req := w.plainOf(flavour)
			id := w.up(first, req)
			on := func(prefix string) {
				t.Helper()
				all := w.addresses(id, "VDU1")
				require.Len(t, all, 3)
				for _, ip := range all {
					require.Contains(t, ip, prefix)
				}
			}
			on("192.168.71.")
			w.run(id, sol.LcmOperationChangeVnfpkg, sol.ChangeCurrentVnfPkgRequest{
				VnfdID: next, AdditionalParams: req.AdditionalParams,
			})
			on("192.168.72.")
			w.servers(id, "ACTIVE")
			w.down(id)
		})
	}
}
