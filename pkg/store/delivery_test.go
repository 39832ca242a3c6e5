package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// TestOneNodeFansOutAtATime: while one does, the others leave the messages to it, because they could not keep the
// order.
func TestOneNodeFansOutAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.subscribe(t, "")
	b.newInstance(t)
	other, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer other.Release()
	_, err = other.Exec(t.Context(), "SELECT pg_advisory_lock($1)", store.FanningOut)
	require.NoError(t, err)
	n, err := b.ledger().FanOut(t.Context(), 10, time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Zero(t, b.count(t, "SELECT count(*) FROM delivery"))
	_, err = other.Exec(t.Context(), "SELECT pg_advisory_unlock($1)", store.FanningOut)
	require.NoError(t, err)
	n, err = b.ledger().FanOut(t.Context(), 10, time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// TestReleaseKeepsLateDeliveries: a delivery is added after the node has seen that nothing is left, and before it ends
// its claim. The subscriber is due at once, and idle only after a claim that found nothing.
func TestReleaseKeepsLateDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.subscribe(t, "")
	b.newInstance(t)
	b.fanOut(t)
	claim := func() []notify.Claim {
		claims, err := b.ledger().ClaimSubscribers(t.Context(), "n", false, 10, time.Minute)
		require.NoError(t, err)
		return claims
	}
	drain := func(c *notify.Claim) (generation int64) {
		for {
			found, generation, err := b.ledger().Pending(t.Context(), c, 10)
			require.NoError(t, err)
			if len(found) == 0 {
				return generation
			}
			for _, d := range found {
				require.NoError(t, b.ledger().Accept(t.Context(), c, d.Seq))
			}
		}
	}
	first := claim()
	require.Len(t, first, 1)
	generation := drain(&first[0])
	b.newInstance(t)
	b.fanOut(t)
	require.Empty(t, claim(), "the node has its lease")
	require.NoError(t, b.ledger().Release(t.Context(), &first[0], notify.Outcome{Generation: generation}))
	second := claim()
	require.Len(t, second, 1)
	generation = drain(&second[0])
	require.NoError(t, b.ledger().Release(t.Context(), &second[0], notify.Outcome{Generation: generation}))
	require.Empty(t, claim())
	require.Equal(t, 2, b.count(t, "SELECT count(*) FROM delivery WHERE state = 'DELIVERED'"))
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM subscriber WHERE due IS NULL"))
}
