package engine

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
)

// Jobs of operations are in one queue for each VIM and project, named "default/<VIM>/<project>". River's client knows
// the first part only. When it fetches jobs, the queues that have some are listed, with one look into the index for
// each, and jobs are taken from those whose VIM and project have room. So the jobs that wait for a place cost nothing,
// however many there are (docs/adr/029).

// selecting is River's executor with our own choice of jobs.
type selecting struct {
	riverdriver.Executor
	engine *Engine
}

// queuesAtOnce bounds the queues from which one fetch takes jobs. The next fetch follows immediately.
const queuesAtOnce = 32

// JobGetAvailable implements riverdriver.Executor.
func (s selecting) JobGetAvailable(
	ctx context.Context, p *riverdriver.JobGetAvailableParams,
) (*riverdriver.JobGetAvailableResult, error) {
	e := s.engine
	due, next, err := e.dueQueues(ctx, p.Queue)
	if err != nil {
		return nil, err
	}
	all := &riverdriver.JobGetAvailableResult{}
	portions := e.shares.choose(due, p.MaxToLock)
	more := len(portions) > queuesAtOnce
	if more {
		portions = portions[:queuesAtOnce]
	}
	left := p.MaxToLock
	for n, of := range portions {
		own := *p
		own.Queue = of.queue
		own.MaxToLock = e.shares.limit(of.queue, max(left/(len(portions)-n), 1))
		if left <= 0 {
			more = true
			break
		}
		if own.MaxToLock == 0 {
			continue
		}
		got, err := s.fetch(ctx, &own)
		if err != nil {
			if len(all.Jobs) == 0 {
				return nil, err
			}
			break // those that were fetched are ours
		}
		left -= len(got.Jobs)
		more = more || len(got.Jobs) == own.MaxToLock
		all.Jobs = append(all.Jobs, got.Jobs...)
		for id, err := range got.DecodeErrors {
			if all.DecodeErrors == nil {
				all.DecodeErrors = map[int64]error{}
			}
			all.DecodeErrors[id] = err
		}
	}
	switch {
	case more && left > 0:
		next = 0
	case len(all.Jobs) > 0:
		next = min(next, e.cfg.Poll/busier)
	}
	e.looks.plan(p.Queue, next)
	return all, nil
}

// busier is how much more often a node looks for jobs that others have added, while it finds some.
const busier = 5

// fetch takes jobs from one queue, and counts them.
func (s selecting) fetch(
	ctx context.Context, p *riverdriver.JobGetAvailableParams,
) (*riverdriver.JobGetAvailableResult, error) {
	got, err := s.Executor.JobGetAvailable(ctx, p)
	if err != nil || len(got.Jobs) == 0 {
		return got, err
	}
	ids := make([]int64, len(got.Jobs))
	for n, j := range got.Jobs {
		ids[n] = j.ID
	}
	s.engine.shares.take(p.Queue, ids)
	return got, nil
}

// listQueues lists the queues of a base that have jobs, with the seconds until the first is due. Each step of the
// recursion is one look into the index of jobs (state, queue, priority, scheduled_at, id).
const listQueues = `WITH RECURSIVE q AS (
		(SELECT queue FROM river_job WHERE state = 'available' ORDER BY queue LIMIT 1)
		UNION ALL
		SELECT (SELECT j.queue FROM river_job j WHERE j.state = 'available' AND j.queue > q.queue ORDER BY j.queue LIMIT 1)
		FROM q WHERE q.queue IS NOT NULL
	)
	SELECT q.queue, extract(epoch FROM h.scheduled_at - now())::float8 FROM q,
		LATERAL (SELECT scheduled_at FROM river_job j WHERE j.state = 'available' AND j.queue = q.queue
			ORDER BY j.priority, j.scheduled_at LIMIT 1) h
	WHERE split_part(q.queue, '/', 1) = $1 ORDER BY 2`

// dueQueues lists the queues of a base that have a job to run now, the one that is due longest first, and the time
// until one of the others has one.
func (e *Engine) dueQueues(ctx context.Context, base string) (due []string, next time.Duration, err error) {
	next = e.cfg.Poll
	rows, err := e.cfg.Pool.Query(ctx, listQueues, base)
	if err != nil {
		return nil, next, err
	}
	var queue string
	var seconds float64
	_, err = pgx.ForEachRow(rows, []any{&queue, &seconds}, func() error {
		if seconds <= 0 {
			due = append(due, queue)
		} else {
			next = min(next, time.Duration(seconds*float64(time.Second))+time.Millisecond)
		}
		return nil
	})
	return due, next, err
}

// looks are the next looks for jobs, by base queue.
type looks struct {
	wake func(queue string)

	mu     sync.Mutex
	timers map[string]*time.Timer
	closed bool
}

// plan looks for jobs of a base queue after a time, instead of when it was planned before.
func (l *looks) plan(base string, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if t := l.timers[base]; t != nil {
		t.Reset(after)
		return
	}
	l.timers[base] = time.AfterFunc(after, func() { l.wake(base) })
}

// stop ends all looks.
func (l *looks) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, t := range l.timers {
		t.Stop()
	}
}
