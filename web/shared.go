package web

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// viewKey selects what browsers can share: the same page of the same project, for the same role.
type viewKey struct {
	project  string
	role     lcm.Role
	screen   string
	id, page string
}

// sharedViews are the screens that browsers follow now.
type sharedViews struct {
	// rendering bounds the screens that are read and rendered at the same time, so that many followers leave the
	// database to other requests.
	rendering chan struct{}

	mu  sync.Mutex
	all map[viewKey]*sharedView
}

const maxRendering = 4

func newSharedViews() *sharedViews {
	return &sharedViews{rendering: make(chan struct{}, maxRendering), all: map[viewKey]*sharedView{}}
}

// sharedView is a screen that one or more browsers follow. It follows the event feed, and is read and rendered once for
// all of them.
type sharedView struct {
	*console
	views  *sharedViews
	key    viewKey
	screen screen
	ask    ask

	followers int // guarded by views.mu
	ctx       context.Context
	cancel    context.CancelFunc
	all       sync.WaitGroup
	renew     chan struct{} // capacity 1: asks for a rendition

	mu      sync.Mutex
	now     rendition
	changed chan struct{} // closed when there is another rendition
	batches map[string]*outputBatch
}

// rendition is what the followers of a view see at a time.
type rendition struct {
	round    int    // grows whenever the view was rendered or there may be output
	rendered int    // how often it was rendered, or that failed
	revision int    // grows when the event changes; 0 = it could not be rendered yet
	event    []byte // the event with the fragment, for all followers
	view     view
	gone     bool // what the view shows was deleted
}

// enter returns the shared view of a screen, which the caller must leave.
func (v *sharedViews) enter(ctx context.Context, c *console, p lcm.Principal, s screen, a ask) (*sharedView, error) {
	key := viewKey{project: p.Project, role: p.Role, screen: s.path, id: a.id, page: a.after}
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := v.all[key]; ok {
		s.followers++
		return s, nil
	}
	shared := &sharedView{
		console: c.in(p), views: v, key: key, screen: s, ask: a, followers: 1, renew: make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
	shared.ctx, shared.cancel = context.WithCancel(context.WithoutCancel(ctx)) // the first follower may leave first
	if err := shared.start(); err != nil {
		shared.cancel()
		return nil, err
	}
	v.all[key] = shared
	return shared, nil
}

// leave ends the view after its last follower.
func (s *sharedView) leave() {
	s.views.mu.Lock()
	s.followers--
	last := s.followers == 0
	if last {
		delete(s.views.all, s.key)
	}
	s.views.mu.Unlock()
	if last {
		s.cancel()
		s.all.Wait()
	}
}

// start follows the feed, and renders the view when it may have changed.
func (s *sharedView) start() error {
	lines := make(chan struct{}, 1)
	if s.screen.concerns != nil {
		follower, err := s.Feed.Follow(s.ctx, s.screen.concerns(s.ask.id))
		if err != nil {
			return err
		}
		s.all.Go(func() { s.follow(follower, lines) })
	}
	s.all.Go(func() { s.run(lines) })
	return nil
}

// follow asks for a rendition when something has happened that the screen shows, and announces output of steps.
func (s *sharedView) follow(follower gybeapi.Follower, lines chan<- struct{}) {
	for s.ctx.Err() == nil {
		events, err := follower.Next(s.ctx)
		if err != nil && !sleep(s.ctx, again) {
			return
		}
		if err != nil {
			ring(s.renew) // the changes are unknown
		}
		for _, e := range events {
			if slices.ContainsFunc(s.screen.kinds, func(k string) bool { return strings.HasPrefix(e.Kind, k) }) {
				ring(s.renew)
			} else if s.screen.output && e.Kind == gybeapi.KindLog {
				ring(lines)
			}
		}
	}
}

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it rings already
	}
}

// run renders the view until its last follower has left.
func (s *sharedView) run(lines <-chan struct{}) {
	pause := s.render()
	for sleep(s.ctx, s.screen.pace) {
		timer := time.NewTimer(pause)
		select {
		case <-s.ctx.Done():
		case <-s.renew:
			pause = s.render()
		case <-timer.C:
			pause = s.render()
		case <-lines:
			s.publish(func(*rendition) {})
		}
		timer.Stop()
	}
}

// publish changes the rendition and wakes all followers.
func (s *sharedView) publish(change func(*rendition)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.round++
	change(&s.now)
	s.batches = nil
	close(s.changed)
	s.changed = make(chan struct{})
}

// current returns the present rendition, and a channel that is closed when there is another one.
func (s *sharedView) current() (rendition, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

// renewed returns a rendition that was begun after the call; the last one if ctx ends.
func (s *sharedView) renewed(ctx context.Context) rendition {
	r, changed := s.current()
	for before := r.rendered; r.rendered == before; r, changed = s.current() {
		ring(s.renew)
		select {
		case <-ctx.Done():
			return r
		case <-s.Stopping:
			return r
		case <-changed:
		}
	}
	return r
}

// render reads and renders the view, and returns when to do that again if nothing happens.
func (s *sharedView) render() time.Duration {
	v, event, gone, err := s.load()
	if err != nil {
		if s.ctx.Err() == nil {
			s.Log.WarnContext(
				s.ctx, "console page not renewed", "screen", s.screen.template, "id", s.ask.id, "error", err,
			)
		}
		s.publish(func(r *rendition) { r.rendered++ })
		return again
	}
	s.publish(func(r *rendition) {
		r.rendered++
		r.view, r.gone = v, gone
		if string(event) != string(r.event) {
			r.event = event
			r.revision++
		}
	})
	if v.tick > 0 {
		return min(heartbeat, v.tick)
	}
	return heartbeat
}

// load reads the view and makes the event with its fragment.
func (s *sharedView) load() (v view, event []byte, gone bool, err error) {
	select {
	case s.views.rendering <- struct{}{}:
		defer func() { <-s.views.rendering }()
	case <-s.ctx.Done():
		return view{}, nil, false, s.ctx.Err()
	}
	name := s.screen.template
	v, err = s.screen.load(s.console, s.ctx, s.ask)
	if e, is := errors.AsType[*lcm.Error](err); is && e.Code == lcm.CodeNotFound {
		// It was deleted while a client followed it.
		v, err, name, gone = view{Data: problem{Title: "Gone", Detail: e.Detail}, still: true}, nil, "problem", true
	}
	if err != nil {
		return view{}, nil, false, err
	}
	html, err := s.fragment(name, v.Data)
	return v, eventText("", "", string(html)), gone, err
}
