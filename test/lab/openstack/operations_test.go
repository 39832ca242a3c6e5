package openstack_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// machine is a VNFC as OpenStack has it.
type machine struct {
	vdu, vnfc, server, zone string
	storages, cps           []string // ids of volumes, and of ports
}

// machines are the VNFCs of an instance by their id.
func machines(i *sol.VnfInstance) map[string]machine {
	out := map[string]machine{}
	info := i.InstantiatedVnfInfo
	for _, v := range info.VnfcInfo {
		m := machine{vdu: v.VduID, vnfc: v.ID}
		for _, r := range info.VnfcResourceInfo {
			if r.ID != v.VnfcResourceInfoID {
				continue
			}
			m.server, m.zone = r.ComputeResource.ResourceID, r.ZoneID
			for _, s := range info.VirtualStorageResourceInfo {
				if slices.Contains(r.StorageResourceIds, s.ID) {
					m.storages = append(m.storages, s.StorageResource.ResourceID)
				}
			}
			for _, cp := range r.VnfcCpInfo {
				m.cps = append(m.cps, cp.ID)
			}
		}
		slices.Sort(m.storages)
		out[m.vnfc] = m
	}
	return out
}

// of are the machines of one VDU, in the order in which the inventory lists them: the highest index first.
func of(i *sol.VnfInstance, vdu string) []machine {
	all := machines(i)
	var out []machine
	for _, v := range i.InstantiatedVnfInfo.VnfcInfo {
		if v.VduID == vdu {
			out = append(out, all[v.ID])
		}
	}
	return out
}

// changes counts the affected VNFCs of an operation by what became of them.
func changes(o *sol.VnfLcmOpOcc) map[sol.ChangeType]int {
	n := map[sol.ChangeType]int{}
	if o.ResourceChanges != nil {
		for _, c := range o.ResourceChanges.AffectedVnfcs {
			n[c.ChangeType]++
		}
	}
	return n
}

// servers wants the VNFCs of an instance to be the servers that are there, in this state.
func (w *world) servers(id, status string) {
	w.t.Helper()
	for _, m := range machines(w.instance(id)) {
		require.Equal(w.t, status, w.cloud.get(w.t, w.cloud.nova, "servers/"+m.server, "server").text("status"),
			"%s %s", m.vdu, m.server)
	}
}

// run starts an operation and waits until it is completed.
func (w *world) run(id string, t sol.LcmOperationType, body any) *sol.VnfLcmOpOcc {
	w.t.Helper()
	return w.completed(w.begin(id, t, body))
}

// begin starts an operation.
func (w *world) begin(id string, t sol.LcmOperationType, body any) string {
	w.t.Helper()
	op, err := w.api.Start(w.t.Context(), id, t, body)
	require.NoError(w.t, err)
	return op
}

func scale(typ sol.ScaleType, steps int) sol.ScaleVnfRequest {
	return sol.ScaleVnfRequest{Type: typ, AspectID: "VDU1_scale", NumberOfSteps: steps}
}

// Steps out and in: what was there stays as it is, the highest index goes first, and no level beyond the VNFD's is
// accepted.
func TestScale(t *testing.T) {
	w := start(t, 1)
	for _, tt := range []struct {
		name, pkg string
		req       func(w *world) sol.InstantiateVnfRequest
	}{
		{"a stack per VNFC", "standard", func(w *world) sol.InstantiateVnfRequest { return w.standard("volumes") }},
		{"a group", "groups", func(w *world) sol.InstantiateVnfRequest { return w.groups("simple", "smallest") }},
		{"a group with policies", "groups", func(w *world) sol.InstantiateVnfRequest {
			return w.groups("policies", "smallest")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			id := w.up(w.vnfd(tt.pkg), tt.req(w))
			before := machines(w.instance(id))
			o := w.run(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 2))
			require.Equal(t, map[sol.ChangeType]int{sol.ChangeTypeAdded: 2}, changes(o))
			out := w.instance(id)
			require.Equal(t, map[string]int{"VDU1": 3, "VDU2": 1}, vnfcs(out))
			require.Equal(t, 2, out.InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel)
			for vnfc, m := range before {
				require.Equal(t, m, machines(out)[vnfc], "scaling has changed a VNFC that was there")
			}
			w.servers(id, "ACTIVE")
			_, err := w.api.Scale(t.Context(), id, scale(sol.ScaleTypeOut, 1))
			require.Error(t, err)

			o = w.run(id, sol.LcmOperationScale, scale(sol.ScaleTypeIn, 1))
			require.Equal(t, map[sol.ChangeType]int{sol.ChangeTypeRemoved: 1}, changes(o))
			in := w.instance(id)
			require.Equal(t, map[string]int{"VDU1": 2, "VDU2": 1}, vnfcs(in))
			require.ElementsMatch(t, of(out, "VDU1")[1:], of(in, "VDU1"),
				"the first that vnfcInfo lists goes: the highest index, the youngest, or what Heat chooses")
			w.down(id)
		})
	}
}

