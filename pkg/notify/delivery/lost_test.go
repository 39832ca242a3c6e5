package delivery_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestANodeThatLostItsClaimSendsNothingMore: a node is found dead while a subscriber thinks about its request. The
// other node delivers. Then the first node gets an answer that would let it go on with the next notification.
func TestANodeThatLostItsClaimSendsNothingMore(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusNoContent, http.StatusBadRequest, http.StatusInternalServerError} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			w := start(t)
			reached, release := make(chan struct{}), make(chan struct{})
			r := listen(t, func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n == 1 {
					close(reached)
					<-release
					w.WriteHeader(code)
				}
				return n == 1
			})
			s := w.subscribe(t, r.URL)
			want := w.happen(t, uuid.NewString(), starting, processing, completed)
			_, err := w.pool.Exec(t.Context(),
				"INSERT INTO node (id, name, address, version) VALUES ('n1', 'n1', '', '')")
			require.NoError(t, err)
			done := make(chan error)
			go func() { done <- w.runner.Once(t.Context()) }()
			<-reached
			_, err = w.pool.Exec(t.Context(), "UPDATE node SET ended = now()")
			require.NoError(t, err)
			n, err := w.ledger.EndLeases(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(1), n)
			require.NoError(t, w.node("n2").Once(t.Context()))
			require.Equal(t, want, r.of(""))
			close(release)
			require.NoError(t, <-done)
			require.Equal(t, 1+len(want), r.count(), "the first request, and one for each notification")
			require.Equal(t, want, r.of(""))
			require.Equal(t, int64(0), w.status(t, s).Dead+w.status(t, s).Pending)
			require.Empty(t, w.events(t))
		})
	}
}

// TestALostRegistrationCutsRequestsOff: the next owner of the subscriber sends the notification again, so the answer to
// the first request has no use.
func TestALostRegistrationCutsRequestsOff(t *testing.T) {
	t.Parallel()
	w := start(t)
	reached, cut := make(chan struct{}), make(chan struct{})
	r := listen(t, func(_ http.ResponseWriter, r *http.Request, n int) bool {
		if n == 1 {
			close(reached)
			<-r.Context().Done()
			close(cut)
		}
		return n == 1
	})
	w.subscribe(t, r.URL)
	want := w.happen(t, uuid.NewString(), starting)
	lost, done := make(chan struct{}), make(chan struct{})
	var holds atomic.Int64
	w.runner.Hold = func() (<-chan struct{}, func(), bool) {
		select {
		case <-lost:
			return nil, nil, false
		default:
			holds.Add(1)
			return lost, func() { holds.Add(-1) }, true
		}
	}
	go func() {
		_ = w.runner.Once(t.Context())
		close(done)
	}()
	<-reached
	require.Positive(t, holds.Load())
	close(lost)
	<-cut
	<-done
	require.Zero(t, holds.Load())
	w.pass(time.Minute)
	w.once(t)
	require.Equal(t, 1, r.count(), "a node that is not registered claims nothing")
	require.NoError(t, w.node("n2").Once(t.Context()))
	require.Equal(t, want, r.of(""))
}
