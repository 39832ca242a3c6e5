package engine_test

import (
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// advance are the arguments of a job of store.OperationJobs as River writes them.
type advance struct {
	OpID string `json:"op_id"`
}

// Kind implements river.JobArgs.
func (advance) Kind() string { return store.OperationJobs.Name }

func TestAJobIsTheRowThatRiverWouldWrite(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	op := uuid.NewString()
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: logger()})
	require.NoError(t, err)
	theirs, err := client.Insert(
		t.Context(), advance{op}, &river.InsertOpts{Queue: store.OperationJobs.Queue, MaxAttempts: math.MaxInt16},
	)
	require.NoError(t, err)
	var ours int64
	insert := (&engine.Queue{}).Insert(store.OperationJobs, "$1", "'default'")
	require.NoError(t, pool.QueryRow(t.Context(), insert, op).Scan(&ours))
	row := func(id int64) (fields, times string) {
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT (to_jsonb(j) - 'id' - 'created_at' - 'scheduled_at')::text,
			(created_at <= now() AND scheduled_at <= now() AND scheduled_at > now() - interval '1 minute')::text FROM river_job j WHERE id = $1`, id).
			Scan(&fields, &times))
		return fields, times
	}
	wantFields, _ := row(theirs.Job.ID)
	fields, times := row(ours)
	require.JSONEq(t, wantFields, fields)
	require.Equal(t, "true", times, "it is due at once")
}