// A scale out that finds no quota is rolled back to what was there, or retried when there is more.
func TestScaleOutThatFails(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("smallest"))
	before := machines(w.instance(id))
	for _, end := range []string{"rollback", "retry"} {
		t.Run(end, func(t *testing.T) {
			w := w.in(t)
			w.instanceQuota(len(before) + 1)
			t.Cleanup(func() { w.instanceQuota(-1) })
			op := w.begin(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 2))
			w.failed(op, "Quota exceeded")
			if end == "rollback" {
				w.rolledBack(op)
				require.Equal(t, before, machines(w.instance(id)))
				require.Equal(t, 0, w.instance(id).InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel)
				return
			}
			w.instanceQuota(-1)
			w.retried(op)
			require.Equal(t, map[string]int{"VDU1": 3}, vnfcs(w.instance(id)))
		})
	}
	w.down(id)
}

// A level of the VNFD is reached at once, from wherever the instance is.
func TestScaleToLevel(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	w.run(id, sol.LcmOperationScaleToLevel, sol.ScaleVnfToLevelRequest{InstantiationLevelID: "largest"})
	require.Equal(t, map[string]int{"VDU1": 3, "VDU2": 1}, vnfcs(w.instance(id)))
	w.run(id, sol.LcmOperationScaleToLevel, sol.ScaleVnfToLevelRequest{
		ScaleInfo: []sol.ScaleInfo{{AspectID: "VDU1_scale", ScaleLevel: 1}},
	})
	require.Equal(t, map[string]int{"VDU1": 2, "VDU2": 1}, vnfcs(w.instance(id)))
	w.servers(id, "ACTIVE")
	w.down(id)
}

// Heal of one VNFC gives it another server, with its storages only when asked; the others are not touched.
func TestHealOfOneVNFC(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	for _, tt := range []struct {
		name, vdu string
		params    sol.KeyValuePairs
		storages  bool // are new
		dead      bool // is deleted behind everybody's back
	}{
		{"sick", "VDU1", nil, false, false},
		{"gone", "VDU1", nil, false, true},
		{"with volumes that stay", "VDU2", nil, false, false},
		{"with new volumes", "VDU2", sol.KeyValuePairs{"all": true}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			before := w.instance(id)
			sick := of(before, tt.vdu)[0]
			if tt.dead {
				w.cloud.remove(t, w.cloud.nova, "servers/"+sick.server)
			}
			params := userData()
			maps.Copy(params, tt.params)
			w.run(id, sol.LcmOperationHeal, sol.HealVnfRequest{
				VnfcInstanceID: []string{sick.vnfc}, AdditionalParams: params,
			})
			after := w.instance(id)
			require.Equal(t, vnfcs(before), vnfcs(after))
			healed := of(after, tt.vdu)[0]
			require.NotEqual(t, sick.server, healed.server)
			if tt.storages {
				require.NotEqual(t, sick.storages, healed.storages)
			} else {
				require.Equal(t, sick.storages, healed.storages)
			}
			for _, m := range machines(before) {
				if m.vnfc != sick.vnfc {
					require.Equal(t, m, machines(after)[m.vnfc], "a healthy VNFC was touched")
				}
			}
			w.servers(id, "ACTIVE")
		})
	}
	w.down(id)
}

