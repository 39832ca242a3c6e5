package engine_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/devpg"
)

// A release before the queues of VIMs and projects adds and takes jobs in the queue default only.

// TestNodeTakesJobsOfTheReleaseBefore: during an upgrade, operations that an old node has admitted go on.
func TestNodeTakesJobsOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	st, _, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	ops := []string{admitTo(t, st, "1111"), admitTo(t, st, ""), admit(t, st)}
	_, err = pool.Exec(t.Context(), "UPDATE river_job SET queue = 'default'")
	require.NoError(t, err)
	n := start(t, pool, "new", &script{steps: 1})
	completed(t, n.store, ops...)
}

// oldNode takes jobs like a node of the release before, and reports their operations.
type oldNode struct {
	river.WorkerDefaults[advance]
	took chan string
}

// Work implements river.Worker.
func (o oldNode) Work(_ context.Context, j *river.Job[advance]) error {
	o.took <- j.Args.OpID
	return nil
}

// TestStatementGivesJobsToTheReleaseBefore: an operator who goes back to that release executes the statement of the
// how-to, because its nodes do not look into the queues of VIMs.
func TestStatementGivesJobsToTheReleaseBefore(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/how-to/upgrade-gybe.md")
	require.NoError(t, err)
	_, statement, found := strings.Cut(string(text), "```sql\n")
	require.True(t, found)
	statement, _, _ = strings.Cut(statement, "```")

	pool := devpg.New(t)
	st, _, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	first, second := admitTo(t, st, "1111"), admitTo(t, st, "2222")
	_, err = pool.Exec(t.Context(), `UPDATE river_job SET queue = replace(queue, 'default', 'cancel')
		WHERE args->>'op_id' = $1`, second)
	require.NoError(t, err)

	old := oldNode{took: make(chan string, 2)}
	workers := river.NewWorkers()
	river.AddWorker(workers, old)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger: logger(), Workers: workers, Queues: map[string]river.QueueConfig{"default": {MaxWorkers: 10}},
		FetchPollInterval: 10 * time.Millisecond, FetchCooldown: 10 * time.Millisecond,
	})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	defer func() { require.NoError(t, client.Stop(context.WithoutCancel(t.Context()))) }()
	require.ElementsMatch(t, []string{first, second}, []string{<-old.took, <-old.took})
}
