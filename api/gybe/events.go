package gybe

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Times of an event stream.
const (
	// heartbeat is how long a stream is silent at most, so that proxies and clients know that it lives.
	heartbeat = 15 * time.Second
	// patience is how long a client may take to accept what is written. One that takes longer is dropped; it
	// comes back with Last-Event-ID and misses nothing.
	patience = 10 * time.Second
	// again is how long a client waits before it reconnects, and we before we ask the feed again after a failure.
	again = time.Second
)

// events serves the feed as server-sent events.
func (a *API) events(slots chan struct{}) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		q := gybeapi.FeedQuery{
			After: r.QueryValues().Get("since"), InstanceID: r.QueryValues().Get("vnfInstanceId"),
			OpID: r.QueryValues().Get("vnfLcmOpOccId"), PackageID: r.QueryValues().Get("vnfPkgId"),
		}
		switch format := r.QueryValues().Get("format"); format {
		case "":
		case "cloudevents":
			q.Notifications = true
		default:
			return lcm.Errorf(lcm.CodeInvalid, "format is %.40q; it is cloudevents, or absent", format)
		}
		for name, id := range map[string]string{
			"vnfInstanceId": q.InstanceID, "vnfLcmOpOccId": q.OpID, "vnfPkgId": q.PackageID,
		} {
			if id != "" && uuid.Validate(id) != nil {
				return lcm.Errorf(lcm.CodeInvalid, "%s is %.80q, which is not an id", name, id)
			}
		}
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			q.After = last
		}
		follower, err := a.Feeds.In(r.Principal).Follow(r.Context(), q)
		if err != nil {
			return err
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			return &lcm.Error{
				Code: lcm.CodeUnavailable, Detail: "too many clients follow the events of this node",
				RetryAfter: 10 * time.Second,
			}
		}
		s := &stream{w: w, control: http.NewResponseController(w)}
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back
		w.WriteHeader(http.StatusOK)
		if r.Method == http.MethodHead || !s.send([]byte("retry: 1000\n\n")) {
			return nil
		}
		a.pump(r.Context(), s, follower)
		return nil
	}
}

// pump writes events until the client or the server goes.
func (a *API) pump(ctx context.Context, s *stream, follower gybeapi.Follower) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.Stopping != nil {
		go func() {
			select {
			case <-a.Stopping:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	for ctx.Err() == nil {
		next, stop := context.WithTimeout(ctx, heartbeat)
		events, err := follower.Next(next)
		quiet := next.Err() != nil
		stop()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if !s.events(events) {
				return
			}
		case quiet:
			if !s.send([]byte(": alive\n\n")) {
				return
			}
		default: // the database is away
			if !s.send([]byte(": waiting\n\n")) || !sleep(ctx, again) {
				return
			}
		}
	}
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

// stream is the client's end of an event stream.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
}

func (s *stream) events(events []gybeapi.Event) bool {
	s.buf.Reset()
	for _, e := range events {
		data, err := json.Marshal(e)
		if e.Kind == gybeapi.KindNotification {
			data = e.Body
		}
		if err != nil {
			return false
		}
		if e.Cursor != "" {
			s.buf.WriteString("id: " + e.Cursor + "\n")
		}
		s.buf.WriteString("event: " + e.Kind + "\ndata: ")
		s.buf.Write(data)
		s.buf.WriteString("\n\n")
	}
	return s.send(s.buf.Bytes())
}

// send writes and flushes; false when the client did not take it in time.
func (s *stream) send(p []byte) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return false
	}
	if _, err := s.w.Write(p); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
