package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// TestATransactionInAnotherDatabaseDoesNotDelayEvents has a transaction open in another database of the same server.
func TestATransactionInAnotherDatabaseDoesNotDelayEvents(t *testing.T) {
	t.Parallel()
	b, other := setup(t), devpg.New(t)
	tx, err := other.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), "SELECT pg_current_xact_id()")
	require.NoError(t, err)

	feed := b.runFeed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	fresh := feed.Follow(ctx, store.FeedQuery{})
	_, op := b.admit(t)
	ofOp := feed.Follow(ctx, store.FeedQuery{OpID: op.ID, After: &store.Cursor{}})
	require.Equal(t, []string{store.KindOperationState}, kinds(read(ctx, t, ofOp, 1)))
	require.Len(t, read(ctx, t, fresh, 3), 3)

	_, cl := b.claim(t, op.ID, "n")
	s, err := b.BeginStep(ctx, cl, "p", "s", "")
	require.NoError(t, err)
	require.NoError(t, b.AppendLog(ctx, cl, s.ID, []lcm.LogLine{{Time: now(), Text: "hello"}}))
	require.Equal(t, []string{store.KindStep, store.KindLog}, kinds(read(ctx, t, ofOp, 2)))
	lines, _, err := b.OperationLog(ctx, op.ID, "", 10)
	require.NoError(t, err)
	require.Len(t, lines, 1)
}

// TestOperationLogOfAnOperationAtRestIsComplete has a transaction open in the same database, which delays the events of
// all operations: a user who sees that an operation has ended sees its whole log, and the cursor of that goes on with
// the lines of a retry.
func TestOperationLogOfAnOperationAtRestIsComplete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.admit(t)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), "SELECT pg_current_xact_id()")
	require.NoError(t, err)

	after := ""
	for _, text := range []string{"first run", "retry"} {
		c, cl := b.claim(t, op.ID, "n")
		s, err := b.BeginStep(t.Context(), cl, "p", "s", "")
		require.NoError(t, err)
		require.NoError(t, b.AppendLog(t.Context(), cl, s.ID, []lcm.LogLine{{Time: now(), Text: text}}))
		lines, _, err := b.OperationLog(t.Context(), op.ID, after, 10)
		require.NoError(t, err)
		require.Empty(t, lines, "the operation runs, and an older transaction could belong to it")

		c.Op.State = sol.LcmOperationStateFailedTemp
		require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op}))
		lines, after, err = b.OperationLog(t.Context(), op.ID, after, 10)
		require.NoError(t, err)
		require.Len(t, lines, 1)
		require.Equal(t, text, lines[0].Text)
		_, err = b.Steer(t.Context(), op.ID, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
			o.State = sol.LcmOperationStateProcessing
			return nil, nil
		})
		require.NoError(t, err)
	}
}

// TestATransactionInTheDatabaseDelaysEvents shows why the feed waits: the transaction can still write an event before
// the others.
func TestATransactionInTheDatabaseDelaysEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	feed := b.runFeed(t)
	w := feed.Follow(t.Context(), store.FeedQuery{After: &store.Cursor{}})
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO event (kind, body) VALUES ('first', '{}')")
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), "INSERT INTO event (kind, body) VALUES ('second', '{}')")
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = w.Next(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []string{"first", "second"}, kinds(read(t.Context(), t, w, 2)))
}

// TestTheFeedReadsOnlyWhileItIsFollowed counts the connections that listen.
func TestTheFeedReadsOnlyWhileItIsFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	feed := store.NewFeed(b.Store)
	feed.Linger = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { feed.Run(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	listening := func() int {
		return b.count(
			t,
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gybe "+
				"event feed'",
		)
	}

	b.newInstance(t)
	require.Zero(t, listening())
	for range 2 {
		w := feed.Follow(t.Context(), store.FeedQuery{})
		b.newInstance(t)
		require.Len(t, read(t.Context(), t, w, 2), 2, "events between Follow and Next are not lost")
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			_, _ = w.Next(ctx)
			close(left)
		}()
		require.Eventually(
			t, func() bool { return listening() == 1 }, time.Minute, 10*time.Millisecond, "a follower waits",
		)
		leave()
		<-left
		require.Eventually(t, func() bool { return listening() == 0 }, time.Minute, 10*time.Millisecond)
		last := w.Cursor()
		b.newInstance(t)
		require.Len(t, read(t.Context(), t, feed.Follow(t.Context(), store.FeedQuery{After: &last}), 2), 2)
		require.Eventually(t, func() bool { return listening() == 0 }, time.Minute, 10*time.Millisecond)
	}
}

// TestOnlyProgressIsCommittedWithoutWaitingForTheDisk checks which writes wait for the disk.
func TestOnlyProgressIsCommittedWithoutWaitingForTheDisk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE commits (kind text, mode text);
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO commits VALUES (TG_TABLE_NAME || ' ' || TG_OP, current_setting('synchronous_commit'));
			RETURN NULL;
		END $$;
		CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE ON lcm_op_step DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
		CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE ON vnf_lcm_op_occ DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()`)
	require.NoError(t, err)
	modes := func(kind string) []string {
		rows, err := b.pool.Query(t.Context(), "DELETE FROM commits WHERE kind = $1 RETURNING mode", kind)
		require.NoError(t, err)
		var out []string
		for rows.Next() {
			var m string
			require.NoError(t, rows.Scan(&m))
			out = append(out, m)
		}
		require.NoError(t, rows.Err())
		return out
	}
	// The server of the tests has it off.
	_, err = b.pool.Exec(t.Context(), "ALTER ROLE CURRENT_USER IN DATABASE "+b.pool.Config().ConnConfig.Database+
		" SET synchronous_commit = on")
	require.NoError(t, err)
	b.pool.Reset()

	_, op := b.admit(t)
	_, cl := b.claim(t, op.ID, "n")
	require.Equal(t, []string{"on"}, modes("vnf_lcm_op_occ INSERT"))
	require.Equal(t, []string{"on"}, modes("vnf_lcm_op_occ UPDATE"))
	s, err := b.BeginStep(t.Context(), cl, "p", "s", "")
	require.NoError(t, err)
	require.Equal(t, []string{"off"}, modes("lcm_op_step INSERT"))
	require.NoError(t, b.SaveStep(t.Context(), cl, s.ID, []byte(`{"token": 1}`), ""))
	require.Equal(t, []string{"on"}, modes("lcm_op_step UPDATE"), "an effect may depend on a checkpoint")
	require.NoError(t, b.EndStep(t.Context(), cl, s.ID, lcm.StepDone, "", nil))
	require.Equal(t, []string{"off"}, modes("lcm_op_step UPDATE"))
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: op}))
	require.Equal(t, []string{"on"}, modes("vnf_lcm_op_occ UPDATE"))
}
