package openstack

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// TestClassOfAnInstance: an operation assembles the stack as it was assembled before. A mix-up would make Heat replace
// the whole VNF.
func TestClassOfAnInstance(t *testing.T) {
	t.Parallel()
	const file, class = "lcm-operation-user-data", "lcm-operation-user-data-class"
	standard := sol.KeyValuePairs{file: "x.py", class: "StandardUserData"}
	numbered := []sol.VnfcResourceInfo{{VduID: "VDU1", Metadata: sol.KeyValuePairs{"vdu_idx": 0.0}}}
	for name, tt := range map[string]struct {
		typ             sol.LcmOperationType
		remembered, req sol.KeyValuePairs
		vnfcs           []sol.VnfcResourceInfo
		want            userdata.Class
		pointer         string
	}{
		"as remembered":                  {sol.LcmOperationScale, standard, nil, numbered, userdata.Standard, ""},
		"given again":                    {sol.LcmOperationScale, standard, standard, numbered, userdata.Standard, ""},
		"none at all":                    {sol.LcmOperationScale, nil, nil, nil, userdata.Default, ""},
		"not remembered, but it shows":   {sol.LcmOperationScale, nil, nil, numbered, userdata.Standard, ""},
		"another one":                    {sol.LcmOperationScale, nil, standard, nil, "", "/additionalParams/" + class},
		"another one with new templates": {sol.LcmOperationChangeFlavour, nil, standard, nil, userdata.Standard, ""},
		"half of it": {
			sol.LcmOperationScale, nil, sol.KeyValuePairs{file: "x.py"}, nil, "", "/additionalParams/" + class,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(map[string]any{"additionalParams": tt.req})
			require.NoError(t, err)
			remembered, err := tt.remembered.Raw()
			require.NoError(t, err)
			f := &vnfd.Flavour{ID: "f"}
			r := lcm.Request{
				Type: tt.typ, Params: raw, VNFD: &vnfd.VNFD{Flavours: []vnfd.Flavour{*f}}, Flavour: f,
				Package: fstest.MapFS{"BaseHOT/f/top.yaml": {Data: []byte("heat_template_version: 2013-05-23\n")}},
				Instance: &lcm.Instance{Params: remembered, Instantiated: &sol.InstantiatedVnfInfo{
					FlavourID: "f", VnfcResourceInfo: tt.vnfcs,
				}},
			}
			d := testDriver(t, Config{})
			g, err := d.desiredOf(&part{w: planned(r)})
			if tt.pointer == "" {
				require.NoError(t, err)
				require.Equal(t, tt.want, g.class)
				require.NoError(t, d.Validate(t.Context(), r))
				return
			}
			require.Equal(t, tt.pointer, asError(t, d.Validate(t.Context(), r)).Params[0].Pointer)
		})
	}
}

func extLink(id, network string, cps ...sol.VnfExtCpData) sol.ExtVirtualLinkData {
	return sol.ExtVirtualLinkData{ID: id, ResourceID: network, ExtCps: cps}
}

func extCP(cpd string, keys ...string) sol.VnfExtCpData {
	out := sol.VnfExtCpData{CpdID: cpd, CpConfig: map[string]sol.VnfExtCpConfig{}}
	for _, k := range keys {
		out.CpConfig[k] = sol.VnfExtCpConfig{
			CpProtocolData: []sol.CpProtocolData{{LayerProtocol: sol.LayerProtocolIPOverEthernet}},
		}
	}
	return out
}

// TestLinksAreMerged: what a request says about links is applied to those that the VNF has, connection point by
// connection point.
func TestLinksAreMerged(t *testing.T) {
	t.Parallel()
	current := []sol.ExtVirtualLinkData{extLink("a", "net-a", extCP("CP1", "x", "y"), extCP("CP2", "z"))}
	for name, tt := range map[string]struct {
		given, want []sol.ExtVirtualLinkData
	}{
		"nothing": {nil, current},
		"another network": {
			[]sol.ExtVirtualLinkData{extLink("a", "net-b", extCP("CP1", "x"))},
			[]sol.ExtVirtualLinkData{extLink("a", "net-b", extCP("CP1", "x", "y"), extCP("CP2", "z"))},
		},
		"a connection point moves": {
			[]sol.ExtVirtualLinkData{extLink("b", "net-b", extCP("CP2", "z"))},
			[]sol.ExtVirtualLinkData{
				extLink("a", "net-a", extCP("CP1", "x", "y")), extLink("b", "net-b", extCP("CP2", "z")),
			},
		},
		"that of one VNFC moves": {
			[]sol.ExtVirtualLinkData{extLink("b", "net-b", extCP("CP1", "y"))},
			[]sol.ExtVirtualLinkData{
				extLink("a", "net-a", extCP("CP1", "x"), extCP("CP2", "z")), extLink("b", "net-b", extCP("CP1", "y")),
			},
		},
		"all move": {
			[]sol.ExtVirtualLinkData{extLink("b", "net-b", extCP("CP1"), extCP("CP2"))},
			[]sol.ExtVirtualLinkData{extLink("b", "net-b", extCP("CP1"), extCP("CP2"))},
		},
		"null takes one away": {
			[]sol.ExtVirtualLinkData{
				extLink("a", "net-a", sol.VnfExtCpData{CpdID: "CP1", CpConfig: map[string]sol.VnfExtCpConfig{"y": {}}}),
			},
			[]sol.ExtVirtualLinkData{extLink("a", "net-a", extCP("CP1", "x"), extCP("CP2", "z"))},
		},
		"another one takes the place of the only one": {
			[]sol.ExtVirtualLinkData{extLink("b", "net-b", extCP("CP2", "other"))},
			[]sol.ExtVirtualLinkData{
				extLink("a", "net-a", extCP("CP1", "x", "y")), extLink("b", "net-b", extCP("CP2", "other")),
			},
		},
		"a second one beside the only one, which is given as well": {
			[]sol.ExtVirtualLinkData{
				extLink("a", "net-a", extCP("CP2", "z")), extLink("b", "net-b", extCP("CP2", "other")),
			},
			[]sol.ExtVirtualLinkData{
				extLink("a", "net-a", extCP("CP1", "x", "y"), extCP("CP2", "z")),
				extLink("b", "net-b", extCP("CP2", "other")),
			},
		},
		"null for a key that there is not leaves the only one": {
			[]sol.ExtVirtualLinkData{extLink(
				"a", "net-a", sol.VnfExtCpData{CpdID: "CP2", CpConfig: map[string]sol.VnfExtCpConfig{"other": {}}},
			)},
			current,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := json.Marshal(current)
			require.NoError(t, err)
			got := lcm.MergeLinks(current, tt.given)
			for i := range got {
				require.Equal(t, tt.want[i].ID, got[i].ID)
				require.Equal(t, tt.want[i].ResourceID, got[i].ResourceID)
				require.ElementsMatch(t, tt.want[i].ExtCps, got[i].ExtCps)
			}
			require.Len(t, got, len(tt.want))
			after, err := json.Marshal(current)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "what is given stays as it is")
		})
	}
}
