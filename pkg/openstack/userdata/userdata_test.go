package userdata_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func load(t *testing.T, root, flavour string) *hot.Bundle {
	t.Helper()
	var c hot.Cache
	b, err := c.Load(os.DirFS(root), flavour)
	require.NoError(t, err)
	return b
}

// asked puts what a request says into an input.
func asked(t *testing.T, in userdata.Input, text string) userdata.Input {
	t.Helper()
	var r sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	in.Ext, in.Managed, in.Patches = r.ExtVirtualLinks, r.ExtManagedVirtualLinks, []sol.KeyValuePairs{
		r.AdditionalParams,
	}
	return in
}

func nfv(t *testing.T, s *userdata.Stack) string {
	t.Helper()
	b, err := json.MarshalIndent(s.Parameters(), "", "  ")
	require.NoError(t, err)
	return string(b)
}

// simple is the flavour of testdata/BaseHOT/simple.
func simple() *vnfd.Flavour {
	return &vnfd.Flavour{
		ID: "simple",
		VDUs: []vnfd.VDU{
			{Name: "VDU1", ComputeFlavour: "m1.tiny", Image: &vnfd.SwImage{Name: "cirros-0.5.2-x86_64-disk"}},
			{Name: "VDU2", ComputeFlavour: "m1.tiny", Storages: []string{"VDU2-VirtualStorage"}},
		},
		Storages: []vnfd.Storage{
			{Name: "VDU2-VirtualStorage", Image: &vnfd.SwImage{Name: "VDU2-VirtualStorage-image"}},
		},
		CPs: []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1"}, {Name: "VDU2_CP1", VDU: "VDU2"}},
		VLs: []vnfd.VL{{Name: "internalVL1"}},
	}
}

func input(t *testing.T) userdata.Input {
	t.Helper()
	return asked(t, userdata.Input{
		Class: userdata.Standard, Flavour: simple(), Counts: map[string]int{"VDU1": 1, "VDU2": 1},
		Grant: lcm.Grant{Zones: map[string]string{"VDU1": "nova", "VDU2": "nova"}},
		HOT:   load(t, "testdata", "simple"),
	}, `{"flavourId": "simple",
			"extVirtualLinks": [{"id": "ext", "resourceId": "net-1-id", "extCps": [
				{"cpdId": "VDU1_CP1", "cpConfig": {"a": {"cpProtocolData": [{"layerProtocol": "IP_OVER_ETHERNET",
					"ipOverEthernet": {"ipAddresses": [{"type": "IPV4", "numDynamicAddresses": 1}]}}]}}},
				{"cpdId": "VDU2_CP1", "cpConfig": {"b": {"cpProtocolData": [{"layerProtocol": "IP_OVER_ETHERNET",
					"ipOverEthernet": {"ipAddresses": [
						{"type": "IPV4", "numDynamicAddresses": 1},
						{"type": "IPV4", "numDynamicAddresses": 1, "subnetId": "subnet-1-id"}]}}]}}}]}],
			"additionalParams": {"nfv": {"VDU": {"VDU1-0": {"name": "VDU1-a-001"}}}}}`)
}

// captured is what the deployed VNFM gives Heat for the same package and request: packages rely on every name in it.
const captured = `{"nfv":{"VDU":{"VDU1-0":{"computeFlavourId":"m1.tiny","vcImageId":"cirros-0.5.2-x86_64-disk",` +
	`"locationConstraints":"nova","name":"VDU1-a-001"},"VDU2-0":{"computeFlavourId":"m1.tiny"},` +
	`"VDU2-VirtualStorage-0":{"vcImageId":"VDU2-VirtualStorage-image"}},"CP":{"VDU1_CP1-0":{"network":"net-1-id"},` +
	`"VDU2_CP1-0":{"network":"net-1-id","fixed_ips":[{"subnet":"subnet-1-id"}]}}}}`

func TestStandardAsCaptured(t *testing.T) {
	t.Parallel()
	s, bad, err := userdata.Assemble(input(t))
	require.NoError(t, err)
	require.Empty(t, bad)
	require.JSONEq(t, captured, nfv(t, s))
	golden(t, "simple.top.yaml", s.Template)
	require.Len(t, s.Files, 2)
}

