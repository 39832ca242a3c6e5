//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/migrations"
	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/test/devpg"
)

const (
	envChild = "GYBE_ENGINE_TEST_CHILD" // URL of the database: this process is a node
	envHold  = "GYBE_ENGINE_TEST_HOLD"  // how long its steps take
)

func TestMain(m *testing.M) {
	if url := os.Getenv(envChild); url != "" {
		if err := child(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child is a node in its own process, to be killed.
func child(url string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	hold, err := time.ParseDuration(os.Getenv(envHold))
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	st, queue, err := openStore(ctx, pool)
	if err != nil {
		return err
	}
	return engine.New(engine.Config{
		Pool: pool, Queue: queue, Name: "child", Log: logger(), StopTimeout: 5 * time.Second,
		Kinds: (&script{store: st, node: "child", steps: 3, hold: hold}).kinds(200),
	}).Run(ctx)
}

// spawn starts a child node; it is killed when the test ends.
func spawn(t *testing.T, url string, hold time.Duration) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), envChild+"="+url, envHold+"="+hold.String())
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// stepBy waits until an operation's step is under way by a node.
func stepBy(t *testing.T, pool *pgxpool.Pool, op, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(
			t, pool,
			"SELECT count(*) FROM vnf_lcm_op_occ o JOIN lcm_op_step s ON s.op_id = o.id WHERE o.id = $1 AND o.node = "+
				"$2 AND s.state = 'OPEN'",
			op, name,
		) == 1
	}, time.Minute, 2*time.Millisecond, "step of %s by %s", op, name)
}

func TestAnotherNodeGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	st, _, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	op := admit(t, st)
	dying := spawn(t, pool.Config().ConnString(), time.Minute)
	stepBy(t, pool, op, "child")
	start(t, devpg.Pool(t, pool.Config().ConnString()), "survivor", &script{steps: 3}, func(c *engine.Config) {
		c.Heartbeat = 0
	})

	began := time.Now()
	require.NoError(t, dying.Process.Kill())
	nodes := completed(t, st, op)
	t.Logf("kill -9 until the other node had finished: %s", time.Since(began))
	require.Equal(t, map[string]int{"survivor": 3}, nodes)
	_, steps, err := st.Progress(t.Context(), op)
	require.NoError(t, err)
	require.Equal(t, 1, steps[0].Attempts, "the death of a node is no failure of the step")
	require.Equal(t, 1, steps[1].Attempts)
}

func TestTheSameNodeRestartedGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	st, _, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	op := admit(t, st)
	dying := spawn(t, pool.Config().ConnString(), time.Minute)
	stepBy(t, pool, op, "child")
	require.NoError(t, dying.Process.Kill())
	_ = dying.Wait()

	began := time.Now()
	spawn(t, pool.Config().ConnString(), time.Millisecond)
	completed(t, st, op)
	t.Logf("start of the process until it had finished: %s", time.Since(began))
}

func TestTerminationReturnsJobsAtOnce(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	st, _, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	op := admit(t, st)
	leaving := spawn(t, pool.Config().ConnString(), time.Minute)
	stepBy(t, pool, op, "child")
	start(t, devpg.Pool(t, pool.Config().ConnString()), "other", &script{steps: 3})
	began := time.Now()
	require.NoError(t, leaving.Process.Signal(syscall.SIGTERM))
	completed(t, st, op)
	t.Logf("SIGTERM until the other node had finished: %s", time.Since(began))
	require.NoError(t, leaving.Wait(), "an orderly stop exits with 0")
	t.Logf("SIGTERM until the process was gone: %s", time.Since(began))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM node WHERE name = 'child' AND ended IS NULL"))
}

func TestAFrozenNodeIsReplacedAndFencedWhenItWakesUp(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	st, _, err := openStore(t.Context(), pool)
	require.NoError(t, err)
	op := admit(t, st)
	const hold = 10 * time.Second // the child must be frozen before its step ends
	frozen := spawn(t, pool.Config().ConnString(), hold)
	stepBy(t, pool, op, "child")
	require.NoError(t, frozen.Process.Signal(syscall.SIGSTOP))
	due := time.After(hold)
	start(t, devpg.Pool(t, pool.Config().ConnString()), "other", &script{steps: 3, hold: 100 * time.Millisecond},
		func(c *engine.Config) { c.FrozenAfter = time.Second })
	nodes := completed(t, st, op)
	require.Equal(t, map[string]int{"other": 3}, nodes)
	epoch := count(t, pool, "SELECT epoch FROM vnf_lcm_op_occ")

	second := admit(t, st)
	<-due // the child's next act is to end its step
	require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
	completed(t, st, second)
	require.Eventually(t, func() bool {
		return count(t, pool, "SELECT count(*) FROM node WHERE name = 'child' AND ended IS NULL") == 1
	}, time.Minute, 10*time.Millisecond, "the woken node works again")
	require.Equal(t, epoch, count(t, pool, "SELECT epoch FROM vnf_lcm_op_occ WHERE id = $1", op),
		"nothing touched the finished operation")
	require.Equal(t, 3, count(t, pool, "SELECT count(*) FROM lcm_op_step WHERE op_id = $1 AND detail = 'other'", op))
}

func migrate(t *testing.T, pool *pgxpool.Pool) error {
	t.Helper()
	return migrations.Up(t.Context(), pool)
}
