package store_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// of is what another project sees.
func (b *bundle) of(project string) *bundle {
	return &bundle{Records: b.Of(lcm.Principal{Project: project}), pool: b.pool, ring: b.ring}
}

// admitFailed stores an instance with an operation in FAILED_TEMP, on which no node works.
func (b *bundle) admitFailed(t *testing.T) (*lcm.Instance, *lcm.Operation) {
	t.Helper()
	i, op := b.admit(t)
	_, err := b.pool.Exec(t.Context(), "UPDATE vnf_lcm_op_occ SET state = 'FAILED_TEMP' WHERE id = $1", op.ID)
	require.NoError(t, err)
	b.raw = true
	return i, op
}

// TestMoveProjectMovesEverything: the other project has what the first one had, and a third one keeps its own.
func TestMoveProjectMovesEverything(t *testing.T) {
	t.Parallel()
	first := setup(t)
	i, op := first.admitFailed(t)
	vim := newVim("cloud")
	vim.Default = true
	require.NoError(t, first.SaveVim(t.Context(), vim))
	_, err := first.pool.Exec(t.Context(), `INSERT INTO subscription (id, created, updated, callback)
		VALUES (gen_random_uuid(), now(), now(), 'http://x')`)
	require.NoError(t, err)
	first.subscribe(t, `{"vnfInstanceSubscriptionFilter":{"vnfInstanceNames":["moved"]}}`)
	for _, row := range [][2]string{{"default", "once"}, {"default", "twice"}, {"second", "twice"}} {
		_, err := first.pool.Exec(t.Context(), `INSERT INTO request_key (project, subject, key, row_id, fingerprint, id)
			VALUES ($1, 's', $2, gen_random_uuid(), '', gen_random_uuid())`, row[0], row[1])
		require.NoError(t, err)
	}
	snapshot := &lcm.Snapshot{ID: uuid.NewString(), Version: 1, Created: lcm.SystemClock{}.Now()}
	snapshot.Updated = snapshot.Created
	require.NoError(t, first.InsertSnapshot(t.Context(), snapshot))
	third, second := first.of("third"), first.of("second")
	kept, _ := third.admit(t)
	events := first.count(t, "SELECT count(*) FROM event WHERE project = 'default'")
	require.Positive(t, events)

	move := store.Move{From: "default", To: "second", By: "root", Node: "host"}
	moved, err := first.MoveProject(t.Context(), move)
	require.NoError(t, err)
	require.Equal(t, store.Moved{Instances: 1, Operations: 1, Packages: 1, Vims: 1, Events: int64(events)}, moved)
	_, err = first.Instance(t.Context(), i.ID)
	requireCode(t, lcm.CodeNotFound, err)
	got, err := second.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, i, got, "sealed columns open, too")
	_, err = second.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	v, err := second.Vim(t.Context(), vim.ID)
	require.NoError(t, err)
	require.True(t, v.Default)
	_, err = second.packages().Package(t.Context(), i.VnfPkgID)
	require.NoError(t, err)
	_, err = third.Instance(t.Context(), kept.ID)
	require.NoError(t, err)

	// A table that gets projects later has to move, too, or to be named here with a reason.
	stays := map[string]string{"audit": "it says in which project a user acted"}
	rows, err := first.pool.Query(t.Context(), `SELECT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'project'`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Subset(t, tables, []string{"event", "outbox", "subscription", "vim"})
	for _, table := range tables {
		if stays[table] == "" {
			name := pgx.Identifier{table}.Sanitize()
			require.Zero(t, first.count(t, "SELECT count(*) FROM "+name+" WHERE project = 'default'"), table)
			require.Positive(t, first.count(t, "SELECT count(*) FROM "+name+" WHERE project = 'second'"), table)
		}
	}

	for _, b := range []*bundle{first, second} {
		entries, err := b.Audit(t.Context(), lcm.AuditQuery{})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, "root", entries[0].Principal.Subject)
		require.Equal(t, "default to second", entries[0].Path)
	}

	again, err := first.MoveProject(t.Context(), move)
	require.NoError(t, err)
	require.Zero(t, again)
	require.Equal(t, 2, first.count(t, "SELECT count(*) FROM audit"), "nothing was moved")
	projects, err := first.Projects(t.Context())
	require.NoError(t, err)
	require.Equal(t, []store.ProjectUse{
		{Project: "second", Instances: 1, Operations: 1, Packages: 1, Vims: 1},
		{Project: "third", Instances: 1, Operations: 1, Running: 1, Packages: 1},
	}, projects)
}

