package auth_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// world is an Authenticator whose failures and log a test can read.
type world struct {
	*auth.Authenticator
	mu       sync.Mutex
	failures map[string]int // by mode/reason
	log      bytes.Buffer
}

func newWorld(tb testing.TB, opts auth.Options) *world {
	tb.Helper()
	w := &world{failures: map[string]int{}}
	opts.Log = slog.New(slog.NewTextHandler(w, nil))
	opts.Observe = func(mode, reason string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failures[mode+"/"+reason]++
	}
	var err error
	w.Authenticator, err = auth.New(opts)
	require.NoError(tb, err)
	return w
}

// Write implements io.Writer, for the log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

func (w *world) failed(label string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failures[label]
}

// request has the headers of pairs.
func request(t *testing.T, pairs ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/vnflcm/v2/vnf_instances", http.NoBody)
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	return r
}

func bearer(t *testing.T, token string) *http.Request {
	t.Helper()
	return request(t, "Authorization", "Bearer "+token)
}

func xAuth(t *testing.T, token string) *http.Request {
	t.Helper()
	return request(t, "X-Auth-Token", token)
}

// accepted authenticates a request that has to be accepted.
func (w *world) accepted(t *testing.T, r *http.Request) lcm.Principal {
	t.Helper()
	p, err := w.Authenticate(r)
	require.NoError(t, err)
	return p
}

// rejected authenticates a request that has to be rejected with a code.
func (w *world) rejected(t *testing.T, code lcm.Code, r *http.Request) *lcm.Error {
	t.Helper()
	p, err := w.Authenticate(r)
	require.Error(t, err)
	require.Zero(t, p)
	e := lcm.AsError(err)
	require.Equal(t, code, e.Code, "%v\n%s", err, w.logged())
	return e
}

// fakeClock is a clock that a test moves.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *fakeClock { return &fakeClock{now: time.Now()} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
