package lcm_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// emptySnapshot creates a snapshot resource.
func (w *world) emptySnapshot() string {
	w.t.Helper()
	d, err := w.Service.CreateSnapshot(w.t.Context(), sol.CreateVnfSnapshotInfoRequest{})
	require.NoError(w.t, err)
	return d.ID
}

func about(id string) string { return `{"vnfSnapshotInfoId":"` + id + `"}` }

// snapshot is a snapshot as clients see it.
func (w *world) snapshot(id string) sol.VnfSnapshotInfo {
	w.t.Helper()
	d, err := w.Service.Snapshot(w.t.Context(), id)
	require.NoError(w.t, err)
	var out sol.VnfSnapshotInfo
	require.NoError(w.t, json.Unmarshal(d.Brief, &out))
	if details := render.SnapshotDetails(d, []byte(`{"self":{"href":"/"}}`)); details != nil {
		require.NoError(w.t, json.Unmarshal(details, &out))
	}
	return out
}

// taken is a snapshot of the instance.
func (w *world) taken() string {
	w.t.Helper()
	id := w.emptySnapshot()
	w.done(sol.LcmOperationCreateSnapshot, about(id))
	return id
}

// TestCreateSnapshotFillsTheResource: once the operation is COMPLETED the resource has the instance and each VNFC, and
// no secret.
func TestCreateSnapshotFillsTheResource(t *testing.T) {
	t.Parallel()
	w := running(t)
	before := w.instance()
	id := w.emptySnapshot()
	require.Nil(t, w.snapshot(id).VnfSnapshot)
	op, err := w.do(sol.LcmOperationCreateSnapshot,
		`{"vnfSnapshotInfoId":"`+id+`","userDefinedData":{"why":"before the upgrade"}}`)
	require.NoError(t, err)
	require.Nil(t, w.snapshot(id).VnfSnapshot, "it is not complete")
	require.Equal(t, sol.LcmOperationStateCompleted, w.Work(t, op.ID))
	require.Equal(t, []string{"create_snapshot_start 1.0 3", "create_snapshot_end 1.0 3"}, w.Hooks.Take())

	is := w.snapshot(id).VnfSnapshot
	require.NotNil(t, is)
	require.Equal(t, w.id, is.VnfInstanceID)
	require.Equal(t, before.VnfdID, is.VnfdID)
	require.Equal(t, sol.KeyValuePairs{"why": "before the upgrade"}, is.UserDefinedData)
	require.False(t, is.CreationFinishedAt.Before(*is.CreationStartedAt))
	require.Equal(t, w.id, is.VnfInstance.ID)
	require.Equal(t, sol.InstantiationStateInstantiated, is.VnfInstance.InstantiationState)
	require.Len(t, is.VnfcSnapshots, 3)
	for _, c := range is.VnfcSnapshots {
		require.Contains(t, w.vnfcs(""), c.VnfcInstanceID)
		require.NotEmpty(t, c.ComputeSnapshotResource.ResourceID)
		require.Equal(t, "vim1", c.ComputeSnapshotResource.VimConnectionID)
	}
	d, err := w.Service.Snapshot(t.Context(), id)
	require.NoError(t, err)
	require.NotContains(t, string(d.Content), apitest.Password)
	require.Contains(t, string(d.Instance), "vimConnectionInfo")
	require.NotContains(t, string(d.Instance), apitest.Password)
	after := w.instance()
	require.Equal(t, before.Instantiated, after.Instantiated)
	require.Equal(t, before.Inventory, after.Inventory)

	doc, err := w.Service.OperationDocument(t.Context(), op.ID)
	require.NoError(t, err)
	require.Equal(t, id, doc.SnapshotID)
	require.Contains(t, string(doc.Brief), `"vnfSnapshotInfoId":"`+id+`"`)
}

// TestSnapshotsAreSealed: the credentials that delete a snapshot are not readable in the database.
func TestSnapshotsAreSealed(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.taken()
	var row string
	require.NoError(t, w.Pool.QueryRow(t.Context(), `SELECT row_to_json(n)::text ||
		encode(coalesce(n.instance, ''), 'escape') FROM vnf_snapshot n WHERE id = $1`, id).Scan(&row))
	require.NotContains(t, row, apitest.Password)
	n, err := w.Store.Snapshot(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, apitest.Password, n.Instance.VimConnections["vim1"].AccessInfo["password"])
	require.Empty(t, n.Instance.Params, "the snapshot does not keep more secrets than it needs")
}

