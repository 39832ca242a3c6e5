package delivery

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Options tune a Runner.
type Options struct {
	// Patience is how long a notification is sent until it becomes a dead letter.
	Patience time.Duration
	// RetryBase and RetryMax bound the time between attempts. It doubles with every failure of the subscriber.
	RetryBase, RetryMax time.Duration
	// Subscribers is how many subscribers the node sends to at the same time. As many again may be slow or fail.
	Subscribers int
	// Concurrency is how many requests a subscriber gets at the same time.
	Concurrency int
}

const (
	// lease is how long another node waits for a node that has not been found dead.
	lease = 15 * time.Second
	// certain is how long a claim is known to be valid after the database has said so.
	certain = 2 * time.Second
	// turn is how long a subscriber keeps its place while others wait.
	turn = 10 * time.Second
	// slow is the time of an answer from which on a subscriber is slow.
	slow = time.Second
	// page is how many deliveries of a subscriber are in memory.
	page = 64
	// batch is how many messages are fanned out in one transaction.
	batch = 200
	// poll is the longest time between two looks, for messages of nodes that did not fan them out.
	poll = time.Second
	// pause is the shortest time between two looks.
	pause = 20 * time.Millisecond
)

// Observer measures deliveries.
type Observer interface {
	// Notification is called after an attempt: "delivered", "failed" or "rejected".
	Notification(api, outcome string, took time.Duration)
	// DeadLetters is called when deliveries become dead.
	DeadLetters(api string, n int64)
}

// Runner delivers on one node.
type Runner struct {
	Ledger notify.Ledger
	Sender notify.Sender
	APIs   map[string]*notify.API // by name
	// Node is the id of this run of the node, by which others find it dead.
	Node string
	// Hold is that of engine.Engine: it says when others may take the claims of this node. nil is never.
	Hold    func() (lost <-chan struct{}, release func(), ok bool)
	Link    func(path string) sol.Link
	Log     *slog.Logger
	Observe Observer
	Options Options
	// Changed has a value when there may be new messages; nil is never.
	Changed <-chan struct{}
}

// Run delivers until ctx ends. Requests that are running are cut off, and sent again later.
func (r *Runner) Run(ctx context.Context) error {
	var all sync.WaitGroup
	due := make(chan struct{}, 1)
	all.Go(func() { r.fanOutAll(ctx, due) })
	r.deliverAll(ctx, due, &all)
	all.Wait()
	return context.Cause(ctx)
}

// fanOutAll makes deliveries of new messages until ctx ends.
func (r *Runner) fanOutAll(ctx context.Context, due chan<- struct{}) {
	for ctx.Err() == nil {
		n, err := r.Ledger.FanOut(ctx, batch, r.Options.Patience)
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "notifications are not fanned out now", "error", err)
		}
		if n > 0 {
			wake(due)
		}
		if n < batch {
			wait(ctx, r.Changed, poll)
			wait(ctx, nil, pause)
		}
	}
}

// deliverAll claims subscribers that are due and serves them until ctx ends.
func (r *Runner) deliverAll(ctx context.Context, due chan struct{}, all *sync.WaitGroup) {
	places := [2]chan struct{}{ // for those that accept, and for the others
		make(chan struct{}, r.Options.Subscribers), make(chan struct{}, r.Options.Subscribers),
	}
	for ctx.Err() == nil {
		shortest := pause
		if _, err := r.Ledger.EndLeases(ctx); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "subscribers of dead nodes are not taken over now", "error", err)
		}
		for class, taken := range places {
			free := cap(taken) - len(taken)
			if free == 0 {
				shortest = poll // a place that becomes free ends the wait
				continue
			}
			_, err := r.serveDue(ctx, class == 1, free, func(serve func()) {
				taken <- struct{}{}
				all.Go(func() {
					defer func() {
						<-taken
						wake(due)
					}()
					serve()
				})
			})
			if err != nil && ctx.Err() == nil {
				r.Log.WarnContext(ctx, "notifications are not delivered now", "error", err)
			}
		}
		longest := poll
		if next, err := r.Ledger.NextDue(ctx, poll); err == nil {
			longest = max(next, shortest)
		}
		wait(ctx, due, longest)
		wait(ctx, nil, pause)
	}
}

// serveDue claims at most limit subscribers that are due, lets start run the work on each, and returns their number. A
// node that is not registered claims none.
func (r *Runner) serveDue(ctx context.Context, failing bool, limit int, start func(func())) (int, error) {
	var lost <-chan struct{}
	release := func() {}
	if r.Hold != nil {
		var ok bool
		if lost, release, ok = r.Hold(); !ok {
			return 0, nil
		}
	}
	claims, err := r.Ledger.ClaimSubscribers(ctx, r.Node, failing, limit, lease)
	var left atomic.Int64 // one more, for this call
	left.Store(int64(len(claims)) + 1)
	done := func() {
		if left.Add(-1) == 0 {
			release()
		}
	}
	defer done()
	for n := range claims {
		start(func() {
			defer done()
			r.serve(ctx, &claims[n], lost)
		})
	}
	return len(claims), err
}

// Once fans out and delivers everything that is due now, and returns when it is done.
func (r *Runner) Once(ctx context.Context) error {
	for {
		n, err := r.Ledger.FanOut(ctx, batch, r.Options.Patience)
		if err != nil {
			return err
		}
		var all sync.WaitGroup
		for _, failing := range []bool{false, true} {
			claimed, err := r.serveDue(ctx, failing, r.Options.Subscribers, all.Go)
			if err != nil {
				return err
			}
			n += claimed
		}
		all.Wait()
		if n == 0 {
			return nil
		}
	}
}

// wake gives a channel a value, unless it has one.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait waits for a channel, but not longer than d.
func wait(ctx context.Context, c <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-c:
	case <-t.C:
	}
}
