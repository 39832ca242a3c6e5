package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// EventQuery selects events.
type EventQuery struct {
	InstanceID string // of one VNF instance only
	OpID       string // of one operation only
	// After is the cursor of the last known event; FromStart means all events, "" means from now on.
	After string
}

// FromStart is the cursor before the first event.
const FromStart = "0-0"

// Silence is the time without data after which an event stream counts as dead; the server sends a heartbeat
// more than twice in this time.
const Silence = 40 * time.Second

// maxEvent bounds one event in bytes.
const maxEvent = 4 << 20

// Events follows the event feed until ctx ends, the server closes the stream or the connection breaks; in
// the latter cases the last value is an error, and the caller can continue with the cursor of the last event.
func (c *Client) Events(ctx context.Context, q EventQuery) iter.Seq2[gybeapi.Event, error] {
	return func(yield func(gybeapi.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		v := url.Values{}
		for name, value := range map[string]string{
			"vnfInstanceId": q.InstanceID, "vnfLcmOpOccId": q.OpID, "since": q.After,
		} {
			if value != "" {
				v.Set(name, value)
			}
		}
		resp, err := c.do(
			ctx, request{method: http.MethodGet, path: "/gybe/v1/events", query: v, accept: "text/event-stream"},
		)
		if err != nil {
			yield(gybeapi.Event{}, err)
			return
		}
		defer closeBody(resp.Body)
		watchdog := time.AfterFunc(Silence, func() { cancel(errSilent) })
		defer watchdog.Stop()
		err = readStream(resp.Body, func() { watchdog.Reset(Silence) }, func(data []byte) (bool, error) {
			var e gybeapi.Event
			if err := json.Unmarshal(data, &e); err != nil {
				return false, fmt.Errorf("decode an event: %w", err)
			}
			return yield(e, nil), nil
		})
		switch {
		case errors.Is(err, errStop):
		case errors.Is(context.Cause(ctx), errSilent):
			yield(gybeapi.Event{}, &Unreachable{Endpoint: c.base, Err: errSilent})
		case ctx.Err() != nil:
			yield(gybeapi.Event{}, ctx.Err())
		default:
			yield(gybeapi.Event{}, &Unreachable{Endpoint: c.base, Err: err})
		}
	}
}

var (
	errStop   = errors.New("the reader has enough")
	errSilent = errors.New("the event stream is silent")
)

// readStream reads server-sent events and gives their data to fn until it says stop (errStop) or the stream
// ends, which is an error. alive is called for every line.
func readStream(r io.Reader, alive func(), fn func(data []byte) (bool, error)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 16<<10), maxEvent)
	var data []byte
	for lines.Scan() {
		alive()
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		if len(line) == 0 {
			if len(data) == 0 {
				continue
			}
			more, err := fn(data)
			if err != nil {
				return err
			}
			if !more {
				return errStop
			}
			data = data[:0]
			continue
		}
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(text, []byte(" "))...)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}
