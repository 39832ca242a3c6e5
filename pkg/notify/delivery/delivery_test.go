package delivery_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/notify"
)

func status(code int) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.WriteHeader(code)
		return true
	}
}

// drop closes the connection in the middle of an answer.
func drop(w http.ResponseWriter) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = buf.WriteString("HTTP/1.1 204 No Con")
	_ = buf.Flush()
	_ = conn.Close()
}

// TestDeliveryUntilTheSubscriberAccepts: whatever goes wrong for some time, every notification is accepted once, in
// order, with the id that the outbox has.
func TestDeliveryUntilTheSubscriberAccepts(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, n int) bool{
		"accepts": nil,
		"500 five times": func(w http.ResponseWriter, r *http.Request, n int) bool {
			return n <= 5 && status(500)(w, r, n)
		},
		"503 every other time": func(w http.ResponseWriter, r *http.Request, n int) bool {
			return n%2 == 1 && status(503)(w, r, n)
		},
		"408": func(w http.ResponseWriter, r *http.Request, n int) bool { return n == 2 && status(408)(w, r, n) },
		"200": func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Type", "application/json")
			return false
		},
		"closes the connection in the middle": func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n > 4 {
				return false
			}
			drop(w)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			r := listen(t, answer)
			s := w.subscribe(t, r.URL)
			want := w.happen(t, uuid.NewString(), starting, processing, completed)
			for range 40 {
				w.once(t)
				w.pass(10 * time.Minute)
			}
			require.Equal(t, want, r.of(""))
			require.Equal(t, notify.Status{Subscription: *s, Pending: 0}.Pending, w.status(t, s).Pending)
			require.Zero(t, w.status(t, s).Failures)
			for _, n := range r.accepted {
				require.Equal(t, s.ID, n.SubscriptionID)
			}
		})
	}
}

// TestDeliveryHonoursRetryAfter: the subscriber says when it wants the next request.
func TestDeliveryHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := listen(t, func(w http.ResponseWriter, _ *http.Request, n int) bool {
		w.Header().Set("Retry-After", "600")
		if n == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return n == 1
	})
	w.subscribe(t, r.URL)
	w.happen(t, uuid.NewString(), starting)
	w.once(t)
	w.pass(590 * time.Second)
	w.once(t)
	require.Equal(t, 1, r.count())
	w.pass(20 * time.Second)
	w.once(t)
	require.Len(t, r.of(""), 1)
}

// TestRejectedNotificationsAreDeadLetters: a request that will fail again is not repeated, and the next notification is
// sent. The address of a redirect is not asked.
func TestRejectedNotificationsAreDeadLetters(t *testing.T) {
	t.Parallel()
	other := listen(t, nil)
	for name, tt := range map[string]struct {
		code   int
		reason string
	}{
		"400": {400, "it answered 400 Bad Request"}, "404": {404, "it answered 404 Not Found"},
		"401": {401, "it answered 401 Unauthorized"},
		"302": {302, "it answered 302 Found, a redirect, and redirects are not followed"},
		"307": {307, "it answered 307 Temporary Redirect, a redirect, and redirects are not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			r := listen(t, func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n == 1 {
					w.Header().Set("Location", other.URL)
					w.WriteHeader(tt.code)
				}
				return n == 1
			})
			s := w.subscribe(t, r.URL)
			ids := w.happen(t, uuid.NewString(), starting, processing)
			w.once(t)
			require.Equal(t, ids[1:], r.of(""))
			list := w.deliveries(t, s)
			require.Equal(t, notify.Dead, list[0].State)
			require.Equal(t, tt.reason, list[0].Error)
			require.Equal(t, 1, list[0].Attempts)
			require.Equal(t, notify.Delivered, list[1].State)
			require.Equal(t, []string{"FAILING", "RECOVERED"}, w.events(t))
			require.Zero(t, other.count())

			n, err := w.records().Replay(t.Context(), s.ID, notify.Replay{Message: ids[0]}, time.Hour)
			require.NoError(t, err)
			require.Equal(t, int64(1), n)
			w.pass(time.Minute)
			w.once(t)
			require.Equal(t, []string{ids[1], ids[0]}, r.of(""))
		})
	}
}