// Heal of the whole VNF gives every VNFC another server; with all the stack is recreated.
func TestHealOfTheWholeVNF(t *testing.T) {
	w := start(t, 1)
	for _, pkg := range []string{"standard", "groups"} {
		t.Run(pkg, func(t *testing.T) {
			w := w.in(t)
			req := w.standard("volumes")
			if pkg == "groups" {
				req = w.groups("simple", "smallest")
			}
			id := w.up(w.vnfd(pkg), req)
			stack := w.cloud.stack(t, id).text("id")
			for _, all := range []bool{false, true} {
				before := w.instance(id)
				var params sol.KeyValuePairs
				if all {
					params = sol.KeyValuePairs{"all": true}
				}
				w.run(id, sol.LcmOperationHeal, sol.HealVnfRequest{Cause: "test", AdditionalParams: params})
				after := w.instance(id)
				require.Equal(t, vnfcs(before), vnfcs(after))
				old := map[string]bool{}
				for _, m := range machines(before) {
					old[m.server] = true
				}
				for _, m := range machines(after) {
					require.False(t, old[m.server], "%s has its old server", m.vnfc)
				}
				if all {
					require.NotEqual(t, stack, w.cloud.stack(t, id).text("id"))
				} else {
					require.Equal(t, stack, w.cloud.stack(t, id).text("id"))
				}
				w.servers(id, "ACTIVE")
			}
			w.down(id)
		})
	}
}

// Stop and start go through Nova, and the inventory tells it.
func TestOperate(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	w.run(id, sol.LcmOperationOperate, sol.OperateVnfRequest{
		ChangeStateTo: sol.VnfOperationalStateStopped, StopType: sol.StopTypeForceful,
	})
	w.servers(id, "SHUTOFF")
	require.Equal(t, sol.VnfOperationalStateStopped, w.instance(id).InstantiatedVnfInfo.VnfState)
	w.run(id, sol.LcmOperationOperate, sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted})
	w.servers(id, "ACTIVE")
	require.Equal(t, sol.VnfOperationalStateStarted, w.instance(id).InstantiatedVnfInfo.VnfState)
	w.down(id)
}

// reconnected asks for another address of VDU2.
func (w *world) reconnected(address string) sol.ChangeExtVnfConnectivityRequest {
	return sol.ChangeExtVnfConnectivityRequest{AdditionalParams: userData(), ExtVirtualLinks: []sol.ExtVirtualLinkData{
		link("link2", w.cloud.network(w.t, "net1"), map[string]sol.IpAddressData{
			"VDU2_CP1": fixed(address, w.cloud.subnet(w.t, "subnet1")),
		}),
	}}
}

// Another address, then another network, without another server; what cannot be connected is rolled back.
func TestChangeOfExternalConnectivity(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	before := of(w.instance(id), "VDU2")[0]
	addresses := func() []string {
		var out []string
		ports, err := list(
			t.Context(), w.cloud.neutron, "ports?device_id="+of(w.instance(id), "VDU2")[0].server, "ports",
		)
		require.NoError(t, err)
		for _, p := range ports {
			for _, ip := range p["fixed_ips"].([]any) {
				out = append(out, ip.(map[string]any)["ip_address"].(string))
			}
		}
		return out
	}
	o := w.run(id, sol.LcmOperationChangeExtConn, w.reconnected("10.10.1.78"))
	require.Equal(t, []string{"10.10.1.78"}, addresses())
	require.Equal(t, before.server, of(w.instance(id), "VDU2")[0].server)
	require.NotEmpty(t, o.ChangedExtConnectivity)

	port := w.cloud.create(t, w.cloud.neutron, "ports", "port", map[string]any{
		"network_id": w.cloud.network(t, "net1"), "fixed_ips": []any{map[string]any{"ip_address": "10.10.1.79"}},
	})
	op := w.begin(id, sol.LcmOperationChangeExtConn, w.reconnected("10.10.1.79"))
	w.failed(op, "10.10.1.79")
	w.rolledBack(op)
	require.Equal(t, []string{"10.10.1.78"}, addresses())
	w.cloud.remove(t, w.cloud.neutron, "ports/"+port)

	net0 := w.reconnected("10.10.0.78")
	net0.ExtVirtualLinks[0] = link(
		"link3", w.cloud.network(t, "net_mgmt"), map[string]sol.IpAddressData{"VDU2_CP1": dynamic("")},
	)
	w.run(id, sol.LcmOperationChangeExtConn, net0)
	require.Len(t, addresses(), 1)
	require.Contains(t, addresses()[0], "192.168.120.")
	w.servers(id, "ACTIVE")
	w.down(id)
}

// largeFlavour asks for the other flavour of the package standard.
func (w *world) largeFlavour() sol.ChangeVnfFlavourRequest {
	return sol.ChangeVnfFlavourRequest{
		NewFlavourID: "large", InstantiationLevelID: "smallest", AdditionalParams: userData(),
	}
}

