//go:build unix

package devpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gybe-nfv/gybe/migrations"
)

// New gives a test a pool on its own fresh, migrated database. Both are gone when the test ends.
func New(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	return Pool(tb, TestURL(tb))
}

// Pool gives a test a pool on any database, closed when the test ends.
func Pool(tb testing.TB, dbURL string) *pgxpool.Pool {
	tb.Helper()
	cfg, err := pgxpool.ParseConfig(dbURL)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan" // as in pkg/app
	cfg.ConnConfig.RuntimeParams["jit"] = "off"
	pool, err := pgxpool.NewWithConfig(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// TestURL gives a test the URL of its own fresh, migrated database, dropped when the test ends.
func TestURL(tb testing.TB) string {
	tb.Helper()
	template, err := templateOnce()
	if err != nil {
		tb.Fatal(err)
	}
	// Copied as files, the database is made with less work than page by page through the log.
	return database(tb, " TEMPLATE "+template+" STRATEGY FILE_COPY")
}

// EmptyURL gives a test the URL of its own empty database, dropped when the test ends.
func EmptyURL(tb testing.TB) string {
	tb.Helper()
	return database(tb, "")
}

func database(tb testing.TB, clause string) string {
	tb.Helper()
	root, err := serverURL()
	if err != nil {
		tb.Fatal(err)
	}
	name := "gybe_test_" + strings.ToLower(rand.Text())
	if err := exec1(tb.Context(), root, "CREATE DATABASE "+name+clause); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := exec1(
			context.WithoutCancel(tb.Context()), root, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)",
		); err != nil {
			tb.Error(err)
		}
	})
	return withName(root, name)
}

func serverURL() (string, error) {
	if u := os.Getenv(EnvURL); u != "" {
		return u, nil
	}
	return sharedURL()
}

// templateOnce makes the migrated database that New copies; other test binaries find it by the migrations' hash.
var templateOnce = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	root, err := serverURL()
	if err != nil {
		return "", err
	}
	name := "gybe_template_" + migrations.Hash()[:12]
	conn, err := pgx.Connect(ctx, root)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		return "", err
	}
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)",
		name).Scan(&there); err != nil ||
		there {
		return name, err
	}
	// Made under another name first: a template that exists is complete.
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + name + "_new WITH (FORCE)", "CREATE DATABASE " + name + "_new",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	if err := migrate(ctx, withName(root, name+"_new")); err != nil {
		return "", fmt.Errorf("migrate the template: %w", err)
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+name+"_new RENAME TO "+name)
	return name, err
})

func migrate(ctx context.Context, dbURL string) error {
	pool, err := pgxpool.New(ctx, dbURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	return migrations.Up(ctx, pool)
}

// exec1 runs one statement on its own connection. It retries while another connection uses the template.
func exec1(ctx context.Context, dbURL, sql string) error {
	conn, err := pgx.Connect(ctx, dbURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for range 20 {
		_, err = conn.Exec(ctx, sql)
		if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "55006" {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func withName(dbURL, name string) string {
	u, err := url.Parse(dbURL)
	if err != nil {
		return dbURL
	}
	u.Path = "/" + name
	return u.String()
}
