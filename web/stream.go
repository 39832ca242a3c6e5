package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
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
		a := ask{id: r.Param("id"), after: r.QueryValues().Get("after")}
		shared, err := c.views.enter(r.Context(), c, r.Principal, s, a)
		if err != nil {
			return err
		}
		defer shared.leave()
		f := &follow{sharedView: shared, out: &sender{w: w, control: http.NewResponseController(w)}}
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
		if r.Method == http.MethodHead || !f.out.write([]byte("retry: 1000\n\n")) {
			return nil
		}
		f.run(r.Context())
		return nil
	}
}

// follow is one browser that follows a page. A browser that is slow misses renditions, and holds none but the last.
type follow struct {
	*sharedView
	out  *sender
	log  *output // nil when the screen shows none
	sent int     // the revision that was sent last
}

func (f *follow) run(ctx context.Context) {
	var end time.Time // when to stop after nothing can change any more
	round := 0
	for {
		r, changed := f.current()
		if r.round > round {
			var ok bool
			if r, ok = f.send(ctx, r); !ok {
				return
			}
			round = r.round
		}
		pause := heartbeat
		if r.view.still {
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
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			return
		case <-f.Stopping:
			return
		case <-changed:
		case <-timer.C:
			if r.view.still { // the last output
				if _, ok := f.send(ctx, f.renewed(ctx)); !ok {
					return
				}
			} else if !f.out.write([]byte(": alive\n\n")) {
				return
			}
		}
		timer.Stop()
	}
}

// send sends a rendition if it is new, and new output. It returns the rendition that the output belongs to. ok is false
// when the stream has ended.
func (f *follow) send(ctx context.Context, r rendition) (_ rendition, ok bool) {
	if r.revision > f.sent {
		if !f.out.write(r.event) {
			return r, false
		}
		f.sent = r.revision
	}
	if r.gone {
		f.log = nil
	}
	if f.log == nil || r.revision == 0 {
		return r, ctx.Err() == nil
	}
	return f.sendOutput(ctx, r)
}

// sender is the browser's end of a stream.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// event sends one event.
func (s *sender) event(id, name, data string) bool { return s.write(eventText(id, name, data)) }

// eventText makes an event; "" for what it does not have. Events without a name are swapped into the page.
func eventText(id, name, data string) []byte {
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
	return b.Bytes()
}

// write writes and flushes; false when the browser did not take it in time.
func (s *sender) write(text []byte) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(patience)); err != nil && !errors.Is(
		err, http.ErrNotSupported,
	) {
		return false
	}
	if _, err := s.w.Write(text); err != nil {
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