// TestSnapshotStates: which requests the state of the snapshot resource forbids.
func TestSnapshotStates(t *testing.T) {
	t.Parallel()
	w := running(t)
	conflict := func(err error, words ...string) {
		t.Helper()
		require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
		for _, word := range words {
			require.ErrorContains(t, err, word)
		}
	}
	const unknown = "3b1c2f1e-0000-4000-8000-000000000000"
	for _, typ := range []sol.LcmOperationType{sol.LcmOperationCreateSnapshot, sol.LcmOperationRevertToSnapshot} {
		_, err := w.do(typ, about(unknown))
		require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
		require.Equal(t, []string{"/vnfSnapshotInfoId"}, pointers(err))
		_, err = w.do(typ, `{}`)
		require.Equal(t, []string{"/vnfSnapshotInfoId"}, pointers(err))
	}
	empty := w.emptySnapshot()
	_, err := w.do(sol.LcmOperationRevertToSnapshot, about(empty))
	conflict(err, "complete snapshot")
	full := w.taken()
	_, err = w.do(sol.LcmOperationCreateSnapshot, about(full))
	conflict(err, "already holds")
	_, err = w.do(sol.LcmOperationRevertToSnapshot, `{"vnfSnapshotInfoId":"`+full+`","vnfcSnapshotInfoId":"x-9"}`)
	require.Equal(t, []string{"/vnfcSnapshotInfoId"}, pointers(err))
	require.ErrorContains(t, err, "workerNode-0")

	other := &world{Domain: w.Domain, t: t, id: w.create()}
	_, err = other.do(sol.LcmOperationCreateSnapshot, about(w.emptySnapshot()))
	conflict(err, "NOT_INSTANTIATED")
	other.done(sol.LcmOperationInstantiate, string(encode(t, apitest.Params())))
	_, err = other.do(sol.LcmOperationRevertToSnapshot, about(full))
	require.Equal(t, []string{"/vnfSnapshotInfoId"}, pointers(err))

	op, err := w.do(sol.LcmOperationCreateSnapshot, about(empty))
	require.NoError(t, err)
	conflict(w.Service.DeleteSnapshot(t.Context(), empty, nil), op.ID)
	_, err = other.do(sol.LcmOperationCreateSnapshot, about(empty))
	conflict(err, "not complete")
	require.Equal(t, sol.LcmOperationStateCompleted, w.Work(t, op.ID))
	op, err = w.do(sol.LcmOperationRevertToSnapshot, about(full))
	require.NoError(t, err)
	conflict(w.Service.DeleteSnapshot(t.Context(), full, nil), op.ID)
	require.NoError(t, w.Service.DeleteSnapshot(t.Context(), empty, nil), "the other snapshot is not in use")
}

