package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/gybe-nfv/gybe/pkg/job"
)

const (
	jobTimeout  = 60 * time.Second // of kinds that name none
	rescueAfter = 90 * time.Second // second net: a job that ignored its timeout
)

// args are the arguments of a job: the id of its row. Uniqueness is not River's business: see the package comment.
type args struct {
	kind job.Kind
	id   string
}

// Kind is the job kind's name in the database.
func (a args) Kind() string { return a.kind.Name }

// MarshalJSON writes the id under the name that its kind has for it.
func (a args) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]string{a.kind.Arg: a.id}) }

// UnmarshalJSON reads the only value.
func (a *args) UnmarshalJSON(raw []byte) error {
	var body map[string]string
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	for _, id := range body {
		a.id = id
	}
	return nil
}

// Queue adds jobs. It implements the store's Queue. The zero Queue is ready.
type Queue struct {
	mu      sync.Mutex
	engines []*Engine // of this process, which take jobs now
}

// Insert is the statement that adds a job to a queue, an SQL expression (job.Kind.QueueOf), for the row whose id is the
// argument with that place, and that returns the job's id. It MUST run in the transaction that writes this id into the
// row's job_id. Call Added when that is committed.
//
// River's own INSERT takes arrays of jobs and returns whole rows: it was the most expensive statement of an admission.
// A test compares the rows of both.
func (*Queue) Insert(kind job.Kind, place, queue string) string {
	return fmt.Sprintf(`INSERT INTO river_job (args, kind, max_attempts, queue, state) VALUES (jsonb_build_object('%s', %s::text), '%s', %d, %s, 'available')
		RETURNING id`, kind.Arg, place, kind.Name, math.MaxInt16, queue)
}

// Move is the statement that puts the job of the row whose id is the argument with that place into the queue of its
// share. One that runs counts for its former share until it is given back.
func (*Queue) Move(kind job.Kind, place string) string {
	return fmt.Sprintf(`UPDATE river_job j SET queue = split_part(j.queue, '/', 1) || '/' || %s FROM %s t
		WHERE t.id = %s AND j.id = t.job_id`, kind.Share, kind.Table, place)
}

// Added makes this node look for jobs of a kind now. The other nodes look a few times a second.
func (q *Queue) Added(kind job.Kind) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.engines {
		e.listener.wake(kind.Queue)
		if kind.Urgent != "" {
			e.listener.wake(kind.Urgent)
		}
	}
}

// attach lets jobs that are added here wake an engine, until detach is called.
func (q *Queue) attach(e *Engine) (detach func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.engines = append(q.engines, e)
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.engines = slices.DeleteFunc(q.engines, func(other *Engine) bool { return other == e })
	}
}

// fetchCooldown is short: with River's default a job waits up to a second when many are added at once.
const fetchCooldown = 10 * time.Millisecond

