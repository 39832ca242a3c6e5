package store

import (
	"context"
	"strconv"
)

// A horizon is a transaction id: no transaction below it that can write events to this database is running. The events
// of transactions below the horizon are complete.
//
// The oldest running transaction of a snapshot (pg_snapshot_xmin) is a horizon, too. But PostgreSQL counts the
// transactions of all databases of the server there, so that a COPY into another database stops the feed until it ends.
type horizon uint64

func (h horizon) String() string { return strconv.FormatUint(uint64(h), 10) }

// horizons are two horizons of the same moment.
type horizons struct {
	server   horizon // of a snapshot: transactions of all databases count
	database horizon // only transactions of this database count; at least server
}

// readHorizons computes the horizons. Events below them MUST be read in a later statement: its snapshot sees everything
// that has ended before. q MUST NOT be a transaction, because pg_stat_activity does not change within one.
//
// The query reads its snapshot first and the running transactions afterwards. A transaction that is older than the
// snapshot and is not running afterwards has ended. Prepared transactions do not count; Gybe has none.
func readHorizons(ctx context.Context, q querier) (horizons, error) {
	type row struct {
		Xmin    string   `db:"xmin"`
		Xmax    string   `db:"xmax"`
		Running []string `db:"running"`
	}
	r, err := one[row](q.Query(ctx, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin, pg_snapshot_xmax(pg_current_snapshot())::text AS xmax,
		ARRAY(SELECT backend_xid::text FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL) AS running`))
	if err != nil {
		return horizons{}, fault("read the running transactions", err)
	}
	xmin, err := strconv.ParseUint(r.Xmin, 10, 64)
	if err != nil {
		return horizons{}, fault("read the running transactions", err)
	}
	xmax, err := strconv.ParseUint(r.Xmax, 10, 64)
	if err != nil {
		return horizons{}, fault("read the running transactions", err)
	}

	oldest := xmax
	for _, text := range r.Running {
		short, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return horizons{}, fault("read the running transactions", err)
		}
		oldest = min(oldest, fullXID(short, xmax))
	}
	return horizons{server: horizon(xmin), database: horizon(max(oldest, xmin))}, nil
}

// fullXID completes a transaction id of 32 bits to the one of 64 bits that is closest to near.
func fullXID(short, near uint64) uint64 {
	const wrap = 1 << 32
	full := near&^(wrap-1) | short
	switch {
	case full > near+wrap/2 && full >= wrap:
		return full - wrap
	case full+wrap/2 < near:
		return full + wrap
	}
	return full
}

// holder is the oldest transaction of this database that is running.
type holder struct {
	PID         int32  `db:"pid"`
	User        string `db:"usename"`
	Application string `db:"application_name"`
	Seconds     int    `db:"seconds"`
}

// oldestTransaction finds what holds the horizon of this database up; pgx.ErrNoRows when nothing does.
func oldestTransaction(ctx context.Context, q querier) (holder, error) {
	return one[holder](q.Query(ctx, `SELECT pid, coalesce(usename, '') AS usename, coalesce(application_name, '') AS application_name,
			coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0)::integer AS seconds
		FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL ORDER BY age(backend_xid) DESC LIMIT 1`))
}
