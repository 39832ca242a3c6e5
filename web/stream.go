package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Times of an event stream.
const (
	// heartbeat is how long a stream is silent at most, so that proxies know that it lives.
	heartbeat = 15 * time.Second
	// patience is how long a browser may take to accept what is written.
	patience = 10 * time.Second
	// again is the interval of polling while the feed or the database is unavailable.
	again = time.Second
	// grace is how long a stream goes on after the end of an operation: the last lines of output show up once no
	// older transaction runs any more.
	grace = 2 * time.Second
)

// stream sends a screen's fragment at once and whenever it has changed, until nothing can change any more.
func (c *console) stream(s screen) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		default:
			return &lcm.Error{
				Code: lcm.CodeUnavailable, Detail: "too many pages are followed on this node",
				RetryAfter: 10 * time.Second,
			}
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		c := c.in(r.Principal)
		a := ask{id: r.Param("id"), after: r.QueryValues().Get("after")}
		bells, wait, err := c.follow(ctx, s, a.id)
		if err != nil {
			return err
		}
		defer wait()
		defer cancel() // before wait
		f := &follow{
			console: c, screen: s, ask: a, out: &sender{w: w, control: http.NewResponseController(w)}, bells: bells,
		}
		if s.output {
			f.log = &output{op: a.id, next: r.QueryValues().Get("log"), sent: map[int64]int{}}
			if last := r.Header.Get("Last-Event-ID"); last != "" {
				f.log.next = last
			}
		}
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back
		w.WriteHeader(http.StatusOK)
		if r.Method == http.MethodHead || !f.out.write("retry: 1000\n\n") {
			return nil
		}
		f.run(ctx)
		return nil
	}
}

// bells ring when something has happened: change for what a screen shows, lines for output of steps.
type bells struct{ change, lines chan struct{} }

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it rings already
	}
}

// follow rings bells for a screen. wait returns once ctx has ended and nothing rings any more.
func (c *console) follow(ctx context.Context, s screen, id string) (b bells, wait func(), err error) {
	b = bells{make(chan struct{}, 1), make(chan struct{}, 1)}
	if s.concerns == nil {
		return b, func() {}, nil
	}
	follower, err := c.Feed.Follow(ctx, s.concerns(id))
	if err != nil {
		return b, nil, err
	}
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			events, err := follower.Next(ctx)
			if err != nil && !sleep(ctx, again) {
				return
			}
			if err != nil {
				ring(b.change) // the changes are unknown
			}
			for _, e := range events {
				if slices.ContainsFunc(s.kinds, func(k string) bool { return strings.HasPrefix(e.Kind, k) }) {
					ring(b.change)
				} else if s.output && e.Kind == gybeapi.KindLog {
					ring(b.lines)
				}
			}
		}
	})
	return b, all.Wait, nil
}

// follow is one page that is followed.
type follow struct {
	*console
	screen screen
	ask    ask
	out    *sender
	bells  bells
	log    *output // nil when the screen shows none
	last   string  // the fragment that was sent last
}

func (f *follow) run(ctx context.Context) {
	v, ok := f.send(ctx)
	var end time.Time // when to stop after nothing can change any more
	for ok {
		pause := heartbeat
		if v.tick > 0 {
			pause = min(pause, v.tick)
		}
		if v.still {
			now := time.Now()
			if end.IsZero() && f.log != nil {
				end = now.Add(grace)
			}
			if !now.Before(end) {
				f.out.event("", "done", "the end")
				return
			}
			pause = end.Sub(now)
		}
		if !sleep(ctx, f.screen.pace) {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			ok = false
		case <-f.Stopping:
			ok = false
		case <-f.bells.lines:
			v, ok = f.sendOutput(ctx, v)
		case <-f.bells.change:
			v, ok = f.send(ctx)
		case <-timer.C:
			if v.tick == 0 && !f.out.write(": alive\n\n") {
				return
			}
			v, ok = f.send(ctx)
		}
		timer.Stop()
	}
}

// send renders the view again and sends the changes, with new output. ok is false when the stream has
// ended; while the database is away there is nothing to send, and it is tried again soon.
func (f *follow) send(ctx context.Context) (v view, ok bool) {
	v, ok = f.sendView(ctx)
	if !ok || f.log == nil {
		return v, ok
	}
	return f.sendOutput(ctx, v)
}

func (f *follow) sendView(ctx context.Context) (v view, ok bool) {
	name := f.screen.template
	v, err := f.screen.load(f.console, ctx, f.ask)
	if e, is := errors.AsType[*lcm.Error](err); is && e.Code == lcm.CodeNotFound {
		// It was deleted while a client followed it.
		v, err, name, f.log = view{Data: problem{Title: "Gone", Detail: e.Detail}, still: true}, nil, "problem", nil
	}
	html := ""
	if err == nil {
		fragment, renderErr := f.fragment(name, v.Data)
		html, err = string(fragment), renderErr
	}
	if err != nil {
		if ctx.Err() == nil {
			f.Log.WarnContext(ctx, "console page not renewed", "screen", name, "id", f.ask.id, "error", err)
		}
		return view{tick: again}, f.out.write(": waiting\n\n") && ctx.Err() == nil
	}
	if html == f.last {
		return v, true
	}
	f.last = html
	return v, f.out.event("", "", html)
}

// sender is the browser's end of a stream.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// event sends one event; "" for what it does not have. Events without a name are swapped into the page.
func (s *sender) event(id, name, data string) bool {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", ""), "\n") { // a lone CR would end a line, too
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return s.write(b.String())
}

// write writes and flushes; false when the browser did not take it in time.
func (s *sender) write(text string) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(patience)); err != nil && !errors.Is(
		err, http.ErrNotSupported,
	) {
		return false
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.control.Flush() == nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
