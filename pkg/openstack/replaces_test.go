package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

// replaced lists the VDUs of the VNFCs that the operation that was admitted last may replace.
func (w *world) replaced() []string {
	w.t.Helper()
	r := w.admitted()
	d, _ := w.node()
	defer d.Close()
	asked := w.cloud.Calls()
	ids, err := d.Replaces(r)
	require.NoError(w.t, err)
	require.Equal(w.t, asked, w.cloud.Calls(), "the VIM is not asked")
	var out []string
	for _, c := range w.store.instance.Instantiated.VnfcInfo {
		if slices.Contains(ids, c.ID) {
			out = append(out, c.VduID)
		}
	}
	slices.Sort(out)
	return out
}

// TestReplaces: which machines an operation may replace is known before it is admitted, without the VIM.
func TestReplaces(t *testing.T) {
	t.Parallel()
	t.Run("another image, and another volume", func(t *testing.T) {
		t.Parallel()
		w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
		w.upgrade(nil)
		require.Equal(t, []string{"VDU1", "VDU1", "VDU3"}, w.replaced(), "VDU3 is not in the new package")
		w.store.op.Scope.Remove = []string{w.vnfc("VDU3", 0)}
		require.Equal(t, []string{"VDU1", "VDU1"}, w.replaced())
	})
	t.Run("another size", func(t *testing.T) {
		t.Parallel()
		w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
		w.upgradeVDU2("m1.small")
		require.Empty(t, w.replaced(), "the images, one of them in the package, are the same")
	})
	t.Run("another description of the machine", func(t *testing.T) {
		t.Parallel()
		w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
		w.upgradeVDU2("m1.small")
		all, _ := w.pkgs.(packages)
		files, _ := all["pkg-2"].files.(fstest.MapFS)
		f := files["BaseHOT/default/nested/VDU2.yaml"]
		text := strings.Replace(string(f.Data), "properties: {flavor:", "properties: {key_name: other, flavor:", 1)
		f.Data = []byte(text)
		require.Equal(t, []string{"VDU2"}, w.replaced())
	})
	t.Run("another flavour", func(t *testing.T) {
		t.Parallel()
		w := small(t)
		w.toFlavour("big", map[string]int{"VDU1": 1, "VDU2": 1})
		require.Empty(t, w.replaced(), "servers get another size in place")
	})
}
