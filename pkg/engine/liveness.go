package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/job"
)

// lockClass is the first half of the advisory lock of a node; the second is node.num.
const lockClass = 0x67796265

// keepAlive registers the node, again after each loss of its session, until ctx ends.
func (e *Engine) keepAlive(ctx context.Context) {
	const slowest = 2 * time.Second
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, slowest) {
		began := time.Now()
		err := e.live(ctx)
		e.setRegistered(false)
		if ctx.Err() != nil {
			return
		}
		e.cancelTicks(errLost)
		e.cfg.Pool.Reset() // its connections are as old as the session: requests would be the ones to find them dead
		e.log.WarnContext(ctx, "node lost its database session; its ticks are cancelled", "error", err)
		if time.Since(began) > slowest {
			pause = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// live is one registration: it returns when the session is lost, or, with the node marked as ended, when ctx ends.
func (e *Engine) live(ctx context.Context) error {
	conn, err := e.session(ctx)
	if err != nil {
		return err
	}
	defer func() {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closeCtx)
	}()
	num, err := e.register(ctx, conn)
	if err != nil {
		return fmt.Errorf("register node: %w", err)
	}
	e.setRegistered(true)
	tick := time.NewTicker(e.cfg.Heartbeat)
	defer tick.Stop()
	for {
		if err := e.heartbeat(ctx, conn, num); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			e.setRegistered(false)
			endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_, err := conn.Exec(endCtx, "UPDATE node SET ended = now() WHERE num = $1", num)
			return err
		case <-tick.C:
		}
	}
}

// session opens the connection whose life is the node's. The server gives a silent one up after about ten seconds, so
// that a machine that lost its power does not hold its lock for ever.
func (e *Engine) session(ctx context.Context) (*pgx.Conn, error) {
	cfg := e.cfg.Pool.Config().ConnConfig
	cfg.RuntimeParams["application_name"] = "gybe node " + e.cfg.Name
	cfg.RuntimeParams["tcp_keepalives_idle"] = "5"
	cfg.RuntimeParams["tcp_keepalives_interval"] = "2"
	cfg.RuntimeParams["tcp_keepalives_count"] = "3"
	dialCtx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return pgx.ConnectConfig(dialCtx, cfg)
}

// register writes the node's row and takes its lock in one transaction, so that no node sees the one without the
// other. Jobs from before, which this process has given up, are removed.
func (e *Engine) register(ctx context.Context, conn *pgx.Conn) (num int32, err error) {
	regCtx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err = pgx.BeginFunc(regCtx, conn, func(tx pgx.Tx) error {
		err := tx.QueryRow(regCtx, `INSERT INTO node (id, name, address, version) VALUES ($1, $2, $3, $4)
			ON CONFLICT (id) DO UPDATE SET num = DEFAULT, seen = now(), ended = NULL RETURNING num`,
			e.id, e.cfg.Name, e.cfg.Address, e.cfg.Version).Scan(&num)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(regCtx, "SELECT pg_advisory_lock($1, $2)", int32(lockClass), num); err != nil {
			return err
		}
		return e.removeOwn(regCtx, tx, nil)
	})
	return num, err
}

// heartbeat is what a node does all the time, normally in one round trip: show that it lives, look for the dead, and
// see that everything under way has a job.
func (e *Engine) heartbeat(ctx context.Context, conn *pgx.Conn, num int32) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	before := time.Now()
	var now time.Time
	var dead, orphaned bool
	var own []int64
	missing := make([]bool, len(e.cfg.Kinds))
	flag := func(to *bool) func(pgx.Row) error { return func(row pgx.Row) error { return row.Scan(to) } }
	b := &pgx.Batch{}
	b.Queue("UPDATE node SET seen = now() WHERE num = $1 AND ended IS NULL RETURNING clock_timestamp()",
		num).QueryRow(func(row pgx.Row) error {
		return row.Scan(&now)
	})
	// A node that is frozen keeps its session: end it, and the next beat finds the lock free.
	b.Queue(`SELECT pg_terminate_backend(l.pid) FROM node n JOIN pg_locks l ON l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objid = n.num::oid
			AND l.objsubid = 2 AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		WHERE n.ended IS NULL AND n.num <> $2 AND n.seen < now() - $3::interval`, int32(lockClass), num, e.cfg.FrozenAfter)
	b.Queue(`WITH others AS MATERIALIZED (SELECT num FROM node WHERE ended IS NULL AND num <> $2)
		SELECT EXISTS (SELECT FROM others WHERE pg_try_advisory_xact_lock($1, num))`, int32(lockClass), num).QueryRow(flag(&dead))
	b.Queue(orphanedJobs).QueryRow(flag(&orphaned))
	b.Queue(ownJobs, e.id).Query(func(rows pgx.Rows) error {
		var err error
		own, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	for n, k := range e.cfg.Kinds {
		b.Queue("SELECT EXISTS (" + jobless(k.Kind) + ")").QueryRow(flag(&missing[n]))
	}
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("heartbeat: %w", err) // no row: another node declared this one dead
	}
	e.clock.measured(before, now, time.Now())
	e.shares.keep(own)
	if dead || orphaned {
		if err := e.removeDeadNodes(ctx, conn, num); err != nil {
			return err
		}
	}
	if err := e.removeLostJobs(ctx, conn, own); err != nil {
		return err
	}
	for n, k := range e.cfg.Kinds {
		if !missing[n] && !dead && !orphaned {
			continue
		}
		if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			return e.addMissingJobs(ctx, tx, k.Kind)
		}); err != nil {
			return fmt.Errorf("add jobs to %s: %w", k.Table, err)
		}
		e.cfg.Queue.Added(k.Kind)
	}
	return nil
}

