package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

// The queues. Onboarding reads and hashes whole archives and must not take the places of ticks.
const (
	queueAdvance = river.QueueDefault
	queueOnboard = "onboard"
)

const (
	jobTimeout     = 60 * time.Second // of a tick, which ends itself well before
	rescueAfter    = 90 * time.Second // second net: a tick that ignored its timeout
	onboardTimeout = 30 * time.Minute
	maxOnboards    = 4
)

// advanceArgs is a tick of an operation. Uniqueness is not River's business: see the package comment.
type advanceArgs struct {
	OpID string `json:"op_id"`
}

// Kind is the job kind's name in the database.
func (advanceArgs) Kind() string { return "lcm.advance" }

// onboardArgs is the onboarding of a package's content.
type onboardArgs struct {
	PackageID string `json:"package_id"`
}

// Kind is the job kind's name in the database.
func (onboardArgs) Kind() string { return "vnfpkg.onboard" }

// Queue adds jobs. It implements the store's Enqueuer.
type Queue struct{ client *river.Client[pgx.Tx] }

// NewQueue makes a queue that adds jobs for whatever node.
func NewQueue(pool *pgxpool.Pool, log *slog.Logger) (*Queue, error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet(log), FetchCooldown: fetchCooldown})
	if err != nil {
		return nil, fmt.Errorf("make job queue: %w", err)
	}
	return &Queue{client}, nil
}

// EnqueueAdvance adds a tick of an operation. The caller MUST write the job's id into the operation's job_id in the
// same transaction.
func (q *Queue) EnqueueAdvance(ctx context.Context, tx pgx.Tx, opID string) (int64, error) {
	return q.insert(ctx, tx, advanceArgs{OpID: opID}, queueAdvance)
}

// EnqueueOnboard adds the onboarding of a package. The caller MUST write the job's id into the package's job_id in
// the same transaction.
func (q *Queue) EnqueueOnboard(ctx context.Context, tx pgx.Tx, packageID string) (int64, error) {
	return q.insert(ctx, tx, onboardArgs{PackageID: packageID}, queueOnboard)
}

func (q *Queue) insert(ctx context.Context, tx pgx.Tx, args river.JobArgs, queue string) (int64, error) {
	res, err := q.client.InsertTx(ctx, tx, args, &river.InsertOpts{Queue: queue, MaxAttempts: math.MaxInt16})
	if err != nil {
		return 0, fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	return res.Job.ID, nil
}

// With River's defaults a job waits up to a second when many are added at once.
const (
	fetchCooldown = 10 * time.Millisecond
	fetchPoll     = 200 * time.Millisecond
)

// startRiver starts to take jobs. stop cancels what runs and waits until its outcome is stored.
func (e *Engine) startRiver(ctx context.Context) (stop func(context.Context) error, err error) {
	workers := river.NewWorkers()
	queues := map[string]river.QueueConfig{queueAdvance: {MaxWorkers: e.cfg.MaxWorkers}}
	river.AddWorker(workers, &advanceWorker{engine: e})
	if e.cfg.Onboarder != nil {
		river.AddWorker(workers, &onboardWorker{engine: e})
		queues[queueOnboard] = river.QueueConfig{MaxWorkers: maxOnboards}
	}
	client, err := river.NewClient(riverpgxv5.New(e.cfg.Pool), &river.Config{
		ID: e.id, Logger: quiet(e.log), Workers: workers, Queues: queues,
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll, FetchOnlyKnownKinds: true,
		JobTimeout: jobTimeout, RescueStuckJobsAfter: rescueAfter,
		CompletedJobRetentionPeriod: time.Hour, DiscardedJobRetentionPeriod: 24 * time.Hour,
		ErrorHandler:    &errorHandler{e.log},
		JobStuckHandler: e.stuck,
		Test:            river.TestConfig{Time: e.clock}, // the only way to give River a clock
	})
	if err != nil {
		return nil, fmt.Errorf("make job client: %w", err)
	}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		// Not ctx: its end must cancel ticks through us, and not River's own writes.
		if err = client.Start(context.WithoutCancel(ctx)); err == nil {
			return client.StopAndCancel, nil
		}
		e.log.WarnContext(ctx, "job client does not start; trying again", "error", err)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// quiet drops River's own chatter: what matters is logged here.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeast{log.Handler(), slog.LevelWarn}).With("component", "river")
}

// atLeast is a slog.Handler with a raised level.
type atLeast struct {
	slog.Handler
	level slog.Level
}

// Enabled implements slog.Handler.
func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (h atLeast) WithAttrs(a []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(a), h.level}
}

// WithGroup implements slog.Handler.
func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}

// advanceWorker runs ticks.
type advanceWorker struct {
	river.WorkerDefaults[advanceArgs]
	engine *Engine
}

// Work runs one tick of an operation, if this job is the one that may.
func (w *advanceWorker) Work(ctx context.Context, job *river.Job[advanceArgs]) error {
	return w.engine.work(ctx, job.JobRow, "vnf_lcm_op_occ", job.Args.OpID, func(ctx context.Context) (time.Duration, bool, error) {
		return w.engine.cfg.Advancer.Advance(ctx, job.Args.OpID)
	})
}

// NextRetry paces the repetition of ticks that failed for the database's sake.
func (w *advanceWorker) NextRetry(job *river.Job[advanceArgs]) time.Time {
	return w.engine.nextRetry(job.Attempt)
}

// onboardWorker onboards packages.
type onboardWorker struct {
	river.WorkerDefaults[onboardArgs]
	engine *Engine
}

