package userdata_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

// later is the input of an operation on what input made: one VNFC of each VDU, as captured.
func later(t *testing.T) userdata.Input {
	t.Helper()
	in := input(t)
	in.Grant, in.Patches = lcm.Grant{}, nil
	in.Had = map[string]int{"VDU1": 1, "VDU2": 1}
	in.Held, _ = object(t, captured)["nfv"].(map[string]any)
	return in
}

// without is a bundle without one resource of its template.
func without(t *testing.T, b *hot.Bundle, resource string) *hot.Bundle {
	t.Helper()
	out := *b
	out.Template = b.Template.Clone()
	out.Template.Expand(resource, 0)
	return &out
}

// leaves reads one entry of nfv.
func leaves(t *testing.T, s *userdata.Stack, kind, name string) map[string]any {
	t.Helper()
	m, _ := s.NFV[kind].(map[string]any)
	out, _ := m[name].(map[string]any)
	return userdata.Compact(out)
}

// TestWhatHolds: an operation changes for the VNFCs that are there what it is about, and nothing else, because Heat
// replaces servers for less.
func TestWhatHolds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change     func(t *testing.T, in *userdata.Input)
		kind, node string
		want       string // null: there is no such entry
	}{
		"a VNFC that stays keeps its values": {
			func(_ *testing.T, in *userdata.Input) {
				in.Counts["VDU1"] = 3
				in.Grant = lcm.Grant{
					Zones:  map[string]string{"VDU1": "other"},
					Images: map[string]string{"VDU1": "newer"}, Flavours: map[string]string{"VDU1": "m1.large"},
				}
			},
			"VDU", "VDU1-0", `{"computeFlavourId": "m1.tiny", "vcImageId": "cirros-0.5.2-x86_64-disk", "locationConstraints": "nova", "name": "VDU1-a-001"}`,
		},
		"a VNFC that had no zone is not moved to one": {
			func(_ *testing.T, in *userdata.Input) {
				in.Held = map[string]any{"VDU": map[string]any{"VDU1-0": map[string]any{"computeFlavourId": "m1.tiny"}}}
				in.Grant.Zones = map[string]string{"VDU1": "other"}
			},
			"VDU", "VDU1-0", `{"computeFlavourId": "m1.tiny"}`,
		},
		"a VNFC without any value is one that holds": {
			func(_ *testing.T, in *userdata.Input) {
				in.Held = map[string]any{}
				in.Grant.Zones = map[string]string{"VDU1": "other"}
			},
			"VDU", "VDU1-0", `{}`,
		},
		"a new VNFC is made like the others": {
			func(_ *testing.T, in *userdata.Input) {
				in.Counts["VDU1"] = 2
				in.Held["VDU"].(map[string]any)["VDU1-0"].(map[string]any)["computeFlavourId"] = "m1.granted"
			},
			"VDU", "VDU1-1", `{"computeFlavourId": "m1.granted", "vcImageId": "cirros-0.5.2-x86_64-disk"}`,
		},
		"a new VNFC is made as granted": {
			func(_ *testing.T, in *userdata.Input) {
				in.Counts["VDU1"] = 2
				in.Grant = lcm.Grant{
					Zones:  map[string]string{"VDU1": "one", "VDU1-1": "two"},
					Images: map[string]string{"VDU1": "image"}, Flavours: map[string]string{"VDU1": "m1.large"},
				}
			},
			"VDU", "VDU1-1", `{"computeFlavourId": "m1.large", "vcImageId": "image", "locationConstraints": "two"}`,
		},
		"a new VNFC is connected": {
			func(_ *testing.T, in *userdata.Input) { in.Counts["VDU2"] = 2 },
			"CP", "VDU2_CP1-1", `{"network": "net-1-id", "fixed_ips": [{"subnet": "subnet-1-id"}]}`,
		},
		"a new VNFC gets the storage image of the others": {
			func(_ *testing.T, in *userdata.Input) {
				in.Counts["VDU2"] = 2
				in.Held["VDU"].(map[string]any)["VDU2-VirtualStorage-0"].(map[string]any)["vcImageId"] = "uploaded"
			},
			"VDU", "VDU2-VirtualStorage-1", `{"vcImageId": "uploaded"}`,
		},
		"a VNFC that goes takes its values along": {
			func(_ *testing.T, in *userdata.Input) { in.Counts["VDU1"] = 0 },
			"VDU", "VDU1-0", `null`,
		},
		"and those of its connection points": {
			func(_ *testing.T, in *userdata.Input) { in.Counts["VDU2"] = 0 }, "CP", "VDU2_CP1-0", `null`,
		},
		"and those of its storages": {
			func(_ *testing.T, in *userdata.Input) { in.Counts["VDU2"] = 0 }, "VDU", "VDU2-VirtualStorage-0", `null`,
		},
		"and those of a VDU that another flavour has not": {
			func(t *testing.T, in *userdata.Input) {
				t.Helper()
				in.Previous, in.Flavour = in.Flavour, &vnfd.Flavour{VDUs: in.Flavour.VDUs[:1], CPs: in.Flavour.CPs[:1]}
				in.HOT = without(t, in.HOT, "VDU2")
			},
			"CP", "VDU2_CP1-0", `null`,
		},
		"what the operation decides again": {
			func(_ *testing.T, in *userdata.Input) {
				in.Grant.Flavours = map[string]string{"VDU1": "m1.large"}
				in.Fresh = func(kind, _, leaf string) bool { return kind == "VDU" && leaf == "computeFlavourId" }
			},
			"VDU", "VDU1-0", `{"computeFlavourId": "m1.large", "vcImageId": "cirros-0.5.2-x86_64-disk", "locationConstraints": "nova", "name": "VDU1-a-001"}`,
		},
		"a connection point that moves": {
			func(_ *testing.T, in *userdata.Input) {
				in.Ext = append([]sol.ExtVirtualLinkData{
					{ID: "new", ResourceID: "net-2-id", ExtCps: in.Ext[0].ExtCps[:1]},
				}, sol.ExtVirtualLinkData{ID: "ext", ResourceID: "net-1-id", ExtCps: in.Ext[0].ExtCps[1:]})
				in.Fresh = func(kind, name, _ string) bool { return kind == "CP" && name == "VDU1_CP1-0" }
			},
			"CP", "VDU1_CP1-0", `{"network": "net-2-id"}`,
		},
		"a connection point that does not": {
			func(_ *testing.T, in *userdata.Input) {
				in.Ext = []sol.ExtVirtualLinkData{{ID: "new", ResourceID: "net-2-id", ExtCps: in.Ext[0].ExtCps}}
				in.Fresh = func(kind, name, _ string) bool { return kind == "CP" && name == "VDU1_CP1-0" }
			},
			"CP", "VDU2_CP1-0", `{"network": "net-1-id", "fixed_ips": [{"subnet": "subnet-1-id"}]}`,
		},
		"the request beats all, the grant the request": {
			func(t *testing.T, in *userdata.Input) {
				t.Helper()
				in.Patches = []sol.KeyValuePairs{
					{"nfv": object(t, `{"VDU": {"VDU1-0": {"name": "asked", "vcImageId": "asked"}}}`)},
					{"nfv": object(t, `{"VDU": {"VDU1-0": {"name": "granted"}}}`)},
				}
			},
			"VDU", "VDU1-0", `{"computeFlavourId": "m1.tiny", "vcImageId": "asked", "locationConstraints": "nova", "name": "granted"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := later(t)
			tt.change(t, &in)
			s, bad, err := userdata.Assemble(in)
			require.NoError(t, err)
			require.Empty(t, bad)
			if tt.want == "null" {
				require.NotContains(t, s.NFV[tt.kind], tt.node)
				return
			}
			got, err := json.Marshal(leaves(t, s, tt.kind, tt.node))
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(got))
		})
	}
}

// TestNothingChanges: an operation that changes nothing gives Heat what it has, to the byte, so that Heat touches
// nothing.
func TestNothingChanges(t *testing.T) {
	t.Parallel()
	first, _, err := userdata.Assemble(input(t))
	require.NoError(t, err)
	for range 20 {
		again, bad, err := userdata.Assemble(later(t))
		require.NoError(t, err)
		require.Empty(t, bad)
		require.Equal(t, first.Template, again.Template)
		require.Equal(t, nfv(t, first), nfv(t, again))
	}
}

// TestScaled: the whole that Heat gets for two more VNFCs of one VDU.
func TestScaled(t *testing.T) {
	t.Parallel()
	in := later(t)
	in.Counts["VDU1"] = 3
	s, bad, err := userdata.Assemble(in)
	require.NoError(t, err)
	require.Empty(t, bad)
	golden(t, "scaled.nfv.json", nfv(t, s))
	golden(t, "scaled.top.yaml", s.Template)
}

// TestAddressOfANeighbour: a new VNFC does not get the address that one which is there has.
func TestAddressOfANeighbour(t *testing.T) {
	t.Parallel()
	tpl, err := hot.Parse("top.yaml", []byte(`heat_template_version: 2013-05-23
resources:
  VDU1: { type: OS::Nova::Server }
  VDU2:
    type: VDU2.yaml
    properties: { ip: { get_param: [ nfv, CP, VDU2_CP1, fixed_ips, 0, ip_address ] }, net: { get_param: [ nfv, CP, VDU2_CP1, network ] } }
`))
	require.NoError(t, err)
	in := userdata.Input{
		Class: userdata.Standard, Flavour: simple(), Counts: map[string]int{"VDU1": 1, "VDU2": 2},
		Had: map[string]int{"VDU1": 1, "VDU2": 1}, HOT: &hot.Bundle{Template: tpl},
		Ext:  fixedIPs(t, `[{"type": "IPV4", "fixedAddresses": ["10.0.0.5"]}]`),
		Held: object(t, `{"CP": {"VDU2_CP1-0": {"network": "net", "fixed_ips": [{"ip_address": "10.0.0.5"}]}}}`),
	}
	_, bad, err := userdata.Assemble(in)
	require.NoError(t, err)
	require.Len(t, bad, 1)
	require.Contains(t, bad[0].Detail, "VDU2_CP1-0 and VDU2_CP1-1 would both get 10.0.0.5")

	in.Counts["VDU2"] = 1
	_, bad, err = userdata.Assemble(in)
	require.NoError(t, err)
	require.Empty(t, bad, "the one that is there keeps it")
}

// TestPortThatExists: a port that the consumer made reaches the template if it has a place for it; each VNFC has its
// own, in whichever link it is.
func TestPortThatExists(t *testing.T) {
	t.Parallel()
	tpl, err := hot.Parse("top.yaml", []byte(`heat_template_version: 2013-05-23
resources:
  VDU1: { type: OS::Nova::Server }
  VDU2:
    type: VDU2.yaml
    properties: { port: { get_param: [ nfv, CP, VDU2_CP1, port ] }, net: { get_param: [ nfv, CP, VDU2_CP1, network ] } }
`))
	require.NoError(t, err)
	link := func(net, key, id string) sol.ExtVirtualLinkData {
		return sol.ExtVirtualLinkData{
			ID: net, ResourceID: net,
			ExtLinkPorts: []sol.ExtLinkPortData{{ID: "l", ResourceHandle: sol.ResourceHandle{ResourceID: id}}},
			ExtCps: []sol.VnfExtCpData{
				{CpdID: "VDU2_CP1", CpConfig: map[string]sol.VnfExtCpConfig{key: {LinkPortID: "l"}}},
			},
		}
	}
	s, bad, err := userdata.Assemble(userdata.Input{
		Class: userdata.Standard, Flavour: simple(), Counts: map[string]int{"VDU1": 1, "VDU2": 2},
		HOT: &hot.Bundle{Template: tpl},
		Ext: []sol.ExtVirtualLinkData{link("net-b", "cp-2", "port-b"), link("net-a", "cp-1", "port-a")},
	})
	require.NoError(t, err)
	require.Empty(t, bad)
	require.Equal(t, map[string]any{"network": "net-a", "port": "port-a"}, leaves(t, s, "CP", "VDU2_CP1-0"))
	require.Equal(t, map[string]any{"network": "net-b", "port": "port-b"}, leaves(t, s, "CP", "VDU2_CP1-1"))
}

// TestGroupSize: a group whose size the template fixes gets the one that the VNFD says, within the group's own limits.
func TestGroupSize(t *testing.T) {
	t.Parallel()
	in := input(t)
	in.Class, in.HOT, in.Patches = userdata.Default, load(t, "testdata", "v1"), nil
	in.Counts = map[string]int{"VDU1": 2}
	s, bad, err := userdata.Assemble(in)
	require.NoError(t, err)
	require.Empty(t, bad)
	golden(t, "v1.top.yaml", s.Template)

	in.Counts["VDU1"] = 4
	_, _, err = userdata.Assemble(in)
	var e *hot.Error
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, "the group VDU1 cannot have 4 members of the VDU VDU1; its limit is 3")

	in.Counts["VDU1"] = 0
	_, _, err = userdata.Assemble(in)
	require.ErrorContains(t, err, "its limit is 1")
}
