package cloud

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
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

func testPool(t *testing.T, cfg Config) *Pool {
	t.Helper()
	p := NewPool(cfg, slog.New(slog.DiscardHandler))
	t.Cleanup(p.Close)
	return p
}

// checked logs in and looks for the services that Gybe needs.
func checked(t *testing.T, p *Pool, v sol.VimConnectionInfo) error {
	t.Helper()
	c, err := p.Connect(t.Context(), "v", v)
	if err != nil {
		return err
	}
	return c.Check()
}

func asError(t *testing.T, err error) *lcm.Error {
	t.Helper()
	e, ok := errors.AsType[*lcm.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return e
}

// ping is a call that needs a valid token.
func ping(ctx context.Context, s *Client) error {
	var out struct {
		Stacks []Stack `json:"stacks"`
	}
	return s.Do(
		ctx, Call{What: "look for stack x", Service: Heat, Method: http.MethodGet, Path: "/stacks?name=x", Out: &out},
	)
}

func withStacks(s *stubcloud.Cloud) {
	s.Routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"stacks": []}`))
	})
}

// TestOneLogin: whatever many operations do at the same time, the identity service sees one login.
func TestOneLogin(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	d := testPool(t, Config{})
	var wg sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		wg.Go(func() {
			c, err := d.Connect(t.Context(), fmt.Sprint("key", i), s.Vim())
			if err == nil {
				err = ping(t.Context(), c)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, 1, s.Logins.Load())
}

// TestTokenRefused: a token that Keystone has withdrawn is replaced once for all who meet it, in the middle of their
// work.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	d := testPool(t, Config{})
	c, err := d.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	s.Expire()
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { errs[i] = ping(t.Context(), c) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, 2, s.Logins.Load())
}

func TestTokenRenewedBeforeItExpires(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Life = 400 * time.Millisecond
	withStacks(s)
	d := testPool(t, Config{})
	c, err := d.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		require.NoError(t, ping(t.Context(), c))
		return s.Logins.Load() > 1
	}, time.Minute, 20*time.Millisecond)
}

// TestLoginRefused: bad credentials are an Auth error that says where to look, and are asked for again the next time.
func TestLoginRefused(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Login = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}`))
	}
	d := testPool(t, Config{})
	for range 2 {
		_, err := d.Connect(t.Context(), "v", s.Vim())
		e := asError(t, err)
		require.Equal(t, lcm.Auth, e.Class)
		require.Equal(t, lcm.CodeUpstream, e.Code)
		require.Contains(t, e.Detail, "log in as nfv_user: Keystone at "+s.URL+
			"/identity/v3/auth/tokens answered 401 Unauthorized: The request you have made requires authentication.")
		require.Contains(t, e.Hint, "accessInfo")
		stubcloud.SecretFree(t, e.Error())
	}
	require.EqualValues(t, 2, s.Logins.Load())
}

// TestPasswordChanged: the token expires and the password is no longer right.
func TestPasswordChanged(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	d := testPool(t, Config{})
	c, err := d.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	s.Mu.Lock()
	s.Token = "none"
	s.Login = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	s.Mu.Unlock()
	require.Equal(t, lcm.Auth, asError(t, ping(t.Context(), c)).Class)
}

func TestWaitForALoginEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	s.Login = func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	d := testPool(t, Config{})
	done := make(chan error, 1)
	go func() {
		_, err := d.Connect(t.Context(), "v", s.Vim())
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Connect(ctx, "v", s.Vim())
	require.ErrorIs(t, err, context.Canceled)
	close(leave)
	require.Equal(t, lcm.Transient, asError(t, <-done).Class)
}

// TestSessionsAreBounded: a VIM per user must not fill the memory.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	d := testPool(t, Config{})
	for i := range maxClients + 20 {
		v := s.Vim()
		v.AccessInfo["username"] = fmt.Sprint("user", i)
		c, bad := parseConnection("v", v)
		require.Empty(t, bad)
		d.slot(c, lcm.VimKey(v))
	}
	require.Len(t, d.kept, maxClients)
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		svc       Service
		url, want string
	}{
		{Heat, "http://h/heat-api/v1/p1", "http://h/heat-api/v1/p1"},
		{Heat, "http://h:8004", "http://h:8004/v1/p1"},
		{Nova, "http://h/compute/v2.1", "http://h/compute/v2.1"},
		{Nova, "http://h:8774/v2/p1", "http://h:8774/v2/p1"},
		{Nova, "http://h/compute", "http://h/compute/v2.1"},
		{Neutron, "http://h:9696", "http://h:9696/v2.0"},
		{Neutron, "http://h:9696/v2.0", "http://h:9696/v2.0"},
		{Neutron, "http://h/networking", "http://h/networking/v2.0"},
		{Glance, "http://h/image", "http://h/image/v2"},
		{Cinder, "http://h/volume/v3/p1", "http://h/volume/v3/p1"},
		{Cinder, "http://h:8776", "http://h:8776/v3/p1"},
		{Glance, "http://h:9292/v2", "http://h:9292/v2"},
	} {
		require.Equal(t, tt.want, tt.svc.base(tt.url, "p1"), tt.url)
	}
}

func TestRegion(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	v := s.Vim()
	require.NoError(t, checked(t, testPool(t, Config{}), v))
	v.AccessInfo["region"] = "Elsewhere"
	e := asError(t, checked(t, testPool(t, Config{}), v))
	require.Contains(t, e.Detail, "no public endpoint of Heat in region Elsewhere")
}
