package openstack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// BenchmarkReplaces is what the admission of a change of package costs in the driver, for an instance with 50 VNFCs.
func BenchmarkReplaces(b *testing.B) {
	w := newWorld(b, simcloud.StartTest(b, simcloud.Options{}))
	all := rolling(1)
	counts := map[string]int{"VDU1": 48, "VDU2": 1}
	for id, other := range map[string]string{"pkg-1": "VDU3", "pkg-2": "VDU4"} {
		level := &all[id].model.Flavours[0].Levels[0]
		level.VDUs = map[string]int{"VDU1": counts["VDU1"], "VDU2": 1, other: 1}
	}
	w.pkgs, w.pkg = all, all["pkg-1"]
	w.store.instance.VnfdID = w.pkg.model.ID
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "additionalParams": standardUserData,
		"extVirtualLinks": []any{link("ext-0", w.cloud.Net0ID(), "VDU1_CP1", "VDU1_CP2", "VDU2_CP1")},
	})
	w.store.instance.Params = encoded(b, standardUserData)
	w.completed()
	w.reset()
	w.change(sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": "vnfd-2"}, lcm.Scope{Flavour: "default"})
	w.store.op.VnfPkgID = "pkg-2"
	w.store.op.Scope.Counts = map[string]int{"VDU1": 48, "VDU2": 1, "VDU4": 1}
	r := w.admitted()
	d, _ := w.node()
	defer d.Close()
	b.ReportAllocs()
	for b.Loop() {
		ids, err := d.Replaces(r)
		require.NoError(b, err)
		require.Len(b, ids, 49, "VDU2 keeps its disk")
	}
}
