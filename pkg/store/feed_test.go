package store_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// runFeed runs a feed until the test ends.
func (b *bundle) runFeed(t *testing.T, change ...func(*store.Feed)) *store.Feed {
	t.Helper()
	f := store.NewFeed(b.Store)
	for _, c := range change {
		c(f)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
	return f
}

// read takes n events from a follower, and checks that they are in order.
func read(ctx context.Context, t *testing.T, w *store.Follower, n int) []store.Event {
	t.Helper()
	var got []store.Event
	last := w.Cursor()
	for len(got) < n {
		events, err := w.Next(ctx)
		if err != nil {
			t.Errorf("after %d of %d events: %v", len(got), n, err)
			return got
		}
		for _, e := range events {
			if !e.Cursor.After(last) {
				t.Errorf("event %s comes after %s", e.Cursor, last)
			}
			last = e.Cursor
		}
		got = append(got, events...)
	}
	return got
}

func TestFollowersSeeEveryEventOnceWhateverTheOrderOfCommits(t *testing.T) {
	t.Parallel()
	const writers, each, readers = 8, 40, 5
	b := setup(t)
	pool := devpg.Pool(t, b.pool.Config().ConnString()+"&pool_max_conns="+strconv.Itoa(writers+2))
	feed := b.runFeed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	var wg sync.WaitGroup
	var mu sync.Mutex
	written := map[string]bool{}
	for n := range writers {
		wg.Go(func() {
			for m := range each {
				tx, err := pool.Begin(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				kind := strconv.Itoa(n) + "." + strconv.Itoa(m)
				_, err = tx.Exec(ctx, "INSERT INTO event (kind, body) VALUES ($1, '{}')", kind)
				if err == nil { // transactions overlap and end in another order than they began
					_, err = tx.Exec(ctx, "SELECT pg_sleep($1)", rand.Float64()/100)
				}
				if err == nil && m%5 == 4 {
					err = tx.Rollback(ctx)
				} else if err == nil {
					if err = tx.Commit(ctx); err == nil {
						mu.Lock()
						written[kind] = true
						mu.Unlock()
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	const total = writers * each * 4 / 5
	seen := make([][]store.Event, readers)
	for n := range readers {
		wg.Go(func() {
			seen[n] = read(ctx, t, feed.Follow(t.Context(), store.FeedQuery{After: &store.Cursor{}}), total)
		})
	}
	wg.Wait()
	require.Len(t, written, total)
	for _, events := range seen {
		require.Equal(t, seen[0], events)
		kinds := map[string]bool{}
		for _, e := range events {
			kinds[e.Kind] = true
		}
		require.Equal(t, written, kinds)
	}

	// Who comes later, with any cursor, gets exactly the rest, from the database or from memory.
	for _, at := range []int{0, 1, total / 2, total - 1} {
		for _, f := range []*store.Feed{feed, b.runFeed(t)} {
			got := read(ctx, t, f.Follow(t.Context(), store.FeedQuery{After: &seen[0][at].Cursor}), total-at-1)
			require.Equal(t, seen[0][at+1:], append([]store.Event{}, got...), "from %d", at)
		}
	}
}

func TestAFollowerSeesOnlyWhatItAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	feed := b.runFeed(t)
	start, err := b.LastEvent(t.Context())
	require.NoError(t, err)
	i, op := b.admit(t)
	b.admit(t)
	_, cl := b.claim(t, op.ID, "n")
	s, err := b.BeginStep(t.Context(), cl, "infra", "create stack", "vnf-1")
	require.NoError(t, err)
	require.NoError(t, b.AppendLog(t.Context(), cl, s.ID, []lcm.LogLine{{Time: now(), Text: "hello"}}))
	require.NoError(t, b.EndStep(t.Context(), cl, s.ID, lcm.StepDone, "done", nil))

	ofOp := read(t.Context(), t, feed.Follow(t.Context(), store.FeedQuery{After: &start, OpID: op.ID}), 4)
	require.Equal(t, []string{store.KindOperationState, store.KindStep, store.KindLog, store.KindStep}, kinds(ofOp))
	entered, err := json.Marshal(op.StateEntered)
	require.NoError(t, err)
	require.JSONEq(
		t, `{"operation":"INSTANTIATE","state":"STARTING","run":0,"entered":`+string(entered)+`}`, string(ofOp[0].Body),
	)
	require.Contains(t, string(ofOp[2].Body), `"hello"`)
	require.Contains(t, string(ofOp[2].Body), `"create stack"`)
	ofInstance := read(t.Context(), t, feed.Follow(t.Context(), store.FeedQuery{After: &start, InstanceID: i.ID}), 5)
	require.Equal(t, store.KindInstanceCreated, ofInstance[0].Kind)
	logs := read(
		t.Context(), t, feed.Follow(t.Context(), store.FeedQuery{After: &start, Kinds: []string{store.KindLog}}), 1,
	)
	require.Equal(t, op.ID, logs[0].OpID)

	all, err := b.Events(t.Context(), store.EventQuery{OpID: op.ID, Limit: 2})
	require.NoError(t, err)
	require.Len(t, all, 2)

	fresh := feed.Follow(t.Context(), store.FeedQuery{})
	_, later := b.admit(t)
	got := read(t.Context(), t, fresh, 3)
	require.Equal(t, later.ID, got[2].OpID, "without a cursor only what comes from now on")
}

func kinds(events []store.Event) []string {
	out := make([]string, len(events))
	for n, e := range events {
		out[n] = e.Kind
	}
	return out
}

func TestTheFeedSurvivesTheLossOfItsConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	feed := b.runFeed(t)
	pkg := b.newPackage(t)
	w := feed.Follow(t.Context(), store.FeedQuery{After: &store.Cursor{}})
	read(t.Context(), t, w, 1)
	for range 3 {
		_, err := b.pool.Exec(
			t.Context(),
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "+
				"pg_backend_pid() AND query LIKE '%event%'",
		)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			return b.InsertInstance(t.Context(), unstored(pkg), nil) == nil
		}, time.Minute, 20*time.Millisecond)
		read(t.Context(), t, w, 1)
	}
}

// unstored makes an instance without storing it.
func unstored(pkg string) *lcm.Instance {
	return &lcm.Instance{
		ID: uuid.NewString(), VnfPkgID: pkg, Version: 1, Created: now(), Updated: now(), State: "NOT_INSTANTIATED",
	}
}

func feedOfPackage(after store.Cursor, id string) store.FeedQuery {
	return store.FeedQuery{After: &after, PackageID: id}
}

// TestEventsArriveAtOnce follows a feed that never looks by itself: a notification of the node wakes it.
func TestEventsArriveAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	feed := b.runFeed(t, func(f *store.Feed) { f.SafetyNet = time.Hour })
	pkg := b.newPackage(t)
	w := feed.Follow(t.Context(), store.FeedQuery{After: &store.Cursor{}})
	read(t.Context(), t, w, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for range 20 {
		began := time.Now()
		require.NoError(t, b.InsertInstance(t.Context(), unstored(pkg), nil))
		read(ctx, t, w, 1)
		t.Logf("time from the call of a change to its event: %s", time.Since(began))
	}
}

// endsBetween calls end after the first read of the feed since it was armed, before the next statement.
type endsBetween struct {
	armed atomic.Bool
	end   func()
}

type sentStatement struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (*endsBetween) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, sentStatement{}, q.SQL)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (e *endsBetween) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	sql, _ := ctx.Value(sentStatement{}).(string)
	read := strings.Contains(sql, "FROM event WHERE") && strings.Contains(sql, "ORDER BY")
	if read && e.armed.CompareAndSwap(true, false) {
		e.end()
	}
}

// TestEventsThatWaitedAreNotForgotten ends the transaction that an event waits for between the two statements of a
// look: the first one leaves the event out, and the second one must still say that something waits.
func TestEventsThatWaitedAreNotForgotten(t *testing.T) {
	t.Parallel()
	between := &endsBetween{}
	b := setup(t)
	cfg := b.pool.Config()
	cfg.ConnConfig.Tracer = between
	traced, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(traced.Close)
	follower := on(t, traced, b.ring)
	feed := follower.runFeed(t, func(f *store.Feed) { f.SafetyNet = time.Hour })
	pkg := b.newPackage(t)
	w := feed.Follow(t.Context(), store.FeedQuery{After: &store.Cursor{}})
	read(t.Context(), t, w, 1)

	older, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = older.Exec(t.Context(), "SELECT pg_current_xact_id()")
	require.NoError(t, err)
	between.end = func() { _ = older.Rollback(context.WithoutCancel(t.Context())) }
	between.armed.Store(true)
	require.NoError(t, follower.InsertInstance(t.Context(), unstored(pkg), nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	read(ctx, t, w, 1)
	require.False(t, between.armed.Load())
}

func TestOldEventsCanBeDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.newInstance(t)
	b.newInstance(t)
	_, err := b.pool.Exec(
		t.Context(), "UPDATE event SET time = now() - interval '2 hours' WHERE seq = (SELECT min(seq) FROM event)",
	)
	require.NoError(t, err)
	n, err := b.PruneEvents(t.Context(), time.Hour, 100)
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	require.Equal(t, 3, b.count(t, "SELECT count(*) FROM event"))
}

func TestEventsOfARestoredDatabaseComeBeforeNewOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.newInstance(t)
	_, err := b.pool.Exec(t.Context(), "UPDATE event SET tx = '999999999999'")
	require.NoError(t, err)
	b = on(t, b.pool, b.ring)
	b.newInstance(t)
	feed := b.runFeed(t)
	require.Len(t, read(t.Context(), t, feed.Follow(t.Context(), store.FeedQuery{After: &store.Cursor{}}), 4), 4)
}

func TestACursorIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []store.Cursor{{}, {Tx: 1, Seq: 2}, {Tx: 1<<64 - 1, Seq: 1<<63 - 1}} {
		got, err := store.ParseCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
	for _, text := range []string{"", "1", "-", "1-", "-1", "a-1", "1--1", "1-1-1"} {
		_, err := store.ParseCursor(text)
		requireCode(t, lcm.CodeInvalid, err)
	}
}

func TestListsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	statements := &tracer{}
	cfg := devpg.New(t).Config()
	cfg.ConnConfig.Tracer = statements
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := on(t, pool, newRing(t, secret.Generate()))
	b.raw = true
	// 100 000 finished operations of 10 000 instances, in short transactions: a long one would hold up the feeds of
	// all databases of the server.
	for chunk := range 20 {
		_, err = b.pool.Exec(t.Context(), `INSERT INTO vnf_lcm_op_occ (id, instance_id, type, state, state_entered, started, updated)
			SELECT gen_random_uuid(), ('00000000-0000-0000-0000-' || lpad((n % 10000)::text, 12, '0'))::uuid, 'HEAL', 'COMPLETED', now(), now() - n * interval '1 second', now()
			FROM generate_series($1::integer, $1::integer + 4999) n`, chunk*5000)
		require.NoError(t, err)
	}
	_, err = b.pool.Exec(t.Context(), "ANALYZE vnf_lcm_op_occ")
	require.NoError(t, err)
	var middle string
	require.NoError(
		t,
		b.pool.QueryRow(t.Context(),
			"SELECT id FROM vnf_lcm_op_occ ORDER BY started OFFSET 50000 LIMIT 1").Scan(&middle),
	)
	for _, q := range []lcm.Query{
		{Limit: 100},
		{Limit: 100, After: middle},
		{InstanceID: "00000000-0000-0000-0000-000000000042"},
		{Limit: 100, States: []sol.LcmOperationStateType{"PROCESSING", "FAILED_TEMP"}},
		{Limit: 100, States: []sol.LcmOperationStateType{"ROLLED_BACK"}, After: middle},
	} {
		statements.sent = nil
		began := time.Now()
		ops, err := b.Operations(t.Context(), q)
		require.NoError(t, err)
		t.Logf("%+v: %d in %s", q, len(ops), time.Since(began))
		require.NotEmpty(t, statements.sent)
		for _, s := range slices.Clone(statements.sent) {
			rows, err := pool.Query(t.Context(), "EXPLAIN "+s.SQL, s.Args...)
			require.NoError(t, err)
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			require.NotContains(t, strings.Join(plan, "\n"), "Seq Scan on vnf_lcm_op_occ", s.SQL)
		}
	}
	none, err := b.Operations(t.Context(), lcm.Query{States: []sol.LcmOperationStateType{"no such state"}})
	require.NoError(t, err)
	require.Empty(t, none)
	rows, err := b.pool.Query(t.Context(), `EXPLAIN SELECT id FROM vnf_lcm_op_occ o WHERE o.project = 'default' AND (o.started, o.id) > (SELECT a.started, a.id
		FROM vnf_lcm_op_occ a WHERE a.id = '`+middle+`') ORDER BY o.started, o.id LIMIT 100`)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, strings.Join(plan, "\n"), "Scan using vnf_lcm_op_occ_order")
	t.Log(plan)
}

