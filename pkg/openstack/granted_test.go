package openstack

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// taking is a template that takes these values of nfv, of which it is given what vdu has.
func taking(vdu map[string]any, cps ...string) *userdata.Stack {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nparameters: {nfv: {type: json}}\n" +
		"resources:\n  r:\n    type: R\n    properties:\n      none: x\n")
	for _, name := range slices.Sorted(maps.Keys(vdu)) {
		leaves, _ := vdu[name].(map[string]any)
		for leaf := range leaves {
			b.WriteString("      p" + name + leaf + ": {get_param: [nfv, VDU, " + name + ", " + leaf + "]}\n")
		}
	}
	for _, name := range cps {
		b.WriteString("      p" + name + ": {get_param: [nfv, CP, " + name + ", network]}\n")
	}
	return &userdata.Stack{Template: b.String(), NFV: map[string]any{"VDU": vdu}}
}

// A stack that does not follow a grant is not sent to Heat.
func TestUngranted(t *testing.T) {
	t.Parallel()
	zone := func(v any) map[string]any { return map[string]any{"locationConstraints": v} }
	flavour := func(v any) map[string]any { return map[string]any{"computeFlavourId": v} }
	image := func(v any) map[string]any { return map[string]any{"vcImageId": v} }
	zones := func(of map[string]string) lcm.Grant { return lcm.Grant{Zones: of} }
	flavours := func(of map[string]string) lcm.Grant { return lcm.Grant{Assets: &lcm.VimAssets{Flavours: of}} }
	images := func(of map[string]string) lcm.Grant { return lcm.Grant{Assets: &lcm.VimAssets{Images: of}} }
	link := func(cp string) lcm.Grant {
		return lcm.Grant{ExtVirtualLinks: []sol.ExtVirtualLinkData{{
			ResourceID: "net", ExtCps: []sol.VnfExtCpData{{CpdID: cp}},
		}}}
	}
	for _, tt := range []struct {
		name  string
		stack *userdata.Stack
		grant lcm.Grant
		// request and granted are the additionalParams.nfv.
		request, granted map[string]any
		want             string
	}{
		{
			"a zone each", taking(map[string]any{"VDU1-0": zone("a"), "VDU1-1": zone("b")}),
			zones(map[string]string{"VDU1-0": "a", "VDU1-1": "b"}), nil, nil, "",
		},
		{
			"one for all", taking(map[string]any{"VDU1": zone("a")}),
			zones(map[string]string{"VDU1-0": "a", "VDU1": "a"}), nil, nil, "",
		},
		{
			"the template takes no zone", taking(map[string]any{"VDU1": map[string]any{}}),
			zones(map[string]string{"VDU1-0": "a"}), nil, nil, "",
		},
		{
			"a group divided", taking(map[string]any{"VDU1": zone(nil)}),
			zones(map[string]string{"VDU1-0": "a", "VDU1-1": "b"}), nil, nil,
			"it would have none: the template has one zone for all VNFCs of the VDU",
		},
		{
			"a group that is elsewhere", taking(map[string]any{"VDU1": zone("b")}),
			zones(map[string]string{"VDU1-1": "a", "VDU1": "a"}), nil, nil,
			"it would be in b: the template has one zone for all VNFCs of the VDU",
		},
		{
			"a zone of the request", taking(map[string]any{"VDU1-0": zone("b")}),
			zones(map[string]string{"VDU1-0": "a"}),
			map[string]any{"VDU": map[string]any{"VDU1-0": zone("b")}},
			nil,
			"it would be in b: additionalParams.nfv of the request decides it",
		},
		{
			"a flavour", taking(map[string]any{"VDU1-0": flavour("f"), "VDU1-1": flavour("f")}),
			flavours(map[string]string{"VDU1": "f"}), nil, nil, "",
		},
		{
			"a flavour by its older name", taking(map[string]any{"VDU1": map[string]any{"flavor": "f"}}),
			flavours(map[string]string{"VDU1": "f"}), nil, nil, "",
		},
		{
			"a group with another flavour", taking(map[string]any{"VDU1": flavour("g")}),
			flavours(map[string]string{"VDU1": "f"}), nil, nil,
			"gives VDU1-0 the flavour f (/vimAssets), but it would have g: the template has one flavour for all",
		},
		{
			"a flavour that the template does not take", taking(map[string]any{"VDU1": image("i")}),
			flavours(map[string]string{"VDU1": "f"}), nil, nil,
			"the template does not take it from nfv.VDU.VDU1.computeFlavourId",
		},
		{
			"a flavour of the request", taking(map[string]any{"VDU1-0": flavour("g"), "VDU1-1": flavour("f")}),
			flavours(map[string]string{"VDU1": "f"}),
			map[string]any{"VDU": map[string]any{"VDU1-0": flavour("g")}},
			nil,
			"additionalParams.nfv of the request decides it",
		},
		{
			"a flavour for one VNFC in the grant",
			taking(map[string]any{"VDU1-0": flavour("g"), "VDU1-1": flavour("f")}),
			flavours(map[string]string{"VDU1": "f"}), nil,
			map[string]any{"VDU": map[string]any{"VDU1-0": flavour("g")}},
			"",
		},
		{
			"an image of a storage", taking(map[string]any{"disk-0": image("i"), "disk-1": image("i")}),
			images(map[string]string{"disk": "i"}), nil, nil, "",
		},
		{
			"another image of a storage", taking(map[string]any{"disk": image("j")}),
			images(map[string]string{"disk": "i"}), nil, nil,
			"gives disk-0 the image i (/vimAssets), but it would have j",
		},
		{"assets of another part", taking(nil), flavours(map[string]string{"VDU9": "f"}), nil, nil, ""},
		{"a link", taking(nil, "CP1-0"), link("CP1"), nil, nil, ""},
		{
			"a link that the template does not take", taking(nil), link("CP1"), nil, nil,
			"the template takes neither its network nor its port",
		},
		{
			"a link that the request contradicts", taking(nil, "CP1"), link("CP1"),
			map[string]any{"CP": map[string]any{"CP1": map[string]any{"network": "other"}}},
			nil,
			"connects CP1 to the network net (/extVirtualLinks/0/extCps/0)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.grant.New = []string{"VDU1-0", "VDU1-0/disk", "VDU1-1", "VDU1-1/disk", "VDU9-0", "internalVL1"}
			g := desired{
				flavour: &vnfd.Flavour{
					VDUs: []vnfd.VDU{{Name: "VDU1", Storages: []string{"disk"}}},
					CPs:  []vnfd.CP{{Name: "CP1", VDU: "VDU1"}},
				},
				counts: map[string]int{"VDU1": 2}, grant: tt.grant,
				patches: []sol.KeyValuePairs{{"nfv": tt.request}, {"nfv": tt.granted}},
			}
			err := g.ungranted(tt.stack)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}