// TestADayOfDeliveries: a subscriber is away for a day. It is asked now and then, by one request at a time, and
// notifications that are a day old become dead letters. A replay delivers them in order.
func TestADayOfDeliveries(t *testing.T) {
	t.Parallel()
	w := start(t)
	var mu sync.Mutex
	away := true
	r := listen(t, func(w http.ResponseWriter, r *http.Request, n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return away && status(503)(w, r, n)
	})
	fine := listen(t, nil)
	w.subscribe(t, fine.URL)
	s := w.subscribe(t, r.URL)
	instance := uuid.NewString()
	var ids []string
	began := w.clock()
	for hour := range 30 {
		ids = append(ids, w.happen(t, instance, starting, completed)...)
		require.Eventually(t, func() bool {
			w.once(t)
			w.pass(5 * time.Minute)
			return w.clock().Sub(began) >= time.Duration(hour+1)*time.Hour
		}, limit, time.Microsecond)
	}
	require.Equal(t, ids, fine.of(""), "another subscriber gets everything")
	got := w.status(t, s)
	require.Greater(t, got.Dead, int64(8))
	require.Less(t, got.Dead, int64(16))
	require.Equal(t, int64(len(ids)), got.Dead+got.Pending)
	require.WithinDuration(t, began, got.FailingSince, time.Minute)
	require.Equal(t, "it answered 503 Service Unavailable", got.Error)
	require.Less(t, r.count(), 30*12+20, "at most one request in five minutes, and the first ones")
	require.Greater(t, r.count(), 30*6)
	require.Equal(t, []string{"FAILING"}, w.events(t))
	failing, err := w.records().Failing(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []notify.Status{*got}, failing)
	w.seen.mu.Lock()
	require.Equal(t, got.Dead, w.seen.dead)
	w.seen.mu.Unlock()

	mu.Lock()
	away = false
	mu.Unlock()
	w.pass(10 * time.Minute)
	w.once(t)
	require.Equal(t, ids[got.Dead:], r.of(""))
	dead := notify.Replay{Since: began.Add(-time.Hour), State: notify.Dead}
	n, err := w.records().Replay(t.Context(), s.ID, dead, time.Hour)
	require.NoError(t, err)
	require.Equal(t, got.Dead, n)
	w.pass(time.Minute)
	w.once(t)
	require.Equal(t, append(ids[got.Dead:], ids[:got.Dead]...), r.of(""))
	require.Equal(t, []string{"FAILING", "RECOVERED"}, w.events(t))
	require.Zero(t, w.status(t, s).Dead+w.status(t, s).Pending)
	failing, err = w.records().Failing(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, failing)
}

// TestSubscribersThatHangDoNotDelayOthers: some hang until the test releases them; the other gets everything during
// this time.
func TestSubscribersThatHangDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ledger.Now = nil
	release, hanging := make(chan struct{}), make(chan struct{}, 100)
	slow := listen(t, func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		hanging <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	})
	fine := listen(t, nil)
	for range 7 { // the node has eight places
		w.subscribe(t, slow.URL)
	}
	w.subscribe(t, fine.URL)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = w.runner.Run(ctx) })
	defer running.Wait()
	defer cancel()

	instance := uuid.NewString()
	first := w.happen(t, instance, starting)
	for range 7 {
		<-hanging
	}
	want := slices.Concat(first, w.happen(t, instance, processing, completed))
	require.Eventually(t, func() bool { return len(fine.of("")) == len(want) }, limit, time.Millisecond)
	require.Equal(t, want, fine.of(""))
	require.Empty(t, slow.of(""))
	close(release)
	require.Eventually(t, func() bool { return len(slow.of("")) == 7*len(want) }, limit, time.Millisecond)
}

// TestManyNodesKeepTheOrder: several nodes deliver at the same time; each notification arrives once, and those of an
// instance in order.
func TestManyNodesKeepTheOrder(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ledger.Now = nil
	subscribers := []*receiver{listen(t, nil), listen(t, nil), listen(t, nil)}
	for _, r := range subscribers {
		w.subscribe(t, r.URL)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		running.Go(func() { _ = w.node(name).Run(ctx) })
	}
	defer running.Wait()
	defer cancel()
	instances := []string{uuid.NewString(), uuid.NewString(), uuid.NewString(), uuid.NewString()}
	want := map[string][]string{}
	for range 10 {
		for _, i := range instances {
			want[i] = append(want[i], w.happen(t, i, starting, processing, completed)...)
		}
	}
	for _, r := range subscribers {
		require.Eventually(t, func() bool { return len(r.of("")) >= 120 }, limit, time.Millisecond)
		for _, i := range instances {
			require.Equal(t, want[i], r.of(i))
		}
	}
}

// TestAnotherNodeContinues: a node claims a subscriber and dies. When its lease is over, another node delivers.
func TestAnotherNodeContinues(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := listen(t, nil)
	w.subscribe(t, r.URL)
	want := w.happen(t, uuid.NewString(), starting)
	_, err := w.ledger.FanOut(t.Context(), 10, time.Hour)
	require.NoError(t, err)
	claims, err := w.ledger.ClaimSubscribers(t.Context(), "dead", false, 10, 15*time.Second)
	require.NoError(t, err)
	require.Len(t, claims, 1)
	w.once(t)
	require.Empty(t, r.of(""))
	w.pass(16 * time.Second)
	w.once(t)
	require.Equal(t, want, r.of(""))

	// The first node comes back.
	require.NoError(t, w.ledger.Release(t.Context(), &claims[0], notify.Outcome{Wait: time.Hour}))
	next := w.happen(t, uuid.NewString(), starting)
	w.once(t)
	require.Equal(t, append(want, next...), r.of(""))
}