func TestTheLogOfAnOperationIsReadInPagesOfAnySize(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.admit(t)
	_, cl := b.claim(t, op.ID, "n")
	s, err := b.BeginStep(t.Context(), cl, "p", "s", "")
	require.NoError(t, err)
	empty, next, err := b.OperationLog(t.Context(), op.ID, "", 10)
	require.NoError(t, err)
	require.Empty(t, empty)
	var want []string
	for n := range 150 {
		var lines []lcm.LogLine
		for m := range n % 4 {
			want = append(want, strconv.Itoa(n)+"."+strconv.Itoa(m))
			lines = append(lines, lcm.LogLine{Time: now(), Text: want[len(want)-1]})
		}
		require.NoError(t, b.AppendLog(t.Context(), cl, s.ID, lines))
	}
	require.Eventually(t, func() bool { // other tests' transactions hold the newest back for a moment
		lines, _, err := b.OperationLog(t.Context(), op.ID, "", 1000)
		return err == nil && len(lines) == len(want)
	}, time.Minute, 5*time.Millisecond)
	for _, size := range []int{1, 2, 7, 1000} {
		got, at := []string{}, next
		for {
			lines, after, err := b.OperationLog(t.Context(), op.ID, at, size)
			require.NoError(t, err)
			if len(lines) == 0 {
				require.Equal(t, at, after)
				break
			}
			require.LessOrEqual(t, len(lines), size)
			for _, l := range lines {
				require.Equal(t, s.ID, l.Step)
				got = append(got, l.Text)
			}
			at = after
			_, err = store.ParseCursor(at)
			require.NoError(t, err, "a place in the log is also a place in the feed")
		}
		require.Equal(t, want, got, "pages of %d", size)
	}
	_, _, err = b.OperationLog(t.Context(), op.ID, "x", 1)
	requireCode(t, lcm.CodeInvalid, err)
}
