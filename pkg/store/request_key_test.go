package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestPruneRequestKeysDeletesThoseOfADayAgo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for key, age := range map[string]string{"old": "25 hours", "older": "50 hours", "new": "23 hours"} {
		_, err := b.pool.Exec(t.Context(), `INSERT INTO request_key (project, subject, key, row_id, fingerprint, id, created)
			VALUES ('default', ' ', $1, gen_random_uuid(), '', gen_random_uuid(), now() - $2::interval)`, key, age)
		require.NoError(t, err)
	}
	find := func(key string) *lcm.KeptRequest {
		kept, err := b.KeptRequest(t.Context(), &lcm.RequestKey{Key: key})
		require.NoError(t, err)
		return kept
	}
	require.Nil(t, find("old"), "it has expired, even if it is not pruned yet")
	for range 2 {
		n, err := b.PruneRequestKeys(t.Context(), lcm.KeepRequestKeys, 1)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
	}
	n, err := b.PruneRequestKeys(t.Context(), lcm.KeepRequestKeys, 1)
	require.NoError(t, err)
	require.Zero(t, n)
	var left string
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT key FROM request_key").Scan(&left))
	require.Equal(t, "new", left)
}
