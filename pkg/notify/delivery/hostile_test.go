package delivery_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/callback"
)

// trickle sends the begin of an answer, and then one byte now and then until the client gives up.
func trickle(begin string) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return true
		}
		defer func() { _ = conn.Close() }()
		_, err = buf.WriteString(begin)
		next := time.NewTicker(10 * time.Millisecond)
		defer next.Stop()
		for ; err == nil; <-next.C {
			if err = buf.WriteByte('x'); err == nil {
				err = buf.Flush()
			}
		}
		return true
	}
}

// stalledTLS is the URL of a server that accepts connections, and never answers.
func stalledTLS(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer func() { _ = c.Close() }()
				for buf := make([]byte, 1024); err == nil; {
					_, err = c.Read(buf)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	return "https://" + l.Addr().String()
}

// TestHostileReceivers: three subscribers do what a server should not do. Another one gets everything, in order, and
// the result of the first attempt says what the others do.
func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	const late = "it did not answer in time"
	secret := listen(t, nil)
	for name, tt := range map[string]struct {
		url    func(*testing.T) string
		answer func(http.ResponseWriter, *http.Request, int) bool
		state  notify.State
		reason string
	}{
		"answers too late": {
			answer: func(_ http.ResponseWriter, r *http.Request, _ int) bool {
				<-r.Context().Done()
				return false
			},
			state: notify.Pending, reason: late,
		},
		"sends the headers byte by byte": {
			answer: trickle("HTTP/1.1 204 No Content\r\nX-Slow: "), state: notify.Pending, reason: late,
		},
		"sends the body byte by byte": { // the status says that it has accepted
			answer: trickle("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), state: notify.Delivered,
		},
		"sends a body without an end": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.WriteHeader(http.StatusOK)
				part := make([]byte, 64<<10)
				for {
					if _, err := w.Write(part); err != nil {
						return true
					}
				}
			},
			state: notify.Delivered,
		},
		"sends huge headers": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.Header().Set("X-Huge", strings.Repeat("x", 1<<20))
				return false
			},
			state: notify.Pending, reason: "server response headers exceeded",
		},
		"redirects to an internal address": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.Header().Set("Location", secret.URL+"/latest/meta-data")
				w.WriteHeader(http.StatusTemporaryRedirect)
				return true
			},
			state: notify.Dead, reason: "redirects are not followed",
		},
		"closes in the middle": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				drop(w)
				return true
			},
			state: notify.Pending, reason: "connection broken",
		},
		"is gone": {
			answer: status(http.StatusGone), state: notify.Dead, reason: "it answered 410 Gone",
		},
		"never ends the TLS handshake": {url: stalledTLS, state: notify.Pending, reason: late},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.ledger.Now = nil
			var err error
			w.sender, err = callback.New(callback.Options{Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(w.sender.Close)
			w.runner = w.node("n1")
			var bad []*notify.Subscription
			for range 3 {
				var url string
				if tt.url != nil {
					url = tt.url(t)
				} else {
					url = listen(t, tt.answer).URL
				}
				bad = append(bad, w.subscribe(t, url))
			}
			fine := listen(t, nil)
			w.subscribe(t, fine.URL)
			want := w.happen(t, uuid.NewString(), starting, processing, completed)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = w.runner.Run(ctx) })
			defer running.Wait()
			defer cancel()
			require.Eventually(t, func() bool { return len(fine.of("")) == len(want) }, limit, time.Millisecond)
			require.Equal(t, want, fine.of(""))
			for _, s := range bad {
				var first notify.Delivery
				require.Eventually(t, func() bool {
					first = w.deliveries(t, s)[0]
					return first.Attempts > 0
				}, limit, time.Millisecond)
				require.Equal(t, tt.state, first.State, first.Error)
				require.Contains(t, first.Error, tt.reason)
				if tt.reason == "" {
					require.Empty(t, first.Error)
				}
			}
			require.Zero(t, secret.count())
		})
	}
}
