package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestMessagesCarryWhatFiltersMatch reads the values also after the instance was renamed and deleted.
func TestMessagesCarryWhatFiltersMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n")
	c.Op.State, c.Instance.Name, c.Instance.VnfdVersion = sol.LcmOperationStateCompleted, "renamed", "3.0"
	require.NoError(t, b.CommitTick(
		t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance, Messages: []lcm.Message{message(i.ID, op.ID)}},
	))
	deletion := message(i.ID, "")
	deletion.Kind = lcm.KindDeletion
	require.NoError(t, b.DeleteInstance(t.Context(), i.ID, nil, []lcm.Message{deletion}))

	type row struct{ VnfdID, Provider, ProductName, SoftwareVersion, VnfdVersion, Name, Operation, State string }
	rows, err := b.pool.Query(t.Context(), `SELECT vnfd_id, provider, product_name, software_version, vnfd_version, instance_name,
		coalesce(operation, ''), coalesce(operation_state, '') FROM outbox ORDER BY seq`)
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	require.NoError(t, err)
	created := row{i.VnfdID, "P", "N", "1.0", "2.0", "k8s", "", ""}
	started, completed, deleted := created, created, created
	started.Operation, started.State = "INSTANTIATE", "STARTING"
	completed.Operation, completed.State = "INSTANTIATE", "COMPLETED"
	completed.Name, completed.VnfdVersion = "renamed", "3.0"
	deleted.Name, deleted.VnfdVersion = "renamed", "3.0"
	require.Equal(t, []row{created, started, completed, deleted}, got)
}

// TestOldMessagesAreDeleted keeps messages that are not fanned out, not delivered or dead, whatever their age.
func TestOldMessagesAreDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 3 {
		b.newInstance(t)
	}
	_, err := b.pool.Exec(t.Context(), "UPDATE outbox SET time = now() - interval '2 hours' WHERE seq <= 2")
	require.NoError(t, err)
	n, err := b.PruneMessages(t.Context(), time.Hour, 10)
	require.NoError(t, err)
	require.Zero(t, n, "they are not fanned out")
	b.fanOut(t)
	for _, want := range []int64{1, 1, 0} {
		n, err := b.PruneMessages(t.Context(), time.Hour, 1)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM outbox"))

	b.subscribe(t, "")
	for range 3 {
		b.newInstance(t)
	}
	b.fanOut(t)
	_, err = b.pool.Exec(t.Context(), "UPDATE outbox SET time = now() - interval '2 hours'")
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), "UPDATE delivery SET state = CASE seq WHEN 4 THEN 'DEAD' "+
		"WHEN 5 THEN 'DELIVERED' ELSE state END, ended = now() - interval '2 hours'")
	require.NoError(t, err)
	_, err = b.PruneDeliveries(t.Context(), time.Hour, 10)
	require.NoError(t, err)
	_, err = b.PruneMessages(t.Context(), time.Hour, 10)
	require.NoError(t, err)
	require.Equal(t, 2, b.count(t, "SELECT count(*) FROM outbox WHERE seq IN (4, 6)"))
	require.Equal(t, 2, b.count(t, "SELECT count(*) FROM outbox"))
}