// Work onboards a package, if this job is the one that may.
func (w *onboardWorker) Work(ctx context.Context, job *river.Job[onboardArgs]) error {
	return w.engine.work(ctx, job.JobRow, "vnf_package", job.Args.PackageID, func(ctx context.Context) (time.Duration, bool, error) {
		err := w.engine.cfg.Onboarder.Onboard(ctx, job.Args.PackageID)
		return 0, ctx.Err() != nil && err != nil, err
	})
}

// Timeout is long: an archive can be of any size, and a dead node is noticed anyway.
func (w *onboardWorker) Timeout(*river.Job[onboardArgs]) time.Duration { return onboardTimeout }

// NextRetry paces the repetition.
func (w *onboardWorker) NextRetry(job *river.Job[onboardArgs]) time.Time {
	return w.engine.nextRetry(job.Attempt)
}

// work runs fn if the node is registered and the row names this job.
func (e *Engine) work(ctx context.Context, job *rivertype.JobRow, table, id string, fn func(context.Context) (time.Duration, bool, error)) error {
	tick, end, ok := e.begin(ctx, job.ID)
	defer end()
	if !ok {
		return river.JobSnooze(e.cfg.Heartbeat)
	}
	var mine bool
	err := e.cfg.Pool.QueryRow(tick, "SELECT job_id IS NOT DISTINCT FROM $2 FROM "+table+" WHERE id = $1", id, job.ID).Scan(&mine)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && !mine:
		return nil // the thing is gone, or another job has taken over
	case err != nil && tick.Err() == nil:
		return fmt.Errorf("look up job %d: %w", job.ID, err)
	case err != nil:
		return river.JobSnooze(0)
	}
	after, again, err := fn(tick)
	switch {
	case (err != nil || again) && tick.Err() != nil: // we stop or were cut off: somebody else goes on at once
		return river.JobSnooze(0)
	case err != nil:
		return err
	case again:
		return river.JobSnooze(max(after, 0))
	}
	return nil
}

// nextRetry spreads retries between a quarter of a second and four seconds. Below River's scheduler interval of five
// seconds a job needs no leader to come back.
func (e *Engine) nextRetry(attempt int) time.Time {
	d := min(250*time.Millisecond<<min(max(attempt-1, 0), 6), 4*time.Second)
	return e.clock.Now().Add(d + rand.N(d/4)) //nolint:gosec // jitter
}

// stuck is told of a tick that ignores its cancelled context. Its place is given to another; the tick is fenced.
func (e *Engine) stuck(ctx context.Context, p river.JobStuckHandlerParams) river.JobStuckHandlerResult {
	e.log.ErrorContext(ctx, "job does not end although its time is over", "job", p.ID, "kind", p.Kind, "stuck_jobs", p.TotalStuckJobs)
	return river.JobStuckHandlerResult{AddWorkerSlot: true}
}

// errorHandler logs what River retries.
type errorHandler struct{ log *slog.Logger }

// HandleError implements river.ErrorHandler.
func (h *errorHandler) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	h.log.WarnContext(ctx, "job failed and is tried again", "job", job.ID, "kind", job.Kind, "args", string(job.EncodedArgs), "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (h *errorHandler) HandlePanic(ctx context.Context, job *rivertype.JobRow, v any, trace string) *river.ErrorHandlerResult {
	h.log.ErrorContext(ctx, "job panicked and is tried again", "job", job.ID, "kind", job.Kind, "args", string(job.EncodedArgs), "panic", v, "stack", trace)
	return nil
}

// removeJobs deletes running jobs whose last node is none of the living, and lets go of the leadership of the dead. Deleting instead
// of releasing them means that a former owner that is not quite dead cannot complete a job that another works on.
func removeJobs(ctx context.Context, tx pgx.Tx) (int64, error) {
	tag, err := tx.Exec(ctx, `DELETE FROM river_job WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] NOT IN
		(SELECT id FROM node WHERE ended IS NULL)`)
	if err != nil {
		return 0, fmt.Errorf("remove jobs of dead nodes: %w", err)
	}
	_, err = tx.Exec(ctx, "DELETE FROM river_leader WHERE leader_id NOT IN (SELECT id FROM node WHERE ended IS NULL)")
	return tag.RowsAffected(), err
}

// ownJobs lists the jobs that the database says the node $1 runs.
const ownJobs = "SELECT id FROM river_job WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1"

// orphanedJobs says whether removeJobs has anything to do.
const orphanedJobs = `SELECT EXISTS (SELECT FROM river_job WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] NOT IN
	(SELECT id FROM node WHERE ended IS NULL))`

// removeOwn deletes jobs that this node does not run although the database says so; ids nil = all.
func (e *Engine) removeOwn(ctx context.Context, tx pgx.Tx, ids []int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM river_job WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1
		AND ($2::bigint[] IS NULL OR id = ANY($2))`, e.id, ids)
	return err
}

// working is a table whose rows have jobs.
type working struct {
	table string
	// jobless selects the rows that must have a job and do not.
	jobless string
	enqueue func(q *Queue, ctx context.Context, tx pgx.Tx, id string) (int64, error)
}

var workingTables = []working{
	{"vnf_lcm_op_occ", "SELECT t.id::text FROM vnf_lcm_op_occ t WHERE t.state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK')" + withoutJob, (*Queue).EnqueueAdvance},
	{"vnf_package", "SELECT t.id::text FROM vnf_package t WHERE t.onboarding_state = 'PROCESSING'" + withoutJob, (*Queue).EnqueueOnboard},
}

const withoutJob = ` AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = t.job_id
	AND j.state IN ('available', 'pending', 'running', 'retryable', 'scheduled'))`
