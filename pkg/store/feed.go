package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Feed gives the events of all nodes to any number of followers in this process, and notifies the feeds of all nodes of
// the events of this one. It reads over one connection that listens, and only while a client follows.
//
// A follower pulls: one that is slow, or comes back with an old cursor, reads older events from the database. No event
// is left out or repeated.
type Feed struct {
	// Linger is how long the feed goes on reading after its last follower; 0 is the default of 10 s.
	Linger time.Duration
	// SafetyNet is how often the feed looks without being notified; 0 is the default of 1 s.
	SafetyNet time.Duration

	store *Store

	mu        sync.Mutex
	ready     bool
	floor     Cursor  // ring holds every event after floor
	ring      []Event // newest last
	wakeup    chan struct{}
	waiting   int       // followers in Next
	lastAsked time.Time // when a follower was in Next
	wanted    chan struct{}
}

const (
	ringSize = 4096
	// shortestLook is the shortest time between two looks.
	shortestLook = 10 * time.Millisecond
	// heldLook is the longest time between two looks while events wait for an older transaction to end.
	heldLook = 200 * time.Millisecond
	// ownHorizon is how long events wait before the feed looks which databases the running transactions belong to.
	ownHorizon = 50 * time.Millisecond
	// heldWarning is how long events wait before the log says for which transaction.
	heldWarning = 10 * time.Second
)

// NewFeed makes the feed of a store; Run drives it.
func NewFeed(s *Store) *Feed {
	return &Feed{
		store: s, Linger: 10 * time.Second, SafetyNet: time.Second, wakeup: make(chan struct{}),
		wanted: make(chan struct{}, 1),
	}
}

// Run sends the notifications of this node, and keeps the feed up to date while a client follows it, until ctx ends. It
// reconnects for ever; followers wait until it succeeds.
func (f *Feed) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { f.sendAnnouncements(ctx) })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-f.wanted:
			f.reconnect(ctx, "event feed", f.listen)
		}
	}
	all.Wait()
}

// listen follows the database on one connection until it breaks. It returns nil when the feed is not followed any more.
func (f *Feed) listen(ctx context.Context) error {
	cfg := f.store.pool.Config().ConnConfig
	cfg.RuntimeParams["application_name"] = feedApplication
	conn, err := pgx.ConnectConfig(ctx, cfg)
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
	look := look{feed: f, conn: conn}
	for !f.rest() {
		pause, paced, err := look.once(ctx)
		if err != nil {
			return err
		}
		if err := notified(ctx, conn, pause, paced); err != nil {
			return err
		}
	}
	return nil
}

// feedApplication is the application_name of the connection that listens.
const feedApplication = "gybe event feed"

// look is what one connection knows about events that wait for older transactions.
type look struct {
	feed *Feed
	conn *pgx.Conn

	pause     time.Duration // between looks while events wait
	since     time.Time     // when the events that wait were first seen; zero when none waits
	own       bool          // take the horizon of this database
	nextWarns time.Time
}

// once reads new events and publishes them. It returns how long to wait for a notification, and whether one must not
// cut the wait short.
func (l *look) once(ctx context.Context) (pause time.Duration, paced bool, err error) {
	var below horizon
	if l.own {
		both, err := readHorizons(ctx, l.conn)
		if err != nil {
			return 0, false, err
		}
		below, l.own = both.database, both.database > both.server
	}
	events, held, err := l.feed.store.events(ctx, l.conn, EventQuery{After: l.feed.position()}, below)
	if err != nil {
		return 0, false, err
	}
	l.feed.publish(events)
	switch {
	case len(events) == maxEvents:
		return 0, true, nil
	case !held:
		l.since, l.pause = time.Time{}, 0
		return l.feed.SafetyNet, false, nil
	case len(events) > 0 || l.since.IsZero():
		l.since, l.pause, l.nextWarns = time.Now(), 0, time.Now().Add(heldWarning)
	}
	// A transaction that ends without an event sends no notification.
	l.pause = min(max(2*l.pause, shortestLook/2), heldLook)
	if time.Since(l.since) > ownHorizon {
		l.own = true
	}
	if now := time.Now(); now.After(l.nextWarns) {
		l.nextWarns = now.Add(time.Minute)
		l.warn(ctx)
	}
	return l.pause, true, nil
}

