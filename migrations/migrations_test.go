package migrations_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/migrations"
	"github.com/gybe-nfv/gybe/test/devpg"
)

func TestNodesThatStartAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	url := devpg.EmptyURL(t)
	const nodes = 5
	errs := make([]error, nodes)
	var wg sync.WaitGroup
	for n := range nodes {
		pool := devpg.Pool(t, url)
		wg.Go(func() { errs[n] = migrations.Up(t.Context(), pool) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	pool := devpg.Pool(t, url)
	at, head, err := migrations.Version(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, head, at)
	require.Positive(t, head)
	var applied, different int64
	require.NoError(
		t, pool.QueryRow(t.Context(),
			"SELECT count(*), count(DISTINCT version_id) FROM goose_db_version WHERE version_id > 0").Scan(
			&applied, &different,
		))
	require.Equal(t, different, applied, "no step is applied twice")

	began := time.Now()
	require.NoError(t, migrations.Up(t.Context(), pool))
	require.Less(t, time.Since(began), 100*time.Millisecond, "a start on a migrated database must not wait")
}

func TestAnEmptyDatabaseHasVersionZero(t *testing.T) {
	t.Parallel()
	at, head, err := migrations.Version(t.Context(), devpg.Pool(t, devpg.EmptyURL(t)))
	require.NoError(t, err)
	require.Zero(t, at)
	require.Positive(t, head)
}

func TestAnOlderReleaseRefusesANewerDatabase(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	_, err := pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
	require.NoError(t, err)
	require.ErrorIs(t, migrations.Up(t.Context(), pool), migrations.ErrNewer)
}

func TestAHalfMigratedDatabaseIsFinished(t *testing.T) {
	t.Parallel()
	pool := devpg.Pool(t, devpg.EmptyURL(t))
	require.NoError(t, migrations.Up(t.Context(), pool))
	// A node died after River's tables were made and before anything was recorded.
	_, err := pool.Exec(t.Context(), `DROP TABLE vnf_instance, vnf_lcm_op_occ, lcm_op_phase, lcm_op_step, event, outbox, subscription, vim,
		ssh_host_key, node, secret_check, instance_lease, audit, vnf_snapshot, vnf_package, vnf_package_model, subscription_key, subscriber, delivery, request_key,
		goose_db_version CASCADE; DROP FUNCTION gybe_fence`)
	require.NoError(t, err)
	require.NoError(t, migrations.Up(t.Context(), pool))
}

// TestUpAppliesMissingSteps: two changes were made at the same time, and the one with the lower number came later.
func TestUpAppliesMissingSteps(t *testing.T) {
	t.Parallel()
	pool := devpg.Pool(t, devpg.EmptyURL(t))
	require.NoError(t, migrations.Up(t.Context(), pool))
	_, err := pool.Exec(t.Context(), "DELETE FROM goose_db_version WHERE version_id = 10; DROP TABLE instance_lease")
	require.NoError(t, err)
	require.NoError(t, migrations.Up(t.Context(), pool))
	_, err = pool.Exec(t.Context(), "SELECT FROM instance_lease")
	require.NoError(t, err)
}
