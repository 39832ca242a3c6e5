package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gybe-nfv/gybe/pkg/job"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Queue adds jobs of the engine.
type Queue interface {
	// Insert is the statement that adds a job to a queue (an SQL expression) for the row whose id is the argument with
	// that place, and that returns the job's id.
	Insert(kind job.Kind, place, queue string) string
	// Move is the statement that puts the job of such a row into the queue of its share, which has changed.
	Move(kind job.Kind, place string) string
	// Added is called when a transaction with new jobs of a kind has been committed.
	Added(kind job.Kind)
}

// The kinds of jobs of the store's tables.
var (
	// OperationJobs advance operations until they rest.
	OperationJobs = job.Kind{
		Name: "lcm.advance", Queue: "default", Urgent: "cancel", Arg: "op_id", Table: "vnf_lcm_op_occ",
		Due: "t.state IN " + running, Share: shareOf("t.vim_key", "t.project"),
	}
	// PackageJobs onboard packages. They read and hash whole archives and must not take the places of operations.
	PackageJobs = job.Kind{
		Name: "vnfpkg.onboard", Queue: "onboard", Arg: "package_id", Table: "vnf_package",
		Due: "t.onboarding_state = '" + string(sol.PackageOnboardingStateProcessing) + "'",
	}
	// DownloadJobs download the content of packages. They wait for other servers most of the time.
	DownloadJobs = job.Kind{
		Name: "vnfpkg.download", Queue: "download", Arg: "package_id", Table: "vnf_package",
		Due: "t.onboarding_state = '" + string(sol.PackageOnboardingStateUploading) + "' AND t.download IS NOT NULL",
	}
)

// shareOf is the SQL expression of a job's share. The names of projects are hashed, because the names of queues are
// short.
func shareOf(vim, project string) string { return vim + " || '/' || left(md5(" + project + "), 16)" }

// The states of operations as SQL lists.
var (
	running = sqlList(lcm.RunningStates)
	active  = sqlList(lcm.ActiveStates)
	final   = sqlList(lcm.FinalStates)
)

// sqlList makes the list of an IN operator. The values are constants of the program.
func sqlList[T ~string](values []T) string {
	quoted := make([]string, len(values))
	for n, v := range values {
		quoted[n] = "'" + string(v) + "'"
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	ring *secret.Ring
	jobs Queue
	log  *slog.Logger
	// admission inserts an operation with its job.
	admission func() string
	quotas    func(project string) lcm.ProjectQuota // nil is none
	counts    counts

	committed chan struct{} // holds a value when events were committed and not yet announced
	changed   chan struct{} // holds a value when something was committed, for Changed
}

// New makes the store of a migrated database. It fails when the ring cannot open what the database holds: then
// this node has another key file than the others.
func New(ctx context.Context, pool *pgxpool.Pool, ring *secret.Ring, jobs Queue, log *slog.Logger) (*Store, error) {
	s := &Store{pool: pool, ring: ring, jobs: jobs, log: log, admission: sync.OnceValue(func() string {
		return admission(jobs)
	}), committed: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	if err := s.CheckKeys(ctx); err != nil {
		return nil, err
	}
	if err := s.rebaseEvents(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// tries bounds how often a transaction that PostgreSQL gave up (deadlock, serialization) is run.
const tries = 4

// inTx runs fn in a transaction, again when PostgreSQL gave it up. fn MUST NOT have effects outside tx that hurt when
// repeated.
func (s *Store) inTx(ctx context.Context, what string, fn func(tx pgx.Tx) error) error {
	err := s.inQuietTx(ctx, what, fn)
	if err == nil {
		s.announce()
	}
	return err
}

// inQuietTx is inTx for a transaction without events.
func (s *Store) inQuietTx(ctx context.Context, what string, fn func(tx pgx.Tx) error) error {
	var err error
	for range tries {
		if err = pgx.BeginFunc(ctx, s.pool, fn); !givenUp(err) {
			break
		}
	}
	return fault(what, err)
}

// inTwoTrips is inTx for a transaction of two pipelines: one that locks and reads, and one that write makes of what was
// read, and which commits. write MUST NOT have effects outside the database that hurt when repeated.
func (s *Store) inTwoTrips(
	ctx context.Context, what string, read func(*pgx.Batch), write func(*pgx.Batch) error,
) error {
	err := s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) (err error) {
		for range tries {
			if err = twoTrips(ctx, c, read, write); !givenUp(err) {
				break
			}
		}
		return err
	})
	if err == nil {
		s.announce()
	}
	return fault(what, err)
}

func twoTrips(ctx context.Context, c *pgxpool.Conn, read func(*pgx.Batch), write func(*pgx.Batch) error) (err error) {
	defer func() {
		if err != nil && c.Conn().PgConn().TxStatus() != 'I' { // the pool closes the connection if this fails
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_, _ = c.Exec(end, "ROLLBACK")
		}
	}()
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	read(first)
	if err := c.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	second := &pgx.Batch{}
	if err := write(second); err != nil {
		return err
	}
	second.Queue("COMMIT")
	return c.SendBatch(ctx, second).Close()
}

// addJob adds a job for a row in a transaction; an urgent one has its own workers.
func (s *Store) addJob(ctx context.Context, tx pgx.Tx, kind job.Kind, id string, urgent bool) (int64, error) {
	queue := "(SELECT " + kind.QueueOf(urgent) + " FROM " + kind.Table + " t WHERE t.id = $1::uuid)"
	return value[int64](tx.Query(ctx, s.jobs.Insert(kind, "$1", queue), id))
}

// pipeline sends the statements that build queues in one round trip, as read does, and announces the events among them.
func (s *Store) pipeline(ctx context.Context, what string, build func(b *pgx.Batch)) error {
	err := s.read(ctx, what, build)
	if err == nil {
		s.announce()
	}
	return err
}

// read sends the statements that build queues in one round trip; they are one transaction. Results MUST be used only
// after it returned nil, as the commit may fail. build may be called again.
func (s *Store) read(ctx context.Context, what string, build func(b *pgx.Batch)) error {
	var err error
	for range tries {
		b := &pgx.Batch{}
		build(b)
		if err = s.pool.SendBatch(ctx, b).Close(); !givenUp(err) {
			break
		}
	}
	return fault(what, err)
}

// one collects the only row of a query into a struct by column names; pgx.ErrNoRows when there is none.
func one[T any](rows pgx.Rows, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// all collects the rows of a query into structs by column names.
func all[T any](rows pgx.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// known reports whether id can be the id of a row at all: a UUID in its usual form.
func known(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

// notFound is the answer to an id that nothing has.
func notFound(kind, id string) *lcm.Error {
	const longest = 64 // of what a client may have sent instead of an id
	if len(id) > longest {
		id = id[:longest] + "…"
	}
	return &lcm.Error{Code: lcm.CodeNotFound, Title: "Not found", Detail: fmt.Sprintf(
		"there is no %s with the id %q", kind, clean(id),
	)}
}

// orNotFound turns "no row" into CodeNotFound.
func orNotFound(err error, kind, id string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound(kind, id)
	}
	return err
}
