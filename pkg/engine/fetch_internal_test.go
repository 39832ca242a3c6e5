package engine

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/devpg"
)

// TestWaitingJobsCostNothing looks for jobs while ten thousand of one VIM wait for a place, beside those that are done.
func TestWaitingJobsCostNothing(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO river_job (args, kind, max_attempts, queue, state, finalized_at)
		SELECT '{}', 'lcm.advance', 10, 'default/' || CASE WHEN n <= 30000 THEN '1111' ELSE (n % 100)::text END || '/p',
			CASE WHEN n <= 10000 OR n > 30000 THEN 'available' ELSE 'completed' END::river_job_state, CASE WHEN n > 10000 AND n <= 30000 THEN now() END
		FROM generate_series(1, 30100) n`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "ANALYZE river_job")
	require.NoError(t, err)
	var raw []byte
	require.NoError(t, pool.QueryRow(
		t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+listQueues, "default",
	).Scan(&raw))
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &plan))
	t.Logf("%d blocks for 101 queues", plan[0].Plan.Hit+plan[0].Plan.Read)
	require.Less(t, plan[0].Plan.Hit+plan[0].Plan.Read, 101*12, "%s", raw)

	e := New(Config{Pool: pool, MaxPerVim: 1, Log: slog.New(slog.DiscardHandler)})
	due, _, err := e.dueQueues(t.Context(), "default")
	require.NoError(t, err)
	require.Len(t, due, 101)
	e.shares.take("default/1111/p", []int64{1})
	require.Len(t, e.shares.choose(due, 10), 100, "those of the VIM without room are left out")
}
