package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/job"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// TestAThirdKindNeedsOnlyItsDescription runs jobs of a table that neither the store nor the engine knows.
func TestAThirdKindNeedsOnlyItsDescription(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	_, err := pool.Exec(
		t.Context(),
		"CREATE TABLE parcel (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), job_id bigint, sent boolean NOT NULL "+
			"DEFAULT false)",
	)
	require.NoError(t, err)
	parcels := job.Kind{Name: "parcel.run", Queue: "parcel", Arg: "id", Table: "parcel", Due: "NOT t.sent"}
	var calls atomic.Int64
	deliver := func(ctx context.Context, id string) (time.Duration, bool, error) {
		if calls.Add(1) == 1 {
			return time.Millisecond, true, nil
		}
		_, err := pool.Exec(ctx, "UPDATE parcel SET sent = true, job_id = NULL WHERE id = $1", id)
		return 0, false, err
	}
	st, queue, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	work := &script{steps: 1}
	n := start(t, pool, "a", work, func(c *engine.Config) {
		c.Queue, c.Kinds = queue, append(c.Kinds, engine.Kind{Kind: parcels, Run: deliver, Workers: 2})
	})

	// One row gets its job in its transaction, the other one from the engine.
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var id string
		if err := tx.QueryRow(t.Context(), "INSERT INTO parcel DEFAULT VALUES RETURNING id").Scan(&id); err != nil {
			return err
		}
		var added int64
		insert := queue.Insert(parcels, "$1", parcels.QueueOf(false))
		if err := tx.QueryRow(t.Context(), insert, id).Scan(&added); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "UPDATE parcel SET job_id = $2 WHERE id = $1", id, added)
		return err
	}))
	queue.Added(parcels)
	_, err = pool.Exec(t.Context(), "INSERT INTO parcel DEFAULT VALUES")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return count(t, pool, "SELECT count(*) FROM parcel WHERE sent") == 2
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, int64(3), calls.Load(), "one call more for the row that wanted to be called again")
	completed(t, st, admit(t, n.store))
}

// TestTheArgumentsOfJobsStayReadable checks the form that nodes of other releases read.
func TestTheArgumentsOfJobsStayReadable(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	st, _, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	op := admit(t, st)
	require.Equal(t, 1, count(
		t, pool,
		"SELECT count(*) FROM river_job WHERE kind = 'lcm.advance' AND queue LIKE 'default/%' AND args = "+
			"jsonb_build_object('op_id', $1::text)",
		op,
	))
}