// Another flavour: what only the old one has goes, what only the new one has comes, and what both have is changed.
func TestChangeOfFlavour(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	before := of(w.instance(id), "VDU1")[0]
	w.run(id, sol.LcmOperationChangeFlavour, w.largeFlavour())
	i := w.instance(id)
	require.Equal(t, "large", i.InstantiatedVnfInfo.FlavourID)
	require.Equal(t, map[string]int{"VDU1": 1, "VDU3": 1}, vnfcs(i))
	server := w.cloud.get(t, w.cloud.nova, "servers/"+of(i, "VDU1")[0].server, "server")
	require.Equal(t, "m1.small", server["flavor"].(map[string]any)["original_name"])
	t.Logf("the server of VDU1 is the same: %t", before.server == of(i, "VDU1")[0].server)
	w.servers(id, "ACTIVE")
	w.down(id)
}

// nextVersion asks for the next version of the package standard.
func nextVersion(vnfd string) sol.ChangeCurrentVnfPkgRequest {
	params := userData()
	params["upgrade_type"] = "RollingUpdate"
	params["vdu_params"] = []any{map[string]any{"vdu_id": "VDU1"}, map[string]any{"vdu_id": "VDU2"}}
	return sol.ChangeCurrentVnfPkgRequest{VnfdID: vnfd, AdditionalParams: params}
}

// The next version of the package: larger machines, an image of the package's, a larger volume, one VNFC at a time.
func TestChangeOfPackage(t *testing.T) {
	w := start(t, 1)
	next := w.vnfd("standard-2")
	id := w.up(w.vnfd("standard"), w.standard("volumes"))
	w.run(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
	w.run(id, sol.LcmOperationChangeVnfpkg, nextVersion(next))
	i := w.instance(id)
	require.Equal(t, next, i.VnfdID)
	require.Equal(t, "2.0", i.VnfSoftwareVersion)
	require.Equal(t, map[string]int{"VDU1": 2, "VDU2": 1}, vnfcs(i))
	images, err := list(t.Context(), w.cloud.glance, "images?tag="+id, "images")
	require.NoError(t, err)
	require.Len(t, images, 1)
	for _, m := range of(i, "VDU1") {
		server := w.cloud.get(t, w.cloud.nova, "servers/"+m.server, "server")
		require.Equal(t, "m1.small", server["flavor"].(map[string]any)["original_name"])
		require.Equal(t, images[0].text("id"), server["image"].(map[string]any)["id"])
	}
	var sizes []string
	for _, v := range of(i, "VDU2")[0].storages {
		sizes = append(sizes, fmt.Sprint(w.cloud.get(t, w.cloud.cinder, "volumes/"+v, "volume")["size"]))
	}
	require.ElementsMatch(t, []string{"1", "2"}, sizes, "GiB of the boot volume, and of the larger one")
	w.servers(id, "ACTIVE")
	w.down(id)
}

// A change of the package that fails in the middle goes back to the old version.
func TestChangeOfPackageIsRolledBack(t *testing.T) {
	w := start(t, 1)
	next := w.vnfd("standard-2")
	old := w.vnfd("standard")
	id := w.up(old, w.standard("largest"))
	req := nextVersion(next)
	req.AdditionalParams["nfv"] = map[string]any{
		"VDU": map[string]any{"VDU1-0": map[string]any{"computeFlavourId": "m1.nowhere"}},
	}
	op := w.begin(id, sol.LcmOperationChangeVnfpkg, req)
	w.failed(op, "m1.nowhere")
	w.rolledBack(op)
	i := w.instance(id)
	require.Equal(t, old, i.VnfdID)
	require.Equal(t, map[string]int{"VDU1": 3, "VDU2": 1}, vnfcs(i))
	for _, m := range of(i, "VDU1") {
		server := w.cloud.get(t, w.cloud.nova, "servers/"+m.server, "server")
		require.Equal(t, "m1.tiny", server["flavor"].(map[string]any)["original_name"])
	}
	w.servers(id, "ACTIVE")
	w.down(id)
}

// Modify changes what is Gybe's own, and nothing in OpenStack.
func TestModify(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("plain"), w.plain())
	before := w.cloud.look(t)
	w.run(id, sol.LcmOperationModifyInfo, map[string]any{
		"vnfInstanceName": "another", "metadata": map[string]any{"key": "value"},
	})
	i := w.instance(id)
	require.Equal(t, "another", i.VnfInstanceName)
	require.Equal(t, "value", i.Metadata["key"])
	require.Empty(t, w.cloud.look(t).since(before))
	w.down(id)
}