// TestRevertNeedsTheVNFCsOfTheSnapshot: a VNF that was scaled since is not reverted, and the answer names what differs.
// One VNFC can be reverted.
func TestRevertNeedsTheVNFCsOfTheSnapshot(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.taken()
	w.done(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`)
	_, err := w.do(sol.LcmOperationRevertToSnapshot, about(id))
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.ErrorContains(t, err, "the snapshot does not have workerNode-2")
	w.done(sol.LcmOperationHeal, `{}`) // other machines at the same places
	w.Hooks.Take()
	op := w.done(sol.LcmOperationRevertToSnapshot,
		`{"vnfSnapshotInfoId":"`+id+`","vnfcSnapshotInfoId":"workerNode-1"}`)
	require.Len(t, op.Scope.VNFCs, 1)
	index, ok := w.instance().ComputeIndex(op.Scope.VNFCs[0])
	require.True(t, ok)
	require.Equal(t, 1, index)
	require.Equal(t, []string{"revert_to_snapshot_start 1.0 4", "revert_to_snapshot_end 1.0 4"}, w.Hooks.Take())
	require.NotContains(t, lcm.Allowed(&lcm.Operation{Type: op.Type, State: sol.LcmOperationStateFailedTemp}),
		lcm.EventRollback)

	w.done(sol.LcmOperationScale, `{"type":"SCALE_IN","aspectId":"workers"}`)
	w.done(sol.LcmOperationScale, `{"type":"SCALE_IN","aspectId":"workers"}`)
	_, err = w.do(sol.LcmOperationRevertToSnapshot, about(id))
	require.ErrorContains(t, err, "it does not have workerNode-1")
}

// TestRevertNeedsThePackageOfTheSnapshot: disks of another package are not given to a VNF.
func TestRevertNeedsThePackageOfTheSnapshot(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.taken()
	w.done(sol.LcmOperationChangeVnfpkg, `{"vnfdId":"`+apitest.NextID+`"}`)
	_, err := w.do(sol.LcmOperationRevertToSnapshot, about(id))
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.ErrorContains(t, err, apitest.NextID)
}

// TestAFailedSnapshotIsRolledBackOrDeleted: nothing of it remains in the VIM.
func TestAFailedSnapshotIsRolledBackOrDeleted(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.emptySnapshot()
	w.VIM.FailHalfway(boom)
	op := w.failed(sol.LcmOperationCreateSnapshot, about(id))
	require.Len(t, w.VIM.Disks(), 1)
	w.VIM.Fail(nil)
	w.steered(op, lcm.EventRollback, sol.LcmOperationStateRolledBack)
	require.Empty(t, w.VIM.Disks())
	require.Nil(t, w.snapshot(id).VnfSnapshot)

	w.VIM.FailHalfway(boom)
	op = w.failed(sol.LcmOperationCreateSnapshot, about(id)) // it is empty again
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)
	w.VIM.Fail(nil)
	require.Len(t, w.VIM.Disks(), 1)
	_, err = w.do(sol.LcmOperationCreateSnapshot, about(id))
	require.Contains(t, lcm.AsError(err).Hint, "delete the snapshot")
	left, err := w.Service.Leftovers(t.Context(), w.id)
	require.NoError(t, err)
	require.Empty(t, left.Extra, "what a snapshot has is deleted with it")
	require.NoError(t, w.Service.DeleteSnapshot(t.Context(), id, nil))
	require.Empty(t, w.VIM.Disks())
}

// TestASnapshotThatIsNotGrantedStaysEmpty: the admission is taken back.
func TestASnapshotThatIsNotGrantedStaysEmpty(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.emptySnapshot()
	op, err := w.do(sol.LcmOperationCreateSnapshot, about(id))
	require.NoError(t, err)
	_, err = w.Service.Cancel(t.Context(), op.ID, sol.CancelModeForceful)
	require.NoError(t, err)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.Work(t, op.ID))
	w.done(sol.LcmOperationCreateSnapshot, about(id))
}

// TestDeleteSnapshot: it is possible after the instance is gone. A VIM that fails keeps the resource, and the answer
// says when to come back.
func TestDeleteSnapshot(t *testing.T) {
	t.Parallel()
	w := running(t)
	id, reverted := w.taken(), w.taken()
	w.done(sol.LcmOperationRevertToSnapshot, about(reverted))
	err := w.Service.DeleteSnapshot(t.Context(), reverted, nil)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)

	w.done(sol.LcmOperationTerminate, `{"terminationType":"FORCEFUL"}`)
	require.NoError(t, w.Service.DeleteInstance(t.Context(), w.id, nil))
	require.Len(t, w.VIM.Disks(), 6)
	w.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "the VIM is busy").AsTransient())
	err = w.Service.DeleteSnapshot(t.Context(), id, nil)
	require.Equal(t, lcm.CodeUnavailable, lcm.AsError(err).Code)
	require.Positive(t, lcm.AsError(err).RetryAfter)
	require.ErrorContains(t, err, "the VIM is busy")
	require.NotNil(t, w.snapshot(id).VnfSnapshot)
	w.VIM.Fail(nil)
	for _, id := range []string{id, reverted} {
		require.NoError(t, w.Service.DeleteSnapshot(t.Context(), id, nil))
		_, err = w.Service.Snapshot(t.Context(), id)
		require.Equal(t, lcm.CodeNotFound, lcm.AsError(err).Code)
	}
	require.Empty(t, w.VIM.Disks())
}

// TestASnapshotThatIsBeingDeletedIsNotUsed: an operation that is admitted at this moment would lose its disks.
func TestASnapshotThatIsBeingDeletedIsNotUsed(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.taken()
	_, err := w.Store.BeginSnapshotDeletion(t.Context(), id, time.Hour, nil)
	require.NoError(t, err)
	_, err = w.do(sol.LcmOperationRevertToSnapshot, about(id))
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
	err = w.Service.DeleteSnapshot(t.Context(), id, nil)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
	require.NoError(t, w.Store.EndSnapshotDeletion(t.Context(), id, false))
	w.done(sol.LcmOperationRevertToSnapshot, about(id))
}

// TestSnapshotsOfOtherProjects: they do not exist.
func TestSnapshotsOfOtherProjects(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.taken()
	s := w.Services.In(lcm.Principal{Project: "other"})
	_, err := s.Snapshot(t.Context(), id)
	require.Equal(t, lcm.CodeNotFound, lcm.AsError(err).Code)
	require.Equal(t, lcm.CodeNotFound, lcm.AsError(s.DeleteSnapshot(t.Context(), id, nil)).Code)
	for range s.Snapshots(t.Context(), lcm.Query{}) {
		require.Fail(t, "the list of another project is empty")
	}
}

// TestSnapshotsAreListed: in the order of their ids, a page at a time, all of them once.
func TestSnapshotsAreListed(t *testing.T) {
	t.Parallel()
	w := running(t)
	full := w.taken()
	for range 24 {
		w.emptySnapshot()
	}
	for _, brief := range []bool{true, false} {
		for _, limit := range []int{0, 3, 10, 20, 25, 30} {
			t.Run(fmt.Sprintf("brief %t, limit %d", brief, limit), func(t *testing.T) {
				t.Parallel()
				var ids []string
				for q := (lcm.Query{Limit: limit, Brief: brief}); ; {
					n := 0
					for d, err := range w.Service.Snapshots(t.Context(), q) {
						require.NoError(t, err)
						require.Equal(t, !brief && d.ID == full, d.Content != nil)
						require.Equal(t, d.ID == full, d.InstanceID != "")
						ids, n, q.After = append(ids, d.ID), n+1, d.ID
					}
					if limit == 0 || n < limit {
						break
					}
					require.Equal(t, limit, n)
				}
				require.Len(t, ids, 25)
				require.IsIncreasing(t, ids)
			})
		}
	}
}

// TestModifySnapshot: the NFVO notes its snapshot package, and nothing else can be changed.
func TestModifySnapshot(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.taken()
	version := func() int64 {
		v, err := w.Service.SnapshotValidator(t.Context(), id)
		require.NoError(t, err)
		return v.Version
	}
	had := version()
	pkg := func(id string) sol.VnfSnapshotInfoModificationRequest {
		return sol.VnfSnapshotInfoModificationRequest{VnfSnapshotPkgID: id}
	}
	_, err := w.Service.ModifySnapshot(t.Context(), id, pkg("pkg"), &had)
	require.NoError(t, err)
	require.Equal(t, "pkg", w.snapshot(id).VnfSnapshotPkgID)
	require.NotNil(t, w.snapshot(id).VnfSnapshot)
	require.Greater(t, version(), had)
	_, err = w.Service.ModifySnapshot(t.Context(), id, pkg("x"), &had)
	require.Equal(t, lcm.CodePrecondition, lcm.AsError(err).Code)
	err = w.Service.DeleteSnapshot(t.Context(), id, &had)
	require.Equal(t, lcm.CodePrecondition, lcm.AsError(err).Code)
	_, err = w.Service.ModifySnapshot(
		t.Context(), id, sol.VnfSnapshotInfoModificationRequest{VnfSnapshot: &sol.VnfSnapshot{}}, nil,
	)
	require.Equal(t, []string{"/vnfSnapshot"}, pointers(err))
	_, err = w.Service.CreateSnapshot(t.Context(), sol.CreateVnfSnapshotInfoRequest{VnfSnapshotPkgID: "pkg"})
	require.Equal(t, []string{"/vnfSnapshotPkgId"}, pointers(err))
}

// TestRevertOfAProtectedInstance: it deletes machines.
func TestRevertOfAProtectedInstance(t *testing.T) {
	t.Parallel()
	w := running(t)
	id := w.taken()
	require.NoError(t, w.Store.SetProtection(t.Context(), w.id, &lcm.Protection{Since: time.Now()}))
	_, err := w.do(sol.LcmOperationRevertToSnapshot, about(id))
	require.ErrorContains(t, err, "protected")
	w.taken()
}
