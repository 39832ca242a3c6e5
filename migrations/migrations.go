// Package migrations holds the database schema as ordered steps and applies them.
//
// A released step never changes; a change is a new file. Steps expand first (new column, both written), fill, and
// contract in a later release, so that running nodes of two neighbouring releases can share the database while an
// upgrade rolls through them. A node of the earlier release that restarts after the migration does not start
// (ErrNewer).
package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed *.sql
var files embed.FS

// riverVersion is the version of River's schema that step 1 makes. A newer River needs a new step of ours.
const riverVersion = 8

// ErrNewer says that the database was migrated by a newer release, whose schema this one does not know.
var ErrNewer = errors.New("the database schema is newer than this gybe")

// Up brings the database to the newest schema. Any number of nodes may call it at once: one works, the
// others wait. It is quick (two queries) when there is nothing to do. It needs two connections of the pool.
func Up(ctx context.Context, pool *pgxpool.Pool) error {
	at, head, err := Version(ctx, pool)
	if err != nil {
		return err
	}
	if at > head {
		return fmt.Errorf("%w: it is at version %d, this gybe knows %d; run the newer gybe", ErrNewer, at, head)
	}
	if at == head {
		complete, err := isComplete(ctx, pool)
		if err != nil || complete {
			return err
		}
	}
	p, done, err := provider(pool)
	if err != nil {
		return err
	}
	defer done()
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// Version returns the version that the database has (0 = empty) and the one that this gybe wants.
func Version(ctx context.Context, pool *pgxpool.Pool) (at, head int64, err error) {
	head, err = newest()
	if err != nil {
		return 0, 0, err
	}
	err = pool.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&at)
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "42P01" { // no such table
		return 0, head, nil
	}
	if err != nil {
		return 0, head, fmt.Errorf("read the schema version: %w", err)
	}
	return at, head, nil
}

// isComplete says that no step is missing below the newest.
func isComplete(ctx context.Context, pool *pgxpool.Pool) (complete bool, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return false, err
	}
	versions := []int64{1} // River's
	for _, n := range names {
		v, err := goose.NumericComponent(n)
		if err != nil {
			return false, err
		}
		versions = append(versions, v)
	}
	err = pool.QueryRow(ctx, `SELECT NOT EXISTS (
		SELECT unnest($1::bigint[]) EXCEPT SELECT version_id FROM goose_db_version WHERE is_applied)`, versions,
	).Scan(&complete)
	if err != nil {
		return false, fmt.Errorf("read the applied steps: %w", err)
	}
	return complete, nil
}

// newest is the greatest version of the embedded steps.
func newest() (int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, errors.Join(errors.New("no migrations embedded"), err)
	}
	return goose.NumericComponent(names[len(names)-1])
}

// Hash identifies the schema that Up makes; it changes with any change of a step.
func Hash() string {
	h := sha256.New()
	h.Write([]byte("river " + strconv.Itoa(riverVersion) + "\n"))
	names, _ := fs.Glob(files, "*.sql") // the pattern is constant and good
	for _, n := range names {
		raw, _ := files.ReadFile(n) // embedded, listed above
		h.Write([]byte(n))
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func provider(pool *pgxpool.Pool) (*goose.Provider, func(), error) {
	db := stdlib.OpenDBFromPool(pool)
	done := func() { _ = db.Close() } // gives the connections back, the pool stays
	p, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(sessionLock{}),
		goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true), // steps of branches that were merged in another order
		goose.WithSlog(slog.New(slog.DiscardHandler)),
		goose.WithGoMigrations(goose.NewGoMigration(1, &goose.GoFunc{RunDB: river(pool)}, nil)),
	)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("prepare migrations: %w", err)
	}
	return p, done, nil
}

// river makes the schema of River. It runs outside a transaction because River's own steps are transactions each
// and are recorded, so that a repetition goes on where a predecessor died.
func river(pool *pgxpool.Pool) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, _ *sql.DB) error {
		m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion})
		return err
	}
}

// lockID is the advisory lock of migrating nodes, "gybe" in ASCII.
const lockID = 0x67796265

// sessionLock lets one node migrate. It polls instead of blocking in the server, because a blocked
// session's snapshot would hold up CREATE INDEX CONCURRENTLY.
type sessionLock struct{}

// SessionLock waits for the lock until ctx ends.
func (sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		var got bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", lockID).Scan(&got); err != nil || got {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another node that migrates the database: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// SessionUnlock gives the lock back.
func (sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lockID)
	return err
}
