package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gybe-nfv/gybe/pkg/config"
)

// defaultConns is the size of the pool when the configuration says none: four connections for each CPU, between 8 and
// 20. Ticks and requests hold a connection for milliseconds only. Each connection parses and plans every statement
// again, so more of them than the CPUs keep busy cost PostgreSQL CPU (ADR 027), and it allows 100 in all by default.
func defaultConns() int32 { return int32(min(max(8, 4*runtime.GOMAXPROCS(0)), 20)) }

// By default PostgreSQL plans each statement five times on each connection before it keeps a plan. Gybe's plans do not
// depend on arguments (the store writes states and limits of lists into the statement), so they are kept from the first
// call. That matters for nodes that have just started: a tick takes longer to plan than to run.

// patience is how long a start waits for a database that is not there: it may be starting, too.
const patience = time.Minute

// connect opens the connection pool.
func connect(ctx context.Context, cfg config.Config, log *slog.Logger) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(cfg.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("database_url: %w", err) // pgx leaves the password out
	}
	pc.MaxConns = defaultConns()
	if n := cfg.Database.MaxConns; n > 0 {
		pc.MaxConns = int32(n) // validated
	}
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.HealthCheckPeriod = 15 * time.Second
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if pc.ConnConfig.RuntimeParams["application_name"] == "" {
		pc.ConnConfig.RuntimeParams["application_name"] = "gybe"
	}
	if pc.ConnConfig.RuntimeParams["plan_cache_mode"] == "" {
		pc.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	}
	if pc.ConnConfig.RuntimeParams["jit"] == "" {
		pc.ConnConfig.RuntimeParams["jit"] = "off" // it takes a second for some plans, which run for a millisecond
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("database_url: %w", err)
	}
	if err := await(ctx, pool, log); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// await waits until the database answers. What waiting cannot cure is returned at once.
func await(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	began := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := pool.Ping(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case hopeless(err) || time.Since(began) > patience:
			return fmt.Errorf("connect to the database: %w", err)
		}
		log.WarnContext(ctx, "database does not answer; trying again", "error", err)
		if !sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}

// hopeless says that the server answered and refuses for good: wrong password, no such user or database.
func hopeless(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch pe.Code[:2] {
	case "28", "3D", "3F", "42":
		return true
	}
	return false
}
