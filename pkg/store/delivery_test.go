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

// TestAClaimThatIsLostStoresNothing: a node is found dead, its subscriber goes to another node, and the first node
// comes back with the results of its requests.
func TestAClaimThatIsLostStoresNothing(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*store.Deliveries, *notify.Claim, int64) error{
		"renew": func(d *store.Deliveries, c *notify.Claim, _ int64) error {
			return d.Renew(t.Context(), c, time.Hour)
		},
		"read": func(d *store.Deliveries, c *notify.Claim, _ int64) error {
			_, _, err := d.Pending(t.Context(), c, 10)
			return err
		},
		"accept": func(d *store.Deliveries, c *notify.Claim, seq int64) error { return d.Accept(t.Context(), c, seq) },
		"accept after failures": func(d *store.Deliveries, c *notify.Claim, seq int64) error {
			c.FailingSince = now()
			return d.Accept(t.Context(), c, seq)
		},
		"reject": func(d *store.Deliveries, c *notify.Claim, seq int64) error {
			return d.Reject(t.Context(), c, seq, "it answered 400")
		},
		"fail": func(d *store.Deliveries, c *notify.Claim, seq int64) error {
			_, err := d.Fail(t.Context(), c, []int64{seq}, "it answered 500")
			return err
		},
		"release": func(d *store.Deliveries, c *notify.Claim, _ int64) error {
			require.NoError(t, d.Release(t.Context(), c, notify.Outcome{Wait: time.Hour}))
			return notify.ErrLost
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.subscribe(t, "")
			b.newInstance(t)
			b.fanOut(t)
			d := b.ledger()
			exec := func(sql string) {
				_, err := b.pool.Exec(t.Context(), sql)
				require.NoError(t, err)
			}
			claim := func(node string) []notify.Claim {
				claims, err := d.ClaimSubscribers(t.Context(), node, false, 10, time.Hour)
				require.NoError(t, err)
				return claims
			}
			exec("INSERT INTO node (id, name, address, version) VALUES ('a-1', 'a', '', ''), ('b-1', 'b', '', '')")
			first := claim("a-1")
			require.Len(t, first, 1)
			found, _, err := d.Pending(t.Context(), &first[0], 10)
			require.NoError(t, err)
			n, err := d.EndLeases(t.Context())
			require.NoError(t, err)
			require.Zero(t, n, "the node lives")
			require.Empty(t, claim("b-1"))

			exec("UPDATE node SET ended = now() WHERE id = 'a-1'")
			n, err = d.EndLeases(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(1), n)
			require.Empty(t, claim("a-1"), "the node is dead")
			state := func() string {
				var text string
				require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT (SELECT b::text FROM subscriber b) ||
					(SELECT d::text FROM delivery d) || (SELECT count(*)::text FROM event)`).Scan(&text))
				return text
			}
			before := state()
			require.ErrorIs(t, write(d, &first[0], found[0].Seq), notify.ErrLost, "before the next claim")
			require.Equal(t, before, state())
			require.Len(t, claim("b-1"), 1)
			before = state()
			require.ErrorIs(t, write(d, &first[0], found[0].Seq), notify.ErrLost, "after it")
			require.Equal(t, before, state())
		})
	}
}