// TestStandardCluster: the sample cluster with the parameter file that its users have.
func TestStandardCluster(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "vnf-packages", "kubernetes-cluster")
	raw, err := os.ReadFile(filepath.Join(root, "params", "complex_kubernetes_param_file_v2.json"))
	require.NoError(t, err)
	img := func(n string) *vnfd.SwImage { return &vnfd.SwImage{Name: n} }
	s, bad, err := userdata.Assemble(asked(t, userdata.Input{
		Class: userdata.Standard,
		Flavour: &vnfd.Flavour{
			VDUs: []vnfd.VDU{
				{Name: "masterNode", ComputeFlavour: "m1.medium", Image: img("masterNode-image")},
				{Name: "workerNode", ComputeFlavour: "m1.medium", Image: img("workerNode-image")},
			},
			CPs: []vnfd.CP{{Name: "masterNode_CP1", VDU: "masterNode"}, {Name: "workerNode_CP1", VDU: "workerNode"}},
		},
		Counts: map[string]int{"masterNode": 3, "workerNode": 2},
		Grant:  lcm.Grant{Images: map[string]string{"masterNode": "image-id"}},
		HOT:    load(t, root, "complex"),
	}, string(raw)))
	require.NoError(t, err)
	require.Empty(t, bad)
	golden(t, "complex.nfv.json", nfv(t, s))
	golden(t, "complex.top.yaml", s.Template)
}

func TestDefaultGroups(t *testing.T) {
	t.Parallel()
	in := input(t)
	in.Class, in.HOT, in.Counts = userdata.Default, load(t, "testdata", "groups"), map[string]int{"VDU1": 2}
	in.Patches = []sol.KeyValuePairs{
		nil, {"nfv": map[string]any{"VDU": map[string]any{"VDU1": map[string]any{"vcImageId": "granted"}}}},
	}
	s, bad, err := userdata.Assemble(in)
	require.NoError(t, err)
	require.Empty(t, bad)
	golden(t, "groups.nfv.json", nfv(t, s))
	top, err := in.HOT.Template.Encode()
	require.NoError(t, err)
	require.Equal(t, top, s.Template, "the template stays as it is")
}

func TestExtManagedLink(t *testing.T) {
	t.Parallel()
	in := input(t)
	in.Managed = []sol.ExtManagedVirtualLinkData{{ID: "m", VnfVirtualLinkDescID: "internalVL1", ResourceID: "net-7"}}
	s, bad, err := userdata.Assemble(in)
	require.NoError(t, err)
	require.Empty(t, bad)
	require.NotContains(t, s.Template, "internalVL1")
	require.Contains(t, s.Template, "net2: net-7")
}

// fixedIPs asks for addresses of VDU2_CP1 in as many cpConfig entries as given.
func fixedIPs(t *testing.T, addresses ...string) []sol.ExtVirtualLinkData {
	t.Helper()
	cfg := map[string]sol.VnfExtCpConfig{}
	for i, a := range addresses {
		var data []sol.IpAddressData
		require.NoError(t, json.Unmarshal([]byte(a), &data))
		cfg[string(rune('a'+i))] = sol.VnfExtCpConfig{
			CpProtocolData: []sol.CpProtocolData{{IpOverEthernet: &sol.IpOverEthernetAddressData{IpAddresses: data}}},
		}
	}
	return []sol.ExtVirtualLinkData{{ResourceID: "net", ExtCps: []sol.VnfExtCpData{
		{CpdID: "VDU1_CP1"}, {CpdID: "VDU2_CP1", CpConfig: cfg},
	}}}
}

// TestFixedAddresses: two VNFCs that got the same address would fail in the VIM after minutes; the request already
// shows it.
func TestFixedAddresses(t *testing.T) {
	t.Parallel()
	const top = `heat_template_version: 2013-05-23
resources:
  VDU1: { type: OS::Nova::Server }
  VDU2:
    type: VDU2.yaml
    properties:
      ip: { get_param: [ nfv, CP, VDU2_CP1, fixed_ips, 0, ip_address ] }
      subnet: { get_param: [ nfv, CP, VDU2_CP1, fixed_ips, 0, subnet ] }
`
	tpl, err := hot.Parse("top.yaml", []byte(top))
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		addresses []string
		want      []any // fixed_ips of VDU2_CP1-0 and -1
		pointer   string
	}{
		"one for all": {
			[]string{`[{"type": "IPV4", "fixedAddresses": ["10.0.0.5"]}]`},
			nil,
			"/extVirtualLinks/0/extCps/1/cpConfig/a/cpProtocolData/0/ipOverEthernet/ipAddresses/0/fixedAddresses",
		},
		"a list": {
			[]string{`[{"type": "IPV4", "fixedAddresses": ["10.0.0.5", "10.0.0.6"], "subnetId": "s"}]`},
			[]any{map[string]any{"ip_address": "10.0.0.5", "subnet": "s"}, map[string]any{
				"ip_address": "10.0.0.6", "subnet": "s",
			}},
			"",
		},
		"an entry each": {
			[]string{
				`[{"type": "IPV4", "fixedAddresses": ["10.0.0.5"]}]`,
				`[{"type": "IPV4", "fixedAddresses": ["10.0.0.6"]}]`,
			},
			[]any{map[string]any{"ip_address": "10.0.0.5", "subnet": nil}, map[string]any{
				"ip_address": "10.0.0.6", "subnet": nil,
			}},
			"",
		},
		"dynamic": {[]string{`[{"type": "IPV4", "numDynamicAddresses": 1}]`}, []any{nil, nil}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := userdata.Input{
				Class: userdata.Standard, Flavour: simple(), Counts: map[string]int{"VDU1": 1, "VDU2": 2},
				HOT: &hot.Bundle{Template: tpl}, Ext: fixedIPs(t, tt.addresses...),
			}
			s, bad, err := userdata.Assemble(in)
			require.NoError(t, err)
			if tt.pointer != "" {
				require.Len(t, bad, 1)
				require.Equal(t, tt.pointer, bad[0].Pointer)
				return
			}
			require.Empty(t, bad)
			for i, want := range tt.want {
				cp := s.NFV["CP"].(map[string]any)["VDU2_CP1-"+string(rune('0'+i))].(map[string]any)
				if want == nil {
					require.Empty(t, cp["fixed_ips"])
				} else {
					require.Equal(t, []any{want}, cp["fixed_ips"])
				}
			}
		})
	}
}

