package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestNoTransactionSendsNotifications listens to all channels: a NOTIFY in a transaction lets all commits of the server
// wait for each other.
func TestNoTransactionSendsNotifications(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := pgx.ConnectConfig(t.Context(), b.pool.Config().ConnConfig)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, channel := range []string{"gybe_event", `"public.river_insert"`, "the_end"} {
		_, err := conn.Exec(t.Context(), "LISTEN "+channel)
		require.NoError(t, err)
	}
	channels := func() (seen []string) {
		_, err := b.pool.Exec(t.Context(), "NOTIFY the_end")
		require.NoError(t, err)
		for {
			n, err := conn.WaitForNotification(t.Context())
			require.NoError(t, err)
			if n.Channel == "the_end" {
				return seen
			}
			seen = append(seen, n.Channel)
		}
	}

	_, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n")
	s, err := b.BeginStep(t.Context(), cl, "p", "s", "")
	require.NoError(t, err)
	require.NoError(t, b.EndStep(t.Context(), cl, s.ID, lcm.StepDone, "", nil))
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	require.Empty(t, channels())

	// The node notifies the feeds afterwards, once for many changes.
	b.runFeed(t)
	for range 50 {
		b.newInstance(t)
	}
	require.Eventually(t, func() bool { return len(channels()) > 0 }, time.Minute, 10*time.Millisecond)
}
