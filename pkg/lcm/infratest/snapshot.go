package infratest

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// applyToSnapshot stores what a tick does to the snapshot.
func (v *vnf) applyToSnapshot(e lcm.SnapshotEffect) {
	switch n := v.snapshot; {
	case n == nil:
	case e.Release:
		n.Operation, n.Instance, n.VNFCs = "", nil, nil
	default:
		if n.VNFCs == nil {
			n.VNFCs = map[string]lcm.VNFCSnapshot{}
		}
		maps.Copy(n.VNFCs, stored(e.VNFCs))
		if !e.Finished.IsZero() {
			n.Finished = e.Finished
		}
	}
}

// taken is the snapshot with an id; nil when there is none.
func (v *vnf) taken(id string) *lcm.Snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.snapshot == nil || v.snapshot.ID != id {
		return nil
	}
	n := stored(*v.snapshot)
	return &n
}

// existingSnapshots are those of the instance.
func (v *vnf) existingSnapshots() []*lcm.Snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.snapshot == nil {
		return nil
	}
	n := stored(*v.snapshot)
	return []*lcm.Snapshot{&n}
}

// admitCreateSnapshot stores an operation that takes a snapshot.
func (v *vnf) admitCreateSnapshot() {
	v.t.Helper()
	v.snapshot = &lcm.Snapshot{ID: uuid.NewString(), Version: 1}
	v.admit(sol.LcmOperationCreateSnapshot, sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: v.snapshot.ID})
}

// admitRevert stores an operation that reverts the whole instance.
func (v *vnf) admitRevert() {
	v.t.Helper()
	v.admit(sol.LcmOperationRevertToSnapshot, sol.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: v.snapshot.ID})
}

// deleteSnapshot deletes what the snapshot has in the VIM.
func (v *vnf) deleteSnapshot() error {
	v.t.Helper()
	n := v.taken(v.snapshot.ID)
	return v.until(func() (bool, error) {
		v.node.changing = func() {} // the snapshot outlives what the instance holds
		defer func() { v.node.changing = v.requireHold }()
		i := stored(*n.Instance)
		err := v.driver.DeleteSnapshot(v.t.Context(), n, &i)
		return err == nil, err
	})
}

// requireSnapshot checks that every VNFC has a snapshot, which is in the VIM.
func (v *vnf) requireSnapshot() {
	v.t.Helper()
	ids, contents := map[string]bool{}, map[string]bool{}
	for _, o := range v.vim.Contents() {
		contents[o.ID] = true
	}
	require.Len(v.t, v.snapshot.VNFCs, len(v.op.Before.Instantiated.VnfcInfo))
	for _, c := range v.op.Before.Instantiated.VnfcInfo {
		taken, ok := v.snapshot.VNFCs[c.ID]
		require.True(v.t, ok, "the snapshot of %s", c.ID)
		require.Equal(v.t, c.VduID, taken.VDU)
		require.Equal(v.t, c.VnfcResourceInfoID, taken.Resource)
		require.False(v.t, ids[taken.ID], "%s is there twice", taken.ID)
		ids[taken.ID] = true
		key, _, _ := lcm.VimOf(v.instance.VimConnections, c.VduID)
		require.Equal(v.t, key, taken.Vim)
		var resources []lcm.SnapshotResource
		if taken.Compute != nil {
			resources = append(resources, *taken.Compute)
		}
		for _, s := range taken.Storages {
			resources = append(resources, s.Resource)
		}
		require.NotEmpty(v.t, resources, c.ID)
		for _, r := range resources {
			require.NotEmpty(v.t, r.Type)
			require.True(v.t, contents[r.ID], "%s %s is not in the VIM", r.Type, r.ID)
		}
	}
}

// rejectSnapshot: a driver that takes no snapshots says so before anything is changed.
func rejectSnapshot(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.instantiate()
	v.snapshot = &lcm.Snapshot{ID: uuid.NewString(), Version: 1}
	a := v.admission(
		sol.LcmOperationCreateSnapshot, sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: v.snapshot.ID},
	)
	err := v.driver.Validate(t.Context(), v.request(a))
	require.Error(t, err, "the driver would take no snapshot")
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
}

