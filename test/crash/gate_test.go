package crash_test

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// gate stops the transaction that writes a certain row at its commit, so that a test can kill the process that has sent
// it, before or after the commit. It works for every process on the database, also the compiled programs. Writes of
// sessions with the application name "bystander" are not counted.
type gate struct {
	*world
	hold *pgxpool.Conn // has the lock that the transaction waits for
}

// gateLock is the advisory lock; nodes do not use it.
const gateLock = 740917

// newGate counts the rows that are written to the tables from arm on.
func (w *world) newGate(tables ...string) *gate {
	w.t.Helper()
	g := &gate{world: w}
	g.exec(`CREATE TABLE test_gate (nth bigint NOT NULL); CREATE SEQUENCE test_gate_count;
		CREATE FUNCTION test_gate() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE wanted bigint;
		BEGIN
			SELECT nth INTO wanted FROM test_gate;
			IF FOUND AND current_setting('application_name') <> 'bystander'
				AND nextval('test_gate_count') = wanted THEN
				PERFORM pg_advisory_xact_lock_shared(740917);
			END IF;
			RETURN NULL;
		END $$`)
	for _, table := range tables {
		g.exec("CREATE CONSTRAINT TRIGGER test_gate AFTER INSERT OR UPDATE OR DELETE ON " + table +
			" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION test_gate()")
	}
	var err error
	g.hold, err = w.pool.Acquire(w.t.Context())
	require.NoError(w.t, err)
	w.t.Cleanup(g.hold.Release)
	return g
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), sql, args...)
	require.NoError(w.t, err)
}

// dies lets a process do something and kills it at its nth write, before the commit or after it. It returns false when
// there were fewer writes; the process lives then. act MUST return when the process is dead.
func (g *gate) dies(nth int, after bool, kill, act func()) bool {
	g.t.Helper()
	ctx := context.WithoutCancel(g.t.Context())
	_, err := g.hold.Exec(ctx, "SELECT pg_advisory_lock($1)", gateLock)
	require.NoError(g.t, err)
	g.exec("SELECT setval('test_gate_count', 1, false)")
	g.exec("INSERT INTO test_gate VALUES ($1)", nth)
	done := make(chan struct{})
	go func() {
		act()
		close(done)
	}()
	pid := g.waiting(done)
	if pid != "" {
		kill()
		if !after {
			g.exec("SELECT pg_terminate_backend($1::text::integer)", pid)
			g.ended(pid)
		}
	}
	g.exec("DELETE FROM test_gate")
	_, err = g.hold.Exec(ctx, "SELECT pg_advisory_unlock($1)", gateLock)
	require.NoError(g.t, err)
	if pid != "" {
		g.ended(pid)
	}
	<-done
	return pid != ""
}

// waiting waits for a transaction at the gate and returns the process of PostgreSQL; "" when done comes first.
func (g *gate) waiting(done chan struct{}) string {
	g.t.Helper()
	tick := time.NewTicker(interval / 5)
	defer tick.Stop()
	for {
		over := false
		select {
		case <-done:
			over = true
		case <-tick.C:
		}
		pids := g.column(`SELECT pid::text FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, gateLock)
		switch {
		case len(pids) > 0:
			return pids[0]
		case over:
			return ""
		}
	}
}

// ended waits until a process of PostgreSQL has ended: its client is dead.
func (g *gate) ended(pid string) {
	g.t.Helper()
	require.Eventually(g.t, func() bool {
		return len(g.column("SELECT pid::text FROM pg_stat_activity WHERE pid::text = $1", pid)) == 0
	}, patience, interval)
}

// deaths are the two sides of a write.
var deaths = map[bool]string{false: "before it is durable", true: "after it is durable"}
