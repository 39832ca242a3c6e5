package frame_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// keysOf is frame.RequestKeys as a function.
type keysOf func(k *lcm.RequestKey) (*lcm.KeptRequest, error)

func (f keysOf) KeptRequest(_ context.Context, k *lcm.RequestKey) (*lcm.KeptRequest, error) {
	return f(k)
}

func serveOnce(t *testing.T, keys frame.RequestKeys, handle frame.Handler) bench {
	t.Helper()
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), RequestKeys: keys})
	f.Mount(frame.API{Routes: []frame.Route{{
		Method: "POST", Path: "/once", Handle: handle,
		Replay: func(w http.ResponseWriter, _ *frame.Request, id string) error {
			return frame.Accepted(w, "/made/"+id)
		},
	}}})
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return bench{url: s.URL, client: s.Client()}
}

// The answer to the commit was lost, or another node has handled the request: the effect is there.
func TestRequestWhoseEffectIsThereIsAnsweredAfterAnError(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	keys := keysOf(func(k *lcm.RequestKey) (*lcm.KeptRequest, error) {
		if looks.Add(1) == 1 {
			return nil, nil
		}
		return &lcm.KeptRequest{Fingerprint: k.Fingerprint, ID: "7"}, nil
	})
	b := serveOnce(t, keys, func(http.ResponseWriter, *frame.Request) error {
		return lcm.Errorf(lcm.CodeUnavailable, "the database does not answer now")
	})
	a := b.do(t, "POST", "/once", "", "Idempotency-Key", "k")
	require.Equal(t, 202, a.StatusCode)
	require.Equal(t, "/made/7", a.Header.Get("Location"))
	require.Equal(t, "true", a.Header.Get("Idempotency-Replayed"))

	none := keysOf(func(*lcm.RequestKey) (*lcm.KeptRequest, error) { return nil, nil })
	b = serveOnce(t, none, func(http.ResponseWriter, *frame.Request) error { return errors.New("broken") })
	require.Equal(t, 500, b.do(t, "POST", "/once", "", "Idempotency-Key", "k").StatusCode)

	away := keysOf(func(*lcm.RequestKey) (*lcm.KeptRequest, error) {
		return nil, lcm.Errorf(lcm.CodeUnavailable, "the database does not answer now")
	})
	b = serveOnce(t, away, func(w http.ResponseWriter, _ *frame.Request) error { return frame.NoContent(w) })
	require.Equal(t, 503, b.do(t, "POST", "/once", "", "Idempotency-Key", "k").StatusCode, "it may have taken effect")
	require.Equal(t, 204, b.do(t, "POST", "/once", "").StatusCode, "without a key")
}

func TestRequestIsRejectedWhileOneWithItsKeyRuns(t *testing.T) {
	t.Parallel()
	none := keysOf(func(*lcm.RequestKey) (*lcm.KeptRequest, error) { return nil, nil })
	entered, leave := make(chan struct{}), make(chan struct{})
	b := serveOnce(t, none, func(w http.ResponseWriter, r *frame.Request) error {
		if lcm.RequestKeyOf(r.Context()).Key == "k" {
			close(entered)
			<-leave
		}
		return frame.NoContent(w)
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/once", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Idempotency-Key", "k")
	first := make(chan int)
	go func() {
		defer close(first)
		if resp, err := b.client.Do(req); err == nil {
			_ = resp.Body.Close()
			first <- resp.StatusCode
		}
	}()
	<-entered
	a := b.do(t, "POST", "/once", "", "Idempotency-Key", "k")
	require.Equal(t, 409, a.StatusCode)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Equal(t, 204, b.do(t, "POST", "/once", "", "Idempotency-Key", "other").StatusCode)
	close(leave)
	require.Equal(t, 204, <-first)
}