func TestWhatKeepsAStackFromWorking(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change  func(*userdata.Input)
		pointer string
		err     string
	}{
		"no external link": {func(in *userdata.Input) {
			in.Ext[0].ExtCps = in.Ext[0].ExtCps[:1]
		}, "/extVirtualLinks", ""},
		"nfv is no object": {func(in *userdata.Input) { in.Patches[0]["nfv"] = "x" }, "/additionalParams/nfv", ""},
		"VDU without resource": {
			func(in *userdata.Input) { in.Flavour.VDUs[0].Name = "VDU9" }, "", "needs a resource named VDU9",
		},
		"reference to a VDU": {func(in *userdata.Input) {
			tpl, err := hot.Parse("t.yaml", []byte(
				"heat_template_version: 1\nresources: { VDU1: {}, VDU2: {}, x: { properties: { a: { get_resource: "+
					"VDU1 } } } }",
			))
			if err != nil {
				panic(err)
			}
			in.HOT = &hot.Bundle{Template: tpl}
		}, "", `refers to the resource "VDU1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(t)
			tt.change(&in)
			_, bad, err := userdata.Assemble(in)
			if tt.err != "" {
				var e *hot.Error
				require.ErrorAs(t, err, &e)
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Len(t, bad, 1)
			require.Equal(t, tt.pointer, bad[0].Pointer)
		})
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	const file, class = "lcm-operation-user-data", "lcm-operation-user-data-class"
	for name, tt := range map[string]struct {
		params   sol.KeyValuePairs
		want     userdata.Class
		pointers []string
	}{
		"none": {nil, userdata.Default, nil},
		"standard": {
			sol.KeyValuePairs{file: "./UserData/x.py", class: "StandardUserData"}, userdata.Standard, nil,
		},
		"v1 clusters": {
			sol.KeyValuePairs{file: "x.py", class: "KubernetesClusterUserData"}, userdata.Default, nil,
		},
		"default named": {
			sol.KeyValuePairs{file: "x.py", class: "DefaultUserData"}, userdata.Default, nil,
		},
		"a program of the package": {sol.KeyValuePairs{file: "./UserData/x"}, "the program UserData/x", nil},
		"a program outside the package": {
			sol.KeyValuePairs{file: "../x"}, "the program ../x", []string{"/additionalParams/" + file},
		},
		"only a class": {
			sol.KeyValuePairs{class: "StandardUserData"}, "StandardUserData", []string{"/additionalParams/" + file},
		},
		"a class of the package": {
			sol.KeyValuePairs{file: "./UserData/x.py", class: "Mine"}, "Mine in UserData/x.py", nil,
		},
		"a file outside the package": {
			sol.KeyValuePairs{file: "../x.py", class: "Mine"}, "Mine in ../x.py", []string{"/additionalParams/" + file},
		},
		"no name of a class": {
			sol.KeyValuePairs{file: "x.py", class: "a.b"}, "a.b in x.py", []string{"/additionalParams/" + class},
		},
		"no strings": {sol.KeyValuePairs{file: 1.0, class: true}, "", []string{
			"/additionalParams/" + file, "/additionalParams/" + class,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, own, bad := userdata.Select(tt.params)
			_, named := tt.params[class]
			switch {
			case own == nil:
			case !named:
				require.True(t, own.IsProgram())
				got = userdata.Class("the program " + own.File)
			case own.Name != "":
				got = userdata.Class(own.Name + " in " + own.File)
			default:
				got = ""
			}
			require.Equal(t, tt.want, got)
			var pointers []string
			for _, b := range bad {
				pointers = append(pointers, b.Pointer)
			}
			require.Equal(t, tt.pointers, pointers)
		})
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	in := map[string]any{
		"a": nil, "b": map[string]any{"c": nil}, "d": map[string]any{"e": 1, "f": nil}, "g": map[string]any{},
	}
	require.Equal(t, map[string]any{"d": map[string]any{"e": 1}, "g": map[string]any{}}, userdata.Compact(in))
}