// testSnapshot: a snapshot changes nothing of the VNF, is not a leftover, outlives the instance, and is deleted
// completely, but not while the VNF has disks that come from it.
func testSnapshot(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	empty := v.vim.Contents()
	v.instantiate()
	before, contents := stored(v.instance), v.vim.Contents()
	v.snapshot = &lcm.Snapshot{ID: uuid.NewString(), Version: 1}
	create := sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: v.snapshot.ID}
	p := v.preview(sol.LcmOperationCreateSnapshot, create)
	v.admitCreateSnapshot()
	v.complete()
	v.requireSnapshot()
	require.Equal(t, before.Instantiated, v.instance.Instantiated)
	require.Len(t, p.Add, len(v.vim.Contents())-len(contents), "the preview names what was made")
	require.Empty(t, v.leftovers().Extra)
	snapshot := v.snapshot
	v.snapshot = nil
	require.Len(t, v.leftovers().Extra, len(p.Add), "without a snapshot they are left over")
	v.snapshot = snapshot

	revert := sol.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: v.snapshot.ID}
	p = v.preview(sol.LcmOperationRevertToSnapshot, revert)
	for _, c := range v.instance.Instantiated.VnfcInfo {
		require.Positive(t, vnfcsIn(p.Replace)[c.ID]+vnfcsIn(p.Change)[c.ID], "the preview names %s", c.ID)
	}
	all := v.vim.Contents()
	for range 2 {
		v.admitRevert()
		v.complete()
		v.requireInventory()
		require.Equal(t, counts(all), counts(v.vim.Contents()))
		require.Empty(t, v.leftovers().Extra)
		err := v.deleteSnapshot()
		require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
	}
	v.scale(sol.ScaleTypeOut)
	v.requireInventory()
	v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{})
	v.complete()
	v.requireInventory()

	v.terminate()
	require.NotEqual(t, counts(empty), counts(v.vim.Contents()), "the snapshot outlives the VNF")
	require.NoError(t, v.deleteSnapshot())
	require.ElementsMatch(t, empty, v.vim.Contents())
	require.NoError(t, v.deleteSnapshot(), "deleting twice is not an error")
}

// testSnapshotRollback: a rollback deletes what was made.
func testSnapshotRollback(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.instantiate()
	contents := v.vim.Contents()
	v.admitCreateSnapshot()
	v.complete()
	v.op.State = sol.LcmOperationStateFailedTemp // its last hook has failed
	v.steer(lcm.EventRollback)
	v.complete()
	require.ElementsMatch(t, contents, v.vim.Contents())
	require.Empty(t, v.snapshot.Operation)
	v.requireInventory()
}

func testSnapshotSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) {
		v.instantiate()
		v.admitCreateSnapshot()
	})
}

func testSnapshotRollbackSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) {
		v.instantiate()
		v.admitCreateSnapshot()
		v.complete()
		v.op.State = sol.LcmOperationStateFailedTemp
		v.steer(lcm.EventRollback)
	})
}

func testRevertSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) {
		v.instantiate()
		v.admitCreateSnapshot()
		v.complete()
		v.admitRevert()
	})
}

// testSnapshotOfSeveral: a snapshot of a VNF with two connections has resources in both.
func testSnapshotOfSeveral(t *testing.T, h Harness) {
	t.Helper()
	if h.SecondVDU == "" {
		t.Skip("the driver uses one connection")
	}
	vim := h.New(t)
	empty := vim.Contents()
	v := newVNF(t, h, vim)
	v.second, v.connect = h.SecondVDU, vim.Second
	v.instantiate()
	v.admitCreateSnapshot()
	v.complete()
	v.requireSnapshot()
	v.admitRevert()
	v.complete()
	v.requireInventory()
	v.terminate()
	require.NoError(t, v.deleteSnapshot())
	require.ElementsMatch(t, empty, vim.Contents())
	require.Less(t, time.Since(v.op.Started), time.Hour)
}
