package frame_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// byHeader authenticates the subject and project that the headers of a request name.
type byHeader struct{ frame.NoAuth }

// Authenticate implements frame.Authenticator.
func (byHeader) Authenticate(r *http.Request) (lcm.Principal, error) {
	return lcm.Principal{
		Subject: r.Header.Get("Subject"), Project: r.Header.Get("Project"), Role: lcm.RoleReader,
	}, nil
}

// TestRequestsOfAUserAreLimited: a user who sends too many requests gets 429 with the time to wait. Other users, also
// one with the same name in another project, are answered, and so are probes.
func TestRequestsOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	const perSecond = 5
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), Requests: perSecond, Auth: byHeader{}})
	ok := func(w http.ResponseWriter, _ *frame.Request) error { return frame.NoContent(w) }
	f.Mount(frame.API{Prefix: "/x", Routes: []frame.Route{
		{Method: "GET", Path: "/a", Handle: ok},
		{Method: "GET", Path: "/probe", Handle: ok, Public: true},
	}})
	get := func(path, subject, project, address string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("Subject", subject)
		r.Header.Set("Project", project)
		r.RemoteAddr = address
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		return w
	}
	// More than a second may pass on a busy machine, in which some more requests are accepted.
	var refused *httptest.ResponseRecorder
	for n := 0; refused == nil; n++ {
		require.Less(t, n, 100_000)
		if w := get("/x/a", "alice", "p1", fmt.Sprintf("192.0.2.%d:1", n%200)); w.Code != http.StatusNoContent {
			refused = w
			require.GreaterOrEqual(t, n, 2*perSecond)
		}
	}
	require.Equal(t, http.StatusTooManyRequests, refused.Code)
	require.Equal(t, "application/problem+json", refused.Header().Get("Content-Type"))
	require.Contains(t, refused.Body.String(), "limits.requests")
	wait, err := strconv.Atoi(refused.Header().Get("Retry-After"))
	require.NoError(t, err)
	require.Equal(t, 1, wait)
	require.Equal(t, http.StatusNoContent, get("/x/a", "bob", "p1", "192.0.2.1:1").Code)
	require.Equal(t, http.StatusNoContent, get("/x/a", "alice", "p2", "192.0.2.1:1").Code)
	for range 4 * perSecond {
		require.Equal(t, http.StatusNoContent, get("/x/probe", "", "", "192.0.2.1:1").Code)
	}

	// Without authentication the address counts, and not its port.
	refused = nil
	for n := 0; refused == nil; n++ {
		require.Less(t, n, 100_000)
		if w := get("/x/a", "", "", fmt.Sprintf("198.51.100.1:%d", n%60_000+1)); w.Code != http.StatusNoContent {
			refused = w
		}
	}
	require.Equal(t, http.StatusTooManyRequests, refused.Code)
	require.Equal(t, http.StatusNoContent, get("/x/a", "", "", "198.51.100.2:1").Code)

	// A client has a /64 of IPv6, so its addresses count together.
	refused = nil
	for n := 0; refused == nil; n++ {
		require.Less(t, n, 60_000)
		if w := get("/x/a", "", "", fmt.Sprintf("[2001:db8:0:1::%x]:1", n)); w.Code != http.StatusNoContent {
			refused = w
		}
	}
	require.Equal(t, http.StatusTooManyRequests, refused.Code)
	require.Equal(t, http.StatusNoContent, get("/x/a", "", "", "[2001:db8:0:2::1]:1").Code)
}
