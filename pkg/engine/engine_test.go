package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// The key of all nodes in these tests, which are several processes.
const testKey = "k1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func logger() *slog.Logger {
	if os.Getenv("GYBE_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

// script runs jobs: it takes its operation through a number of steps.
type script struct {
	store *store.Records
	node  string
	steps int
	hold  time.Duration // how long a step takes
	yield bool          // give the job back after each step

	calls  atomic.Int64
	faults atomic.Int64    // how many calls fail as if the database were away
	meet   *sync.WaitGroup // nodes of which each must hold a job before any does its first step
	met    sync.Once
	last   func(ctx context.Context) // called before the last tick returns
}

func (s *script) kinds(workers int) []engine.Kind {
	return []engine.Kind{{Kind: store.OperationJobs, Run: s.Advance, Workers: workers}}
}

func (s *script) Advance(ctx context.Context, opID string) (time.Duration, bool, error) {
	s.calls.Add(1)
	if s.meet != nil {
		s.met.Do(s.meet.Done)
		s.meet.Wait()
	}
	if s.faults.Add(-1) >= 0 {
		return 0, false, errors.New("the database is away")
	}
	after, again, err := s.advance(ctx, opID)
	if errors.Is(err, lcm.ErrFenced) {
		return 0, false, nil
	}
	return after, again, err
}

func (s *script) advance(ctx context.Context, opID string) (time.Duration, bool, error) {
	c, err := s.store.Claim(ctx, opID, s.node)
	if err != nil || c == nil {
		return 0, false, err
	}
	cl := lcm.Claim{OperationID: opID, InstanceID: c.Instance.ID, Epoch: c.Op.Epoch}
	for n := range s.steps {
		rec, err := s.store.BeginStep(ctx, cl, "p", "step", strconv.Itoa(n))
		if err != nil {
			return 0, false, err
		}
		if rec.State == lcm.StepDone {
			continue
		}
		select {
		case <-ctx.Done():
			return 0, true, nil
		case <-time.After(s.hold):
		}
		if err := s.store.EndStep(ctx, cl, rec.ID, lcm.StepDone, s.node, nil); err != nil {
			return 0, false, err
		}
		if s.yield {
			return time.Millisecond, true, nil
		}
	}
	c.Op.State = sol.LcmOperationStateCompleted
	err = s.store.CommitTick(ctx, cl, lcm.Tick{Op: c.Op})
	if s.last != nil {
		s.last(ctx)
	}
	return 0, false, err
}

// node is an engine with its store.
type node struct {
	*engine.Engine
	store *store.Records
	work  *script
	stop  func() error
}

func openStore(ctx context.Context, pool *pgxpool.Pool) (*store.Records, *engine.Queue, error) {
	ring, err := secret.Parse([]byte(testKey))
	if err != nil {
		return nil, nil, err
	}
	queue := &engine.Queue{}
	st, err := store.New(ctx, pool, ring, queue, logger())
	if err != nil {
		return nil, nil, err
	}
	return st.Of(lcm.Principal{}), queue, nil
}

// start runs a node in this process until the test ends or stop is called.
func start(tb testing.TB, pool *pgxpool.Pool, name string, work *script, change ...func(*engine.Config)) *node {
	tb.Helper()
	st, queue, err := openStore(tb.Context(), pool)
	require.NoError(tb, err)
	work.store, work.node = st, name
	cfg := engine.Config{
		Pool: pool, Queue: queue, Kinds: work.kinds(200), Log: logger(), Name: name,
		Heartbeat: 250 * time.Millisecond, StopTimeout: 5 * time.Second,
	}
	for _, c := range change {
		c(&cfg)
	}
	e := engine.New(cfg)
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	tb.Cleanup(func() { _ = stop() })
	select {
	case <-e.Ready():
	case <-time.After(patience):
		tb.Fatal("the node does not become ready")
	}
	return &node{e, st, work, stop}
}

func admit(tb testing.TB, st *store.Records, change ...func(*lcm.Operation)) string {
	tb.Helper()
	now := lcm.SystemClock{}.Now()
	p := &vnfpkg.Package{
		ID: uuid.NewString(), OnboardingState: sol.PackageOnboardingStateOnboarded,
		OperationalState: sol.PackageOperationalStateEnabled,
	}
	require.NoError(tb, st.AllPackages().InsertPackage(tb.Context(), p))
	i := &lcm.Instance{
		ID: uuid.NewString(), VnfPkgID: p.ID, Version: 1, Created: now, Updated: now,
		State: sol.InstantiationStateNotInstantiated,
	}
	require.NoError(tb, st.InsertInstance(tb.Context(), i, nil))
	op := &lcm.Operation{
		ID: uuid.NewString(), InstanceID: i.ID, Type: sol.LcmOperationInstantiate,
		State: sol.LcmOperationStateProcessing, Version: 1, StateEntered: now, Started: now, Updated: now,
		Params: json.RawMessage(`{}`),
	}
	for _, c := range change {
		c(op)
	}
	require.NoError(tb, st.Admit(tb.Context(), op, nil, func(*lcm.Instance) error { return nil }))
	return op.ID
}

// patience is how long a busy machine may need until an operation is done. It is less than the 90 s after which River
// returns jobs of dead nodes, because the engine must not depend on that.
const patience = time.Minute

// completed waits until operations are done and returns the nodes that did their steps.
func completed(tb testing.TB, st *store.Records, ops ...string) map[string]int {
	tb.Helper()
	nodes := map[string]int{}
	for _, id := range ops {
		require.Eventually(tb, func() bool {
			op, err := st.Operation(tb.Context(), id)
			return err == nil && op.State == sol.LcmOperationStateCompleted
		}, patience, 5*time.Millisecond, "operation %s", id)
		_, steps, err := st.Progress(tb.Context(), id)
		require.NoError(tb, err)
		for _, s := range steps {
			nodes[s.Detail]++
		}
	}
	return nodes
}

func count(tb testing.TB, pool *pgxpool.Pool, query string, args ...any) int {
	tb.Helper()
	var n int
	require.NoError(tb, pool.QueryRow(tb.Context(), query, args...).Scan(&n))
	return n
}

func TestNodesShareTheWork(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	// A node has fewer workers than there are operations, so it cannot hold all of them while it waits for the other.
	both := &sync.WaitGroup{}
	both.Add(2)
	work := func() *script { return &script{steps: 5, hold: 2 * time.Millisecond, yield: true, meet: both} }
	few := func(c *engine.Config) { c.Kinds[0].Workers = 10 }
	a := start(t, pool, "a", work(), few)
	b := start(t, devpg.Pool(t, pool.Config().ConnString()), "b", work(), few)
	var ops []string
	for range 30 {
		ops = append(ops, admit(t, a.store))
	}
	nodes := completed(t, b.store, ops...)
	require.Equal(t, 150, nodes["a"]+nodes["b"])
	require.Positive(t, nodes["a"])
	require.Positive(t, nodes["b"])
	t.Logf("steps done by each node: %v", nodes)

	listed, err := a.store.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, 2)
	require.NoError(t, a.stop())
	listed, err = b.store.Nodes(t.Context())
	require.NoError(t, err)
	require.NotNil(t, listed[0].Ended)
	require.Nil(t, listed[1].Ended)
}

