package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gybe-nfv/gybe/pkg/job"
)

// Kind is a kind of jobs that the engine runs.
type Kind struct {
	job.Kind
	// Run works on a row. again says that it is to be called again after that time. An error says that the outcome
	// could not be stored; Run is called again soon, also after the node has died.
	Run func(ctx context.Context, id string) (after time.Duration, again bool, err error)
	// Workers is how many jobs of the kind this node runs at a time.
	Workers int
	// Timeout bounds one call of Run; 0 is a minute.
	Timeout time.Duration
}

// Config says how a node works.
type Config struct {
	Pool  *pgxpool.Pool
	Queue *Queue
	Kinds []Kind // what this node runs; it leaves other jobs to other nodes
	Log   *slog.Logger

	// MaxPerVim and MaxPerProject limit the jobs of one VIM and of one project that this node runs at a time, in each
	// queue; 0 = no limit.
	MaxPerVim, MaxPerProject int

	// Name is the node's name as operations and users see it. Each run of it gets its own id, so that two processes
	// of one name do not disturb each other.
	Name    string
	Address string // where its API listens, for the list of nodes
	Version string

	Heartbeat   time.Duration // how often nodes look after each other; default 500 ms
	StopTimeout time.Duration // how long a stop waits for ticks to end; default 10 s
	// Poll is how often a node looks for jobs that others have added, five times as often while it finds some; default
	// 1 s.
	Poll time.Duration

	// FrozenAfter is the time without a heartbeat after which the others end a node's session; default 30 s. A stopped
	// process keeps its session, so its lock alone does not tell.
	FrozenAfter time.Duration
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Heartbeat, 500*time.Millisecond)
	def(&c.Poll, time.Second)
	def(&c.StopTimeout, 10*time.Second)
	def(&c.FrozenAfter, 30*time.Second)
	return c
}

// Engine is this process's part in the work of all nodes.
type Engine struct {
	cfg   Config
	id    string
	log   *slog.Logger
	clock *clock
	ready chan struct{}

	listener *localListener
	shares   *shares
	looks    *looks

	mu         sync.Mutex
	registered bool
	lost       chan struct{}                     // closed when the registration ends; nil without one
	stopping   bool                              // no more holds
	ticks      map[int64]context.CancelCauseFunc // by job id
	suspects   map[int64]time.Time               // jobs that the database says we run and we do not
	readyOnce  sync.Once
	holds      sync.WaitGroup
}

// New makes an engine. Run starts it.
func New(cfg Config) *Engine {
	cfg = cfg.withDefaults()
	id := cfg.Name + "-" + uuid.NewString()[:8]
	e := &Engine{
		cfg: cfg, id: id, log: cfg.Log.With("node", id), clock: &clock{}, ready: make(chan struct{}),
		listener: newLocalListener(), shares: newShares(cfg), ticks: map[int64]context.CancelCauseFunc{},
		suspects: map[int64]time.Time{},
	}
	e.shares.wake = e.listener.wake
	e.looks = &looks{wake: e.listener.wake, timers: map[string]*time.Timer{}}
	return e
}

// ID is the id of this run of the node.
func (e *Engine) ID() string { return e.id }

// Ready is closed when the node has registered and takes jobs.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Registered reports whether the node holds its lock now: when not, it does no work.
func (e *Engine) Registered() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.registered
}

// Busy is the number of ticks that run now.
func (e *Engine) Busy() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.ticks)
}

// errLost is the cancel cause of ticks whose node no longer holds its lock.
var errLost = errors.New("the node lost its database session")

// Run works until ctx ends, then cancels the ticks, gives their jobs back and returns. The error is nil after an
// orderly stop. The database may be unavailable in between.
func (e *Engine) Run(ctx context.Context) error {
	// The node must stay registered until its jobs are back.
	alive, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	var guard sync.WaitGroup
	guard.Go(func() { e.keepAlive(alive) })

	defer e.cfg.Queue.attach(e)()
	defer e.looks.stop()
	stop, err := e.startRiver(ctx)
	if err == nil {
		<-ctx.Done()
		e.cancelTicks(context.Cause(ctx))
		stopCtx, cancel := context.WithTimeout(alive, e.cfg.StopTimeout)
		err = stop(stopCtx)
		e.awaitHolds(stopCtx)
		cancel()
		if err != nil {
			err = fmt.Errorf("%d ticks did not end in time: %w", e.Busy(), err)
		}
	} else if ctx.Err() != nil {
		err = nil
	}
	die()
	guard.Wait()
	return err
}

// begin admits a tick; false when the node is not registered. end MUST be called when the tick is over.
func (e *Engine) begin(ctx context.Context, job int64) (tick context.Context, end func(), ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.registered {
		return ctx, func() {}, false
	}
	tick, cancel := context.WithCancelCause(ctx)
	e.ticks[job] = cancel
	return tick, func() {
		cancel(nil)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.ticks, job)
	}, true
}

// Hold is for work that is no job: others take it over as soon as this node is not registered any more. lost is closed
// then. An orderly stop waits for release, which MUST be called, until StopTimeout. ok is false while the node is not
// registered or stops.
func (e *Engine) Hold() (lost <-chan struct{}, release func(), ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.registered || e.stopping {
		return nil, nil, false
	}
	e.holds.Add(1)
	return e.lost, e.holds.Done, true
}

// awaitHolds lets no more work begin and waits for that which holds the registration.
func (e *Engine) awaitHolds(ctx context.Context) {
	e.mu.Lock()
	e.stopping = true
	e.mu.Unlock()
	released := make(chan struct{})
	go func() {
		e.holds.Wait()
		close(released)
	}()
	select {
	case <-released:
	case <-ctx.Done():
	}
}

func (e *Engine) setRegistered(on bool) {
	e.mu.Lock()
	if on && !e.registered {
		e.lost = make(chan struct{})
	}
	if !on && e.registered {
		close(e.lost)
	}
	e.registered = on
	e.mu.Unlock()
	if on {
		e.readyOnce.Do(func() { close(e.ready) })
	}
}

func (e *Engine) cancelTicks(cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, cancel := range e.ticks {
		cancel(cause)
	}
}
