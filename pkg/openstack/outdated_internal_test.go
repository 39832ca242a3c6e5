package openstack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// TestOutdatedImages: a HEAL decides the images of those VNFCs again that it recreates and that were made from another
// VNFD; those of a group together, and those of volumes only with the volumes.
func TestOutdatedImages(t *testing.T) {
	t.Parallel()
	image := &vnfd.SwImage{Name: "image"}
	f := &vnfd.Flavour{
		VDUs: []vnfd.VDU{
			{Name: "A", Image: image, Storages: []string{"A-disk"}}, {Name: "G", Image: image}, {Name: "N"},
		},
		Storages: []vnfd.Storage{{Name: "A-disk", Image: image}},
	}
	info := &sol.InstantiatedVnfInfo{}
	add := func(id, vdu string, metadata sol.KeyValuePairs) {
		info.VnfcInfo = append(info.VnfcInfo, sol.VnfcInfo{ID: id, VduID: vdu, VnfcResourceInfoID: id})
		info.VnfcResourceInfo = append(
			info.VnfcResourceInfo, sol.VnfcResourceInfo{ID: id, VduID: vdu, Metadata: metadata},
		)
	}
	add("a0", "A", sol.KeyValuePairs{"vdu_idx": 0.0, lcm.MadeFromVnfd: "old"})
	add("a1", "A", sol.KeyValuePairs{"vdu_idx": 1.0})
	add("a2", "A", sol.KeyValuePairs{"vdu_idx": 2.0, lcm.MadeFromVnfd: "now"})
	add("g0", "G", sol.KeyValuePairs{lcm.MadeFromVnfd: "old"})
	add("g1", "G", nil)
	add("n0", "N", sol.KeyValuePairs{"vdu_idx": 0.0, lcm.MadeFromVnfd: "old"})
	instance := &lcm.Instance{VnfdID: "now", Instantiated: info}
	for name, tt := range map[string]struct {
		scope lcm.Scope
		typ   sol.LcmOperationType
		want  map[string]string
	}{
		"servers":     {lcm.Scope{VNFCs: []string{"a0", "a1", "a2", "n0"}}, "HEAL", map[string]string{"A-0": "A"}},
		"another one": {lcm.Scope{VNFCs: []string{"a1"}}, "HEAL", map[string]string{}},
		"with volumes": {
			lcm.Scope{VNFCs: []string{"a0"}, Fresh: true}, "HEAL", map[string]string{"A-0": "A", "A-disk-0": "A-disk"},
		},
		"half of a group": {lcm.Scope{VNFCs: []string{"g0"}}, "HEAL", map[string]string{}},
		"a whole group":   {lcm.Scope{VNFCs: []string{"g0", "g1"}}, "HEAL", map[string]string{"G": "G"}},
		"everything": {
			lcm.Scope{Whole: true}, "HEAL", map[string]string{"A-0": "A", "A-disk-0": "A-disk", "G": "G"},
		},
		"another operation": {lcm.Scope{VNFCs: []string{"a0"}}, "OPERATE", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &lcm.Execution{
				Op: &lcm.Operation{Type: tt.typ, Scope: &tt.scope, Before: instance}, Instance: instance, Flavour: f,
			}
			require.Equal(t, tt.want, outdated(w))
		})
	}
}