// TestAJobStartsAtItsAdmission runs jobs on a node that never looks for them: a notification wakes it.
func TestAJobStartsAtItsAdmission(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	n := start(t, pool, "a", &script{}, func(c *engine.Config) { c.Poll = time.Hour })
	for range 10 {
		began := time.Now()
		completed(t, n.store, admit(t, n.store))
		t.Logf("admitted, worked and seen as completed in %s", time.Since(began))
	}
}

func TestAJobThatIsNotTheOperationsDoesNothing(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	st, queue, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	op := admit(t, st)
	for range 5 { // left over from whatever accident
		_, err := pool.Exec(t.Context(), queue.Insert(store.OperationJobs, "$1", "'default'"), op)
		require.NoError(t, err)
	}
	_, err = pool.Exec(t.Context(), queue.Insert(store.OperationJobs, "$1", "'default'"), uuid.NewString())
	require.NoError(t, err)
	n := start(t, pool, "a", &script{steps: 3, yield: true})
	completed(t, st, op)
	require.Eventually(t, func() bool {
		return count(t, pool, "SELECT count(*) FROM river_job WHERE state <> 'completed'") == 0
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, int64(4), n.work.calls.Load(), "three steps and the end, by one job")
	require.Equal(t, 4, count(t, pool, "SELECT epoch FROM vnf_lcm_op_occ"))
}

func TestAnOperationWithoutAJobGetsOne(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]string{
		"deleted":   "DELETE FROM river_job",
		"completed": "UPDATE river_job SET state = 'completed', finalized_at = now()",
		"discarded": "UPDATE river_job SET state = 'discarded', finalized_at = now()",
		"never":     "UPDATE vnf_lcm_op_occ SET job_id = NULL",
		"of a node that never " +
			"was": "UPDATE river_job SET state = 'running', attempted_by = '{ghost}', attempted_at = now()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := devpg.New(t)
			st, _, err := openStore(t.Context(), pool)
			require.NoError(t, err)
			op := admit(t, st)
			_, err = pool.Exec(t.Context(), harm)
			require.NoError(t, err)
			start(t, pool, "a", &script{steps: 1})
			completed(t, st, op)
		})
	}
}

