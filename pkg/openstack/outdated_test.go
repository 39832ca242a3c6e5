package openstack_test

import (
	"bytes"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// modified is a world with an instance of the old package, which a MODIFY_INFO has taken to a new one that has the same
// VDUs.
func modified(t *testing.T, cloud *simcloud.Cloud) *world {
	t.Helper()
	w := newRolling(t, cloud)
	all := rolling(1)
	f := all["pkg-2"].model.Flavours
	f[0].VDUs[2].Name = "VDU3"
	f[0].Levels[0].VDUs = map[string]int{"VDU1": 2, "VDU2": 1, "VDU3": 1}
	top := all["pkg-2"].files.(fstest.MapFS)["BaseHOT/default/top.yaml"]
	top.Data = bytes.ReplaceAll(top.Data, []byte("VDU4"), []byte("VDU3"))
	w.pkgs = all
	before := copied(w.store.instance)
	w.admit(sol.LcmOperationModifyInfo, map[string]any{"vnfdId": "vnfd-2"})
	w.store.op.Before, w.store.op.VnfPkgID = &before, "pkg-2"
	w.completed()
	require.Equal(t, "vnfd-2", w.store.instance.VnfdID)
	w.pkg = all["pkg-2"]
	w.reset()
	return w
}

// healOf admits a HEAL of VNFCs.
func (w *world) healOf(vnfcs ...string) {
	w.t.Helper()
	w.change(sol.LcmOperationHeal, map[string]any{}, lcm.Scope{Flavour: "default", VNFCs: vnfcs})
}

// madeFrom are the VNFDs that VNFCs are recorded with as made from an earlier one, by VDU.
func (w *world) madeFrom(vdu string) []any {
	var out []any
	for _, r := range w.store.instance.Instantiated.VnfcResourceInfo {
		if from := r.Metadata[lcm.MadeFromVnfd]; r.VduID == vdu && from != nil {
			out = append(out, from)
		}
	}
	return out
}

// TestHealAfterAChangeOfVNFD: a VNFC that is recreated gets the image of the package that the instance has since, and
// the others keep theirs.
func TestHealAfterAChangeOfVNFD(t *testing.T) {
	t.Parallel()
	w := modified(t, simcloud.StartTest(t, simcloud.Options{}))
	old := w.image("VDU1-0")
	require.Equal(t, old, w.image("VDU1-1"))
	require.Equal(t, []any{"vnfd-1", "vnfd-1"}, w.madeFrom("VDU1"))
	servers := w.ids("OS::Nova::Server")

	w.healOf(w.vnfc("VDU1", 0))
	w.completed()
	next := w.image("VDU1-0")
	require.NotEqual(t, old, next)
	require.Equal(t, []any{next, old}, []any{w.imageOf("VDU1", 0), w.imageOf("VDU1", 1)})
	require.Equal(t, []string{"VDU1-0 VDU1"}, differing(servers, w.ids("OS::Nova::Server")))
	require.Equal(t, []any{"vnfd-1"}, w.madeFrom("VDU1"))
	require.Len(t, w.images(), 2)

	w.healOf(w.vnfc("VDU1", 0))
	w.completed()
	require.Equal(t, next, w.image("VDU1-0"), "the second heal keeps it")
	w.healOf(w.vnfc("VDU1", 1))
	w.completed()
	require.Equal(t, next, w.image("VDU1-1"))
	require.Empty(t, w.madeFrom("VDU1"))
	require.Len(t, w.images(), 2, "it is uploaded once")
}

// TestHealAfterAChangeOfVNFDWithDeaths: the image is uploaded once, and each VNFC is recreated once, at whatever call a
// node dies.
func TestHealAfterAChangeOfVNFDWithDeaths(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		w := modified(t, simcloud.StartTest(t, simcloud.Options{}))
		old, servers := w.image("VDU1-0"), w.ids("OS::Nova::Server")
		w.healOf(w.vnfc("VDU1", 0))
		w.dieAtChange, w.dieAfterCall = n, true
		w.completed()
		require.NotEqual(t, old, w.image("VDU1-0"))
		require.Equal(t, []string{"VDU1-0 VDU1"}, differing(servers, w.ids("OS::Nova::Server")))
		require.Len(t, w.images(), 2)
		if w.deaths == 0 {
			return
		}
	}
}

// TestPlanOfAHealAfterAChangeOfVNFD: it shows the server that is replaced, and no check fails although the image is
// only uploaded by the operation.
func TestPlanOfAHealAfterAChangeOfVNFD(t *testing.T) {
	t.Parallel()
	w := modified(t, simcloud.StartTest(t, simcloud.Options{}))
	w.healOf(w.vnfc("VDU1", 0))
	p := w.preview()
	require.True(t, p.Possible, "%+v", p.Checks)
	at := slices.IndexFunc(p.Replace, func(r lcm.PlannedResource) bool { return r.Type == "OS::Nova::Server" })
	require.GreaterOrEqual(t, at, 0, "%+v", p.Replace)
	require.Contains(t, p.Replace[at].Detail, "image")
}