// TestMoveProjectContinues: a move that was killed before it changed the events completes when it is repeated.
func TestMoveProjectContinues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.newInstance(t)
	for _, table := range []string{"vnf_instance", "vnf_package", "outbox"} {
		_, err := b.pool.Exec(t.Context(), "UPDATE "+table+" SET project = 'second'")
		require.NoError(t, err)
	}
	moved, err := b.MoveProject(t.Context(), store.Move{From: "default", To: "second"})
	require.NoError(t, err)
	require.Positive(t, moved.Events)
	require.Zero(t, b.count(t, "SELECT count(*) FROM event WHERE project = 'default'"))
}

// TestMoveProjectIsRejected while something works on the resources, and for names that both projects use.
func TestMoveProjectIsRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, first, second *bundle)
		reason  string
	}{
		"operation": {func(t *testing.T, first, _ *bundle) {
			t.Helper()
			first.admit(t)
		}, "operations run"},
		"upload": {func(t *testing.T, first, _ *bundle) {
			t.Helper()
			first.newPackage(t)
			_, err := first.pool.Exec(t.Context(), "UPDATE vnf_package SET onboarding_state = 'UPLOADING'")
			require.NoError(t, err)
		}, "packages are uploaded"},
		"lease": {func(t *testing.T, first, _ *bundle) {
			t.Helper()
			_, err := first.Lease(t.Context(), first.newInstance(t).ID, "remove leftovers")
			require.NoError(t, err)
		}, "requests work on instances"},
		"VIM": {func(t *testing.T, first, second *bundle) {
			t.Helper()
			require.NoError(t, first.SaveVim(t.Context(), newVim("cloud")))
			require.NoError(t, second.SaveVim(t.Context(), newVim("cloud")))
		}, "both projects have a VIM with the same name (cloud)"},
		"package": {func(t *testing.T, first, second *bundle) {
			t.Helper()
			first.newPackage(t)
			second.newPackage(t)
			_, err := first.pool.Exec(t.Context(), "UPDATE vnf_package SET vnfd_id = 'x'")
			require.NoError(t, err)
		}, "both projects have a package with the same vnfdId (x)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := setup(t)
			second := first.of("second")
			c.prepare(t, first, second)
			before, err := first.Projects(t.Context())
			require.NoError(t, err)
			_, err = first.MoveProject(t.Context(), store.Move{From: "default", To: "second"})
			require.Contains(t, requireCode(t, lcm.CodeConflict, err).Detail, c.reason)
			after, err := first.Projects(t.Context())
			require.NoError(t, err)
			require.Equal(t, before, after)
			require.Zero(t, first.count(t, "SELECT count(*) FROM audit"))
		})
	}
}

// TestMoveProjectKeepsTheOtherDefault: of two default VIMs, that of the other project stays the default.
func TestMoveProjectKeepsTheOtherDefault(t *testing.T) {
	t.Parallel()
	first := setup(t)
	second := first.of("second")
	one, two := newVim("one"), newVim("two")
	one.Default, two.Default = true, true
	require.NoError(t, first.SaveVim(t.Context(), one))
	require.NoError(t, second.SaveVim(t.Context(), two))
	moved, err := first.MoveProject(t.Context(), store.Move{From: "default", To: "second"})
	require.NoError(t, err)
	require.Equal(t, "one", moved.SecondDefault)
	vims, err := second.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, vims, 2)
	require.False(t, vims[0].Default)
	require.True(t, vims[1].Default)
}

// TestMoveProjectAndAdmissionExcludeEachOther: an operation is admitted in the project of its instance, or not at all.
func TestMoveProjectAndAdmissionExcludeEachOther(t *testing.T) {
	t.Parallel()
	first := setup(t)
	for range 10 {
		i := first.newInstance(t)
		op := newOperation(i.ID)
		var admitted, moved error
		var both sync.WaitGroup
		both.Go(func() { admitted = first.Admit(t.Context(), op, nil, ok) })
		both.Go(func() { _, moved = first.MoveProject(t.Context(), store.Move{From: "default", To: "second"}) })
		both.Wait()
		if admitted == nil {
			requireCode(t, lcm.CodeConflict, moved)
			_, err := first.pool.Exec(t.Context(), "UPDATE vnf_lcm_op_occ SET state = 'COMPLETED' WHERE id = $1", op.ID)
			require.NoError(t, err)
			first.raw = true
		} else {
			requireCode(t, lcm.CodeNotFound, admitted)
			require.NoError(t, moved)
		}
		require.Zero(t, first.count(t, `SELECT count(*) FROM vnf_lcm_op_occ o JOIN vnf_instance i ON
			i.id = o.instance_id WHERE o.project <> i.project`))
	}
}