func TestAJobWhoseFetchWasLostIsFound(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	n := start(t, pool, "a", &script{steps: 1})
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	// No node can fetch while this transaction holds the table; after it the database shows that the node has the job.
	_, err = tx.Exec(t.Context(), "LOCK TABLE river_job IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `WITH p AS (INSERT INTO vnf_package (id, onboarding_state, operational_state) VALUES (gen_random_uuid(), 'ONBOARDED', 'ENABLED') RETURNING id)
		INSERT INTO vnf_instance (id, created, updated, name, description, vnfd_id, vnf_pkg_id, provider, product_name,
		software_version, vnfd_version, state, holds_resources, fingerprint) SELECT gen_random_uuid(), now(), now(), '', '', '', id, '', '', '', '', '', false, '' FROM p`)
	require.NoError(t, err)
	var job int64
	require.NoError(t, tx.QueryRow(t.Context(), `INSERT INTO river_job (args, kind, max_attempts, state, attempted_by, attempted_at, attempt)
		VALUES ('{}', 'lcm.advance', 10, 'running', ARRAY[$1], now(), 1) RETURNING id`, n.ID()).Scan(&job))
	var op string
	require.NoError(t, tx.QueryRow(t.Context(), `INSERT INTO vnf_lcm_op_occ (id, instance_id, type, state, state_entered, started, updated, job_id)
		SELECT gen_random_uuid(), id, 'HEAL', 'PROCESSING', now(), now(), now(), $1 FROM vnf_instance RETURNING id`, job).Scan(&op))
	require.NoError(t, tx.Commit(t.Context()))
	completed(t, n.store, op)
}

func TestATickThatFailedForTheDatabaseIsTriedAgain(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	n := start(t, pool, "a", &script{steps: 1})
	n.work.faults.Store(3)
	completed(t, n.store, admit(t, n.store))
}

func TestAnOperationThatIsSteeredWhileItsOldJobEndsGoesOn(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	work := &script{}
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	work.last = func(ctx context.Context) {
		once.Do(func() {
			close(entered)
			select {
			case <-leave:
			case <-ctx.Done():
			}
		})
	}
	n := start(t, pool, "a", work)
	op := admit(t, n.store)
	<-entered // the operation has ended, its job has not
	_, err := n.store.Steer(t.Context(), op, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
		o.State = sol.LcmOperationStateProcessing
		return nil, nil
	})
	require.NoError(t, err)
	completed(t, n.store, op)
	close(leave)
	require.Eventually(t, func() bool {
		return count(t, pool, "SELECT count(*) FROM river_job WHERE state <> 'completed'") == 0
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, int64(2), work.calls.Load())
}

func TestANodeThatLosesItsSessionStopsAndRegistersAgain(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	n := start(t, pool, "a", &script{steps: 2, hold: 300 * time.Millisecond})
	op := admit(t, n.store)
	require.Eventually(t, func() bool { return n.Busy() == 1 }, time.Minute, time.Millisecond)
	was := count(t, pool, "SELECT num FROM node")
	require.Equal(t, 1, count(
		t, pool,
		"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND "+
			"application_name LIKE 'gybe node%'",
	))
	require.Eventually(t, func() bool {
		return n.Registered() && count(t, pool, "SELECT num FROM node WHERE ended IS NULL") > was
	}, time.Minute, 5*time.Millisecond)
	completed(t, n.store, op)
	_, steps, err := n.store.Progress(t.Context(), op)
	require.NoError(t, err)
	require.Equal(t, 1, steps[0].Attempts, "a cancelled tick is no failure of its step")
}

func TestAStoppedNodeGivesItsJobsBack(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	a := start(t, pool, "a", &script{steps: 1, hold: time.Minute})
	op := admit(t, a.store)
	require.Eventually(t, func() bool { return a.Busy() == 1 }, time.Minute, time.Millisecond)
	began := time.Now()
	require.NoError(t, a.stop())
	t.Logf("stopped in %s", time.Since(began))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM river_job WHERE state = 'running'"))
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM river_job WHERE state = 'available'"))
	b := start(t, devpg.Pool(t, pool.Config().ConnString()), "b", &script{steps: 1})
	completed(t, b.store, op)
}

func TestARestartOfPostgreSQLNeedsNoHuman(t *testing.T) {
	t.Parallel()
	server, err := devpg.Start(t.Context(), devpg.Options{Private: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	pool := devpg.Pool(t, server.URL())
	require.NoError(t, migrate(t, pool))
	few := func(c *engine.Config) { c.Kinds[0].Workers = 5 } // so that each has some of the ten
	a := start(t, pool, "a", &script{steps: 40, hold: 150 * time.Millisecond, yield: true}, few)
	start(t, devpg.Pool(t, server.URL()), "b", &script{steps: 40, hold: 150 * time.Millisecond}, few)
	var ops []string
	for range 10 {
		ops = append(ops, admit(t, a.store))
	}
	for round := range 2 {
		require.Eventually(t, func() bool { return a.Busy() > 0 }, time.Minute, time.Millisecond)
		require.NoError(t, server.Crash())
		_, err := a.store.Operation(t.Context(), ops[0])
		e := lcm.AsError(err)
		require.Equal(t, lcm.CodeUnavailable, e.Code, "%v", err)
		require.Equal(t, lcm.Transient, e.Class)
		require.Positive(t, e.RetryAfter)
		require.Eventually(t, func() bool {
			return !a.Registered() && a.Busy() == 0
		}, time.Minute, time.Millisecond, "ticks are cancelled")
		began := time.Now()
		require.NoError(t, server.Restart(t.Context()))
		require.Eventually(t, func() bool { return a.Registered() && a.Busy() > 0 }, time.Minute, time.Millisecond)
		t.Logf("round %d: at work again %s after the database's start began", round, time.Since(began))
	}
	nodes := completed(t, a.store, ops...)
	require.Equal(t, 400, nodes["a"]+nodes["b"])
	require.Equal(
		t, 400, count(t, pool, "SELECT count(*) FROM lcm_op_step"), "no step was done twice under another name",
	)
}