// warn logs which transaction events wait for.
func (l *look) warn(ctx context.Context) {
	h, err := oldestTransaction(ctx, l.conn)
	if err != nil {
		return // it has ended, or the connection is broken: the next look finds out
	}
	l.feed.store.log.WarnContext(
		ctx, "events are delayed until a transaction in gybe's database ends", "pid", h.PID, "user", h.User,
		"application", h.Application, "seconds", h.Seconds)
}

// notified waits for a notification, or until pause has passed. paced says that notifications must not cut the wait
// short.
func notified(ctx context.Context, conn *pgx.Conn, pause time.Duration, paced bool) error {
	if paced {
		return sleep(ctx, pause)
	}
	waitCtx, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	_, err := conn.WaitForNotification(waitCtx)
	switch {
	case err == nil: // more of them come soon when many operations run
		return sleep(ctx, shortestLook/2)
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	return err
}

// rest reports whether the feed has not been followed for some time. Then it is not ready until it is followed again.
func (f *Feed) rest() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting > 0 || time.Since(f.lastAsked) < f.Linger {
		return false
	}
	f.ready, f.ring = false, nil
	return true
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
	Project    string
	Kinds      []string
}

func (q *FeedQuery) wants(e *Event) bool {
	return (q.InstanceID == "" || e.InstanceID == q.InstanceID) && (q.OpID == "" || e.OpID == q.OpID) &&
		(q.PackageID == "" || e.PackageID == q.PackageID) &&
		(q.Project == "" || (e.Project == q.Project) != e.Others) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind))
}

// Follower is one reader of the feed; it is not safe for concurrent use. It needs no closing.
type Follower struct {
	feed   *Feed
	query  FeedQuery
	cursor Cursor
	placed bool
}

// Follow starts to follow. With query.After nil the follower sees what happens after this call; if the database does
// not answer now, after the feed's next connection.
func (f *Feed) Follow(ctx context.Context, query FeedQuery) *Follower {
	w := &Follower{feed: f, query: query}
	if query.After != nil {
		w.cursor, w.placed = *query.After, true
		return w
	}

	f.mu.Lock()
	if f.ready {
		w.cursor, w.placed = f.last(), true
	}
	f.mu.Unlock()
	if w.placed {
		return w
	}

	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if last, err := f.store.LastEvent(ctx); err == nil {
		w.cursor, w.placed = last, true
	}
	return w
}

// follow notes that a follower waits. The returned function ends that.
func (f *Feed) follow() (end func()) {
	f.mu.Lock()
	f.waiting++
	f.mu.Unlock()
	select {
	case f.wanted <- struct{}{}:
	default: // Run knows already
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waiting--
		f.lastAsked = time.Now()
	}
}

// Next returns the next events that the query wants, at least one, in order. It waits for them until ctx ends. After
// any other error (CodeUnavailable) Next may be called again and goes on without a gap.
func (w *Follower) Next(ctx context.Context) ([]Event, error) {
	defer w.feed.follow()()
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

// fromRing takes what the feed holds in memory. old says that the follower is behind that; more is closed at the next
// change.
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
	both, err := readHorizons(ctx, w.feed.store.pool)
	if err != nil {
		return nil, err
	}
	const page = 500
	eq := EventQuery{After: w.cursor, Limit: page, OpID: w.query.OpID, Project: w.query.Project}
	events, _, err := w.feed.store.events(ctx, w.feed.store.pool, eq, max(both.database, horizon(floor.Tx+1)))
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
