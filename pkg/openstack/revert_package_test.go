package openstack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

// TestAChangeOfThePackageReplacesRevertedDisks: the snapshot was of the package before.
func TestAChangeOfThePackageReplacesRevertedDisks(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	id := w.createSnapshot()
	w.completed()
	w.revert(id)
	w.completed()
	images := w.serverImages(id)
	require.NotEmpty(t, images)
	require.Equal(t, images["VDU1-0"], w.imageOf("VDU1", 0))
	w.upgrade(nil)
	w.completed()
	require.NotEqual(t, images["VDU1-0"], w.imageOf("VDU1", 0))
	require.NotEqual(t, images["VDU1-1"], w.imageOf("VDU1", 1))
	require.NoError(t, w.deleteSnapshot(id, w.store.instance))
}
