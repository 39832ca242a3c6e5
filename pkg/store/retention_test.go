package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Operations are written by hand: 30 that ended long ago for each instance, the first one the oldest.
func TestPruneOperationsKeepsTheNewestOfExistingInstances(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.raw = true
	there, unobserved, gone := b.newInstance(t), b.newInstance(t), uuid.NewString()
	insert := func(instance, state string, age time.Duration) string {
		t.Helper()
		id := uuid.NewString()
		ended := time.Now().Add(-age)
		_, err := b.pool.Exec(t.Context(), `INSERT INTO vnf_lcm_op_occ (id, instance_id, type, state, state_entered, started, updated)
			VALUES ($1, $2, 'SCALE', $3, $4, $4, $4)`, id, instance, state, ended)
		require.NoError(t, err)
		_, err = b.pool.Exec(t.Context(), `INSERT INTO lcm_op_phase (op_id, run, name, state, attempts, failing, started, detail)
			VALUES ($1, 1, 'infra', 'DONE', 1, 0, now(), '')`, id)
		require.NoError(t, err)
		_, err = b.pool.Exec(t.Context(), `INSERT INTO lcm_op_step (op_id, run, phase, name, target, state, attempts, started)
			VALUES ($1, 1, 'infra', 'create stack', '', 'DONE', 1, now())`, id)
		require.NoError(t, err)
		return id
	}
	const day = 24 * time.Hour
	states := []string{"COMPLETED", "FAILED", "ROLLED_BACK"}
	for n := range 30 {
		age := 100*day - time.Duration(n)*time.Hour
		insert(there.ID, states[n%3], age)
		insert(gone, states[n%3], age)
	}
	last := insert(unobserved.ID, "FAILED", 200*day)
	for range 25 {
		insert(unobserved.ID, "COMPLETED", 80*day)
	}
	_, err := b.pool.Exec(t.Context(), "UPDATE vnf_instance SET unobserved = $1 WHERE id = $2", last, unobserved.ID)
	require.NoError(t, err)
	insert(gone, "FAILED_TEMP", 300*day) // still active

	n, err := b.PruneOperations(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Zero(t, n, "0 keeps all")
	n, err = b.PruneOperations(t.Context(), 90*day, 15)
	require.NoError(t, err)
	require.Equal(t, int64(15), n, "a batch is bounded")
	n, err = b.PruneOperations(t.Context(), 90*day, 100)
	require.NoError(t, err)
	require.Equal(t, int64(25), n)

	left := func(instance string) int {
		return b.count(t, "SELECT count(*) FROM vnf_lcm_op_occ WHERE instance_id = $1", instance)
	}
	require.Equal(t, 20, left(there.ID))
	require.Equal(t, 1, left(gone), "the active one")
	require.Equal(t, 26, left(unobserved.ID))
	oldest := b.count(t, fmt.Sprintf(`SELECT count(*) FROM vnf_lcm_op_occ WHERE instance_id = '%s'
		AND started < now() - interval '%d hours'`, there.ID, 100*24-9))
	require.Zero(t, oldest, "the newest ones are left")
	total := b.count(t, "SELECT count(*) FROM vnf_lcm_op_occ")
	require.Equal(t, total, b.count(t, "SELECT count(*) FROM lcm_op_phase"), "phases go with their operation")
	require.Equal(t, total, b.count(t, "SELECT count(*) FROM lcm_op_step"))
}