// startRiver starts to take jobs. stop cancels what runs and waits until its outcome is stored.
func (e *Engine) startRiver(ctx context.Context) (stop func(context.Context) error, err error) {
	workers := river.NewWorkers()
	queues := map[string]river.QueueConfig{}
	for _, k := range e.cfg.Kinds {
		river.AddWorkerArgs(workers, args{kind: k.Kind}, &worker{engine: e, kind: k})
		for _, name := range []string{k.Queue, k.Urgent} {
			if name == "" {
				continue
			}
			q := queues[name]
			q.MaxWorkers += k.Workers
			queues[name] = q
		}
	}
	client, err := river.NewClient(localDriver{riverpgxv5.New(e.cfg.Pool), e}, &river.Config{
		ID: e.id, Logger: quiet(e.log), Workers: workers, Queues: queues,
		FetchCooldown: fetchCooldown, FetchPollInterval: e.cfg.Poll, FetchOnlyKnownKinds: true,
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

// worker runs the jobs of a kind.
type worker struct {
	river.WorkerDefaults[args]
	engine *Engine
	kind   Kind
}

// Work runs a job if it is the one that may work on its row.
func (w *worker) Work(ctx context.Context, j *river.Job[args]) error {
	return w.engine.work(ctx, j.JobRow, w.kind, j.Args.id)
}

// Timeout bounds one run.
func (w *worker) Timeout(*river.Job[args]) time.Duration { return w.kind.Timeout }

// NextRetry paces the repetition of jobs that failed.
func (w *worker) NextRetry(j *river.Job[args]) time.Time { return w.engine.nextRetry(j.Attempt) }

// work runs a job if the node is registered and the row names it.
func (e *Engine) work(ctx context.Context, row *rivertype.JobRow, kind Kind, id string) error {
	defer e.shares.free(row.ID)
	tick, end, ok := e.begin(ctx, row.ID)
	defer end()
	if !ok {
		return river.JobSnooze(e.cfg.Heartbeat)
	}
	var mine bool
	err := e.cfg.Pool.QueryRow(tick, "SELECT job_id IS NOT DISTINCT FROM $2 FROM "+kind.Table+" WHERE id = $1", id,
		row.ID).Scan(&mine)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && !mine:
		return nil // the row is gone, or another job has taken over
	case err != nil && tick.Err() == nil:
		return fmt.Errorf("look up job %d: %w", row.ID, err)
	case err != nil:
		return river.JobSnooze(0)
	}
	after, again, err := kind.Run(tick, id)
	switch {
	case (err != nil || again) && tick.Err() != nil: // we stop or were cut off: another node goes on
		return river.JobSnooze(0)
	case err != nil:
		return err
	case again:
		return river.JobSnooze(max(after, 0))
	}
	return nil
}

// WakeShare makes the jobs of a VIM due that wait for a later time.
func (e *Engine) WakeShare(ctx context.Context, kind job.Kind, vim string) error {
	_, err := e.cfg.Pool.Exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = now()
		WHERE id IN (SELECT id FROM river_job WHERE state IN ('available', 'scheduled') AND scheduled_at > now()
			AND split_part(queue, '/', 1) IN ($1, $2) AND split_part(queue, '/', 2) = $3 FOR UPDATE SKIP LOCKED)`,
		kind.Queue, kind.Urgent, vim)
	if err != nil {
		return fmt.Errorf("wake the jobs of a VIM: %w", err)
	}
	e.cfg.Queue.Added(kind)
	return nil
}

// nextRetry spreads retries between a quarter of a second and four seconds. Below River's scheduler interval of five
// seconds a job needs no leader to come back.
func (e *Engine) nextRetry(attempt int) time.Time {
	d := min(250*time.Millisecond<<min(max(attempt-1, 0), 6), 4*time.Second)
	return e.clock.Now().Add(d + rand.N(d/4)) //nolint:gosec // jitter
}

// stuck is called for a tick that ignores its cancelled context. Another tick gets its place; the tick is fenced.
func (e *Engine) stuck(ctx context.Context, p river.JobStuckHandlerParams) river.JobStuckHandlerResult {
	e.log.ErrorContext(
		ctx, "job does not end although its time is over", "job", p.ID, "kind", p.Kind, "stuck_jobs", p.TotalStuckJobs,
	)
	return river.JobStuckHandlerResult{AddWorkerSlot: true}
}

// errorHandler logs what River retries.
type errorHandler struct{ log *slog.Logger }

// HandleError implements river.ErrorHandler.
func (h *errorHandler) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	h.log.WarnContext(ctx, "job failed and is tried again", "job", job.ID, "kind", job.Kind, "args",
		string(job.EncodedArgs), "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (h *errorHandler) HandlePanic(
	ctx context.Context, job *rivertype.JobRow, v any, trace string,
) *river.ErrorHandlerResult {
	h.log.ErrorContext(ctx, "job panicked and is tried again", "job", job.ID, "kind", job.Kind, "args",
		string(job.EncodedArgs), "panic", v, "stack", trace)
	return nil
}

// removeJobs deletes running jobs whose last node is none of the living, and lets go of the leadership of the dead.
// Deleting instead of releasing them means that a former owner that is not quite dead cannot complete a job that
// another works on.
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

// jobless selects the rows of a kind that must have a job and do not have one. The condition is a subquery for each
// row, because PostgreSQL makes a join with all jobs of NOT EXISTS, also with the many that are done.
func jobless(k job.Kind) string {
	return "SELECT t.id::text FROM " + k.Table + " t WHERE " + k.Due + ` AND (SELECT j.state IN ('available', 'pending', 'running', 'retryable', 'scheduled')
		FROM river_job j WHERE j.id = t.job_id) IS NOT TRUE`
}

// OpenJobs counts the jobs of all nodes that are not done, by state.
func OpenJobs(ctx context.Context, pool *pgxpool.Pool) (map[string]float64, error) {
	rows, err := pool.Query(ctx, `SELECT state::text, count(*)::float8 FROM river_job
		WHERE state IN ('available', 'retryable', 'running', 'scheduled', 'discarded') GROUP BY state`)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	out := map[string]float64{}
	var state string
	var n float64
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { out[state] = n; return nil })
	return out, err
}
