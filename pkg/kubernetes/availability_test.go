package kubernetes_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
)

// TestAvailability: a server that does not answer is shown with the reason until it answers again, also when no
// operation asks it.
func TestAvailability(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(server.Close)
	changed := make(chan struct{}, 10)
	a := kubernetes.NewAvailability(t.Context(), func() { changed <- struct{}{} })
	t.Cleanup(a.Close)
	get := func() {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api", http.NoBody)
		require.NoError(t, err)
		res, err := a.Wrap("k", server.Client().Transport).RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	get()
	require.Equal(t, []kubernetes.ServerState{{Key: "k"}}, a.Servers())
	require.Empty(t, changed)

	down.Store(true)
	get()
	<-changed
	first := a.Servers()[0]
	require.False(t, first.Available())
	require.Contains(t, first.Error, "502")
	get()
	require.Equal(t, first.Since, a.Servers()[0].Since, "it is the same failure")

	down.Store(false)
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing notices that the server answers again")
	}
	require.True(t, a.Servers()[0].Available())
}