// removeDeadNodes marks nodes whose lock is free as ended and takes their jobs away.
func (e *Engine) removeDeadNodes(ctx context.Context, conn *pgx.Conn, num int32) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `WITH others AS MATERIALIZED (SELECT num FROM node WHERE ended IS NULL AND num <> $2),
			gone AS MATERIALIZED (SELECT num FROM others WHERE pg_try_advisory_xact_lock($1, num))
			UPDATE node SET ended = now() FROM gone WHERE node.num = gone.num AND node.ended IS NULL RETURNING node.id`, int32(lockClass), num)
		if err != nil {
			return err
		}
		gone, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("mark dead nodes: %w", err)
		}
		jobs, err := removeJobs(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM node WHERE ended < now() - interval '1 day'"); err != nil {
			return err
		}
		if len(gone) > 0 || jobs > 0 {
			e.log.WarnContext(ctx, "nodes are gone; their jobs go to others", "gone", gone, "jobs", jobs)
		}
		return nil
	})
}

// removeLostJobs removes jobs that the database says this node runs, and that it has not been running for some seconds:
// the answer to a fetch was lost, or their outcome could not be stored.
func (e *Engine) removeLostJobs(ctx context.Context, conn *pgx.Conn, own []int64) error {
	lost := e.lostJobs(own, time.Now())
	if len(lost) == 0 {
		return nil
	}
	e.log.WarnContext(ctx, "jobs were lost between the database and this node", "jobs", lost)
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return e.removeOwn(ctx, tx, lost) })
}

// lostAfter is how long a job may stand as ours before or after we work on it.
const lostAfter = 5 * time.Second

// lostJobs notes which of the jobs are not worked on here, and returns those for which that has been so for too long.
func (e *Engine) lostJobs(ids []int64, now time.Time) (lost []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	still := make(map[int64]time.Time, len(ids))
	for _, id := range ids {
		if _, working := e.ticks[id]; working {
			continue
		}
		since, noted := e.suspects[id]
		if !noted {
			since = now
		}
		if now.Sub(since) > lostAfter {
			lost = append(lost, id)
			continue
		}
		still[id] = since
	}
	e.suspects = still
	return lost
}

// addMissingJobs adds a job to every row that must have one and does not: its node died, its job was given up, or a
// fetch was half lost. Rows that are locked now are left to the next heartbeat.
func (e *Engine) addMissingJobs(ctx context.Context, tx pgx.Tx, k job.Kind) error {
	rows, err := tx.Query(ctx, jobless(k)+" LIMIT 500 FOR NO KEY UPDATE OF t SKIP LOCKED")
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, id := range ids {
		var added int64
		queue := "(SELECT " + k.QueueOf(false) + " FROM " + k.Table + " t WHERE t.id = $1::uuid)"
		if err := tx.QueryRow(ctx, e.cfg.Queue.Insert(k, "$1", queue), id).Scan(&added); err != nil {
			return fmt.Errorf("add a job %s: %w", k.Name, err)
		}
		if _, err := tx.Exec(ctx, "UPDATE "+k.Table+" SET job_id = $2 WHERE id = $1", id, added); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		e.log.InfoContext(ctx, "added missing jobs", "table", k.Table, "ids", ids)
	}
	return nil
}
