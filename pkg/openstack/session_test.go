package openstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func testDriver(t *testing.T, cfg Config) *Driver {
	t.Helper()
	d := New(cfg, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	return d
}

func asError(t *testing.T, err error) *lcm.Error {
	t.Helper()
	e, ok := errors.AsType[*lcm.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return e
}

// ping is a call that needs a valid token.
func ping(ctx context.Context, s *session) error {
	var out struct {
		Stacks []stack `json:"stacks"`
	}
	return s.do(ctx, call{what: "look for stack x", service: heat, method: http.MethodGet, path: "/stacks?name=x", out: &out})
}

func withStacks(s *stub) {
	s.routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"stacks": []}`)) })
}

// TestOneLogin: whatever many operations do at the same time, the identity service sees one login.
func TestOneLogin(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	withStacks(s)
	d := testDriver(t, Config{})
	var wg sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		wg.Go(func() {
			c, err := d.connect(t.Context(), fmt.Sprint("key", i), s.vim())
			if err == nil {
				err = ping(t.Context(), c)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, 1, s.logins.Load())
}

// TestTokenRefused: a token that Keystone has withdrawn is replaced once for all who meet it, in the middle of their work.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	withStacks(s)
	d := testDriver(t, Config{})
	c, err := d.connect(t.Context(), "v", s.vim())
	require.NoError(t, err)
	s.expire()
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { errs[i] = ping(t.Context(), c) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, 2, s.logins.Load())
}

func TestTokenRenewedBeforeItExpires(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	s.life = 400 * time.Millisecond
	withStacks(s)
	d := testDriver(t, Config{})
	c, err := d.connect(t.Context(), "v", s.vim())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		require.NoError(t, ping(t.Context(), c))
		return s.logins.Load() > 1
	}, 5*time.Second, 20*time.Millisecond)
}

// TestLoginRefused: bad credentials are an Auth error that says where to look, and are asked for again the next time.
func TestLoginRefused(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	s.login = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}`))
	}
	d := testDriver(t, Config{})
	for range 2 {
		_, err := d.connect(t.Context(), "v", s.vim())
		e := asError(t, err)
		require.Equal(t, lcm.Auth, e.Class)
		require.Equal(t, lcm.CodeUpstream, e.Code)
		require.Contains(t, e.Detail, "log in as nfv_user: Keystone at "+s.URL+"/identity/v3/auth/tokens answered 401 Unauthorized: The request you have made requires authentication.")
		require.Contains(t, e.Hint, "accessInfo")
		secretFree(t, e.Error())
	}
	require.EqualValues(t, 2, s.logins.Load())
}

// TestPasswordChanged: the token expires and the password is no longer right.
func TestPasswordChanged(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	withStacks(s)
	d := testDriver(t, Config{})
	c, err := d.connect(t.Context(), "v", s.vim())
	require.NoError(t, err)
	s.mu.Lock()
	s.token = "none"
	s.login = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	s.mu.Unlock()
	require.Equal(t, lcm.Auth, asError(t, ping(t.Context(), c)).Class)
}

func TestWaitForALoginEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	s.login = func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	d := testDriver(t, Config{})
	done := make(chan error, 1)
	go func() {
		_, err := d.connect(t.Context(), "v", s.vim())
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.connect(ctx, "v", s.vim())
	require.ErrorIs(t, err, context.Canceled)
	close(leave)
	require.Equal(t, lcm.Transient, asError(t, <-done).Class)
}

// TestSessionsAreBounded: a VIM per user must not fill the memory.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	d := testDriver(t, Config{})
	for i := range maxSessions + 20 {
		v := s.vim()
		v.AccessInfo["username"] = fmt.Sprint("user", i)
		c, bad := parseConnection("v", v)
		require.Empty(t, bad)
		d.sessions.slot(c.identity())
	}
	require.Len(t, d.sessions.kept, maxSessions)
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		svc       service
		url, want string
	}{
		{heat, "http://h/heat-api/v1/p1", "http://h/heat-api/v1/p1"},
		{heat, "http://h:8004", "http://h:8004/v1/p1"},
		{nova, "http://h/compute/v2.1", "http://h/compute/v2.1"},
		{nova, "http://h:8774/v2/p1", "http://h:8774/v2/p1"},
		{nova, "http://h/compute", "http://h/compute/v2.1"},
		{neutron, "http://h:9696", "http://h:9696/v2.0"},
		{neutron, "http://h:9696/v2.0", "http://h:9696/v2.0"},
		{neutron, "http://h/networking", "http://h/networking/v2.0"},
		{glance, "http://h/image", "http://h/image/v2"},
		{cinder, "http://h/volume/v3/p1", "http://h/volume/v3/p1"},
		{cinder, "http://h:8776", "http://h:8776/v3/p1"},
		{glance, "http://h:9292/v2", "http://h:9292/v2"},
	} {
		require.Equal(t, tt.want, tt.svc.base(tt.url, "p1"), tt.url)
	}
}

func TestRegion(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	v := s.vim()
	require.NoError(t, testDriver(t, Config{}).Check(t.Context(), "v", v))
	v.AccessInfo["region"] = "Elsewhere"
	e := asError(t, testDriver(t, Config{}).Check(t.Context(), "v", v))
	require.Contains(t, e.Detail, "no public endpoint of Heat in region Elsewhere")
}
