package openstack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// A stack that does not follow the zones of a grant is not sent to Heat.
func TestUngrantedZones(t *testing.T) {
	t.Parallel()
	zone := func(v any) map[string]any { return map[string]any{"locationConstraints": v} }
	for _, tt := range []struct {
		name  string
		vdu   map[string]any
		zones map[string]string
		want  string
	}{
		{
			"a zone each",
			map[string]any{"VDU1-0": zone("a"), "VDU1-1": zone("b")},
			map[string]string{"VDU1-0": "a", "VDU1-1": "b"},
			"",
		},
		{"one for all", map[string]any{"VDU1": zone("a")}, map[string]string{"VDU1-0": "a", "VDU1": "a"}, ""},
		{"the template takes none", map[string]any{"VDU1": map[string]any{}}, map[string]string{"VDU1-0": "a"}, ""},
		{
			"a group divided",
			map[string]any{"VDU1": zone(nil)},
			map[string]string{"VDU1-0": "a", "VDU1-1": "b"},
			"it would have none: the template has one zone for all VNFCs of the VDU",
		},
		{
			"a group that is elsewhere",
			map[string]any{"VDU1": zone("b")},
			map[string]string{"VDU1-1": "a", "VDU1": "a"},
			"it would be in b: the template has one zone for all VNFCs of the VDU",
		},
		{
			"a parameter",
			map[string]any{"VDU1-0": zone("b")},
			map[string]string{"VDU1-0": "a"},
			"it would be in b: additionalParams.nfv decides it",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := desired{
				flavour: &vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "VDU1"}}}, grant: lcm.Grant{Zones: tt.zones},
			}
			err := g.ungranted(&userdata.Stack{NFV: map[string]any{"VDU": tt.vdu}})
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}
