package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Feed gives the events of all nodes to any number of followers in this process, over one connection that listens.
// A follower pulls: who is slow, or comes back with an old cursor, reads what the feed no longer holds in memory from the
// database. Nothing is ever left out or repeated.
type Feed struct {
	store *Store

	mu     sync.Mutex
	ready  bool
	floor  Cursor  // ring holds every event after floor
	ring   []Event // newest last
	wakeup chan struct{}
}

const (
	ringSize  = 4096
	safetyNet = time.Second // how often the feed looks without being notified
)

// NewFeed makes the feed of a store; Run drives it.
func NewFeed(s *Store) *Feed {
	return &Feed{store: s, wakeup: make(chan struct{})}
}

// Run keeps the feed up to date until ctx ends. It reconnects for ever; followers wait meanwhile.
func (f *Feed) Run(ctx context.Context) {
	const slowest = 2 * time.Second
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, slowest) {
		began := time.Now()
		err := f.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		f.store.log.WarnContext(ctx, "event feed lost its connection", "error", err)
		if time.Since(began) > slowest {
			pause = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// listen follows the database on one connection until it breaks.
func (f *Feed) listen(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, f.store.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN gybe_event"); err != nil {
		return err
	}
	if err := f.begin(ctx, conn); err != nil {
		return err
	}
	const quick = 5 * time.Millisecond
	wait := quick
	for {
		events, held, err := f.store.events(ctx, conn, EventQuery{After: f.position()})
		if err != nil {
			return err
		}
		f.publish(events)
		switch {
		case len(events) == maxEvents:
			continue
		case len(events) > 0 || !held:
			wait = quick
		default:
			wait = min(2*wait, 200*time.Millisecond)
		}
		limit := safetyNet
		if held { // a transaction that runs longer will not notify us when it ends without an event
			limit = wait
		}
		if err := f.notified(ctx, conn, limit, held); err != nil {
			return err
		}
	}
}

// notified waits for a notification, or until limit has passed. paced says that notifications must not cut the wait short.
func (f *Feed) notified(ctx context.Context, conn *pgx.Conn, limit time.Duration, paced bool) error {
	if paced {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(limit):
			return nil
		}
	}
	waitCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := conn.WaitForNotification(waitCtx)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// begin finds the end of the feed at the first connection; later ones go on where the last one stopped.
func (f *Feed) begin(ctx context.Context, conn *pgx.Conn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ready {
		return nil
	}
	var err error
	if f.floor, err = f.store.lastEvent(ctx, conn); err != nil {
		return err
	}
	f.ready = true
	f.wake()
	return nil
}

// position is the cursor of the newest event that the feed has.
func (f *Feed) position() Cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last()
}

func (f *Feed) last() Cursor {
	if len(f.ring) == 0 {
		return f.floor
	}
	return f.ring[len(f.ring)-1].Cursor
}

func (f *Feed) publish(events []Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ring = append(f.ring, events...)
	if over := len(f.ring) - ringSize; over > ringSize/4 { // not at every event
		f.floor = f.ring[over-1].Cursor
		f.ring = slices.Clone(f.ring[over:])
	}
	f.wake()
}

// wake lets all followers look again; the caller holds mu.
func (f *Feed) wake() {
	close(f.wakeup)
	f.wakeup = make(chan struct{})
}

// FeedQuery says what a follower wants to see. Empty fields do not restrict.
type FeedQuery struct {
	After      *Cursor // the last event seen; nil = only what comes from now on
	InstanceID string
	OpID       string
	PackageID  string
	Kinds      []string
}

func (q *FeedQuery) wants(e *Event) bool {
	return (q.InstanceID == "" || e.InstanceID == q.InstanceID) && (q.OpID == "" || e.OpID == q.OpID) &&
		(q.PackageID == "" || e.PackageID == q.PackageID) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind))
}

// Follower is one reader of the feed; it is not safe for concurrent use. It needs no closing.
type Follower struct {
	feed   *Feed
	query  FeedQuery
	cursor Cursor
	placed bool
}

// Follow begins to follow. With query.After nil the follower sees what happens after this call, or after the feed's
// first connection if that comes later.
func (f *Feed) Follow(query FeedQuery) *Follower {
	w := &Follower{feed: f, query: query}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case query.After != nil:
		w.cursor, w.placed = *query.After, true
	case f.ready:
		w.cursor, w.placed = f.last(), true
	}
	return w
}

// Next returns the next events that the query wants, at least one, in order. It waits for them until ctx ends. After
// any other error (CodeUnavailable) Next may be called again and goes on without a gap.
func (w *Follower) Next(ctx context.Context) ([]Event, error) {
	for {
		events, old, more := w.fromRing()
		if old {
			var err error
			if events, err = w.fromDatabase(ctx); err != nil {
				return nil, err
			}
		}
		if len(events) > 0 {
			return events, nil
		}
		if old {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-more:
		}
	}
}

// Cursor is how far the follower has come, also over events that it did not want.
func (w *Follower) Cursor() Cursor { return w.cursor }

// fromRing takes what the feed holds in memory. old says that the follower is behind that; more is closed at the next change.
func (w *Follower) fromRing() (events []Event, old bool, more <-chan struct{}) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ready {
		return nil, false, f.wakeup
	}
	if !w.placed {
		w.cursor, w.placed = f.last(), true
	}
	if f.floor.After(w.cursor) {
		return nil, true, nil
	}
	from, _ := slices.BinarySearchFunc(f.ring, w.cursor, func(e Event, c Cursor) int {
		if e.Cursor.After(c) {
			return 1
		}
		return -1
	})
	for i := from; i < len(f.ring); i++ {
		if w.query.wants(&f.ring[i]) {
			events = append(events, f.ring[i])
		}
	}
	if from < len(f.ring) {
		w.cursor = f.ring[len(f.ring)-1].Cursor
	}
	return events, false, f.wakeup
}

// fromDatabase reads one page of what is older than the ring.
func (w *Follower) fromDatabase(ctx context.Context) ([]Event, error) {
	floor := w.feed.ringFloor() // before the read, which therefore sees everything up to it
	const page = 500
	events, _, err := w.feed.store.events(ctx, w.feed.store.pool, EventQuery{After: w.cursor, Limit: page, OpID: w.query.OpID})
	if err != nil {
		return nil, err
	}
	if len(events) > 0 {
		w.cursor = events[len(events)-1].Cursor
	}
	if len(events) < page && floor.After(w.cursor) {
		w.cursor = floor
	}
	return slices.DeleteFunc(events, func(e Event) bool { return !w.query.wants(&e) }), nil
}

func (f *Feed) ringFloor() Cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.floor
}
