package inventory

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// fuzzed is what a VIM says about a stack.
type fuzzed struct {
	Resources   []cloud.Resource            `json:"resources"`
	Servers     map[string]cloud.Server     `json:"servers"`
	Ports       map[string]cloud.Port       `json:"ports"`
	FloatingIPs map[string]cloud.FloatingIP `json:"floatingips"`
	Volumes     map[string]cloud.Volume     `json:"volumes"`
	NFV         any                         `json:"nfv"`
}

// FuzzBuild makes an inventory of any answers of a VIM. It names no resource that the answers do not have, no VNFC
// twice, and does not depend on the order of the answers as long as the ids are unique.
func FuzzBuild(f *testing.F) {
	f.Add([]byte(`{"resources": [
{"resource_name": "VDU1-0", "resource_type": "VDU1.yaml", "physical_resource_id": "n0", "resource_status": "CREATE_COMPLETE", "links": [{"rel": "stack", "href": "http://h/v1/p/stacks/top/top"}]},
{"resource_name": "VDU1", "resource_type": "OS::Nova::Server", "physical_resource_id": "s0", "resource_status": "CREATE_COMPLETE", "links": [{"rel": "stack", "href": "http://h/v1/p/stacks/n/n0"}]},
{"resource_name": "CP1", "resource_type": "OS::Neutron::Port", "physical_resource_id": "p0", "resource_status": "CREATE_COMPLETE", "links": [{"rel": "stack", "href": "http://h/v1/p/stacks/n/n0"}]},
{"resource_name": "VDU2", "resource_type": "OS::Nova::Server", "physical_resource_id": "s1", "resource_status": "CHECK_FAILED", "links": [{"rel": "stack", "href": "http://h/v1/p/stacks/top/top"}]}],
"servers": {"s0": {"id": "s0", "status": "ACTIVE", "os-extended-volumes:volumes_attached": [{"id": "v0"}]}},
"ports": {"p0": {"id": "p0", "device_id": "s0", "network_id": "net", "fixed_ips": [{"ip_address": "10.0.0.1"}]}},
"volumes": {"v0": {"id": "v0", "attachments": [{"server_id": "s0"}]}}, "nfv": "{\"VDU\": {\"VDU1-0\": {\"computeFlavourId\": \"m1\"}}}"}`))
	f.Add([]byte(`{"resources": [{"resource_name": "VDU2", "resource_type": "OS::Nova::Server", "physical_resource_id": "s1", "resource_status": "X_COMPLETE"},
{"resource_name": "VDU2", "resource_type": "OS::Nova::Server", "physical_resource_id": "s1", "resource_status": "X_COMPLETE"}]}`))
	f.Add([]byte(`{"nfv": {"VDU": []}}`))
	flavour := &vnfd.Flavour{
		ID: "simple", VDUs: []vnfd.VDU{{Name: "VDU1"}, {Name: "VDU2"}},
		CPs: []vnfd.CP{
			{Name: "CP1", VDU: "VDU1"}, {Name: "CP2", VDU: "VDU2", VL: "VL1"}, {Name: "VIP", External: true},
		},
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in fuzzed
		if json.Unmarshal(raw, &in) != nil || len(in.Resources) > 200 {
			return
		}
		build := func(resources []cloud.Resource) Record {
			st := &cloud.Stack{ID: "top", Name: "top"}
			return Build(Input{
				Snapshot: &Snapshot{
					Stack: st, Tree: NewTree(st, resources), NFV: DecodeNFV(in.NFV), Servers: in.Servers,
					Ports: in.Ports, FloatingIPs: in.FloatingIPs, Volumes: in.Volumes,
				},
				Vim: "vim1", Instance: &lcm.Instance{ID: "i"}, Desired: Target{
					Flavour: flavour, Ext: []sol.ExtVirtualLinkData{{ID: "link", ResourceID: "net"}},
				},
				Operation: "op", Params: json.RawMessage("{}"),
			})
		}
		record := build(in.Resources)
		known, unique := map[string]bool{}, true
		for _, r := range in.Resources {
			unique = unique && !known[r.PhysicalID]
			known[r.PhysicalID] = true
		}
		vnfcs := map[string]bool{}
		for _, c := range record.Info.VnfcResourceInfo {
			if !known[c.ComputeResource.ResourceID] || c.ComputeResource.ResourceID == "" {
				t.Fatalf("the server %q is not in the stack", c.ComputeResource.ResourceID)
			}
			if vnfcs[c.ID] {
				t.Fatalf("the VNFC %q is there twice", c.ID)
			}
			vnfcs[c.ID] = true
		}
		if len(record.Info.VnfcInfo) != len(record.Info.VnfcResourceInfo) {
			t.Fatalf("%d VNFCs with %d resources", len(record.Info.VnfcInfo), len(record.Info.VnfcResourceInfo))
		}
		if _, err := json.Marshal(record.Info); err != nil {
			t.Fatal(err)
		}

		reversed := slices.Clone(in.Resources)
		slices.Reverse(reversed)
		again := map[string]bool{}
		for _, c := range build(reversed).Info.VnfcResourceInfo {
			again[c.ID] = true
		}
		if unique && !maps.Equal(vnfcs, again) {
			t.Fatalf("VNFCs %v, and in another order %v", vnfcs, again)
		}
		Changes(Record{Info: record.Info, Resources: record.Resources}, build(nil))
	})
}
