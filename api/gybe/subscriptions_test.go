package gybe_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/lifecycle"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// TestDeliveriesAndReplay: a subscriber rejects notifications, which become dead letters with the reason, and gets them
// by a replay of one of them and of a time range.
func TestDeliveriesAndReplay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var status, posts atomic.Int64
	status.Store(http.StatusNotFound)
	s := httptest.NewServer(oracle.Subscriber(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		posts.Add(1)
		w.WriteHeader(int(status.Load()))
	})))
	t.Cleanup(s.Close)
	made, _, err := b.Subscriptions.In(lcm.Principal{}).Subscribe(t.Context(), &lifecycle.API, notify.Request{
		Version: "2.0.0", Callback: s.URL, Verbosity: sol.VerbosityFull,
	})
	require.NoError(t, err)
	instance, _ := b.operation(t) // two notifications
	b.Deliver(t)
	path := "/gybe/v1/subscriptions/" + made.ID

	state := apitest.JSON[gybeapi.Subscriber](t, b.Do(t, "GET", path, nil))
	require.Equal(t, gybeapi.SubscriberFailing, state.State)
	require.Equal(t, int64(2), state.Dead)
	require.Equal(t, "it answered 404 Not Found", state.LastError)
	all, err := b.client.Subscribers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []gybeapi.Subscriber{state}, all)
	page := apitest.JSON[gybeapi.DeliveryPage](t, b.Do(t, "GET", path+"/deliveries?state=DEAD&limit=1", nil))
	require.Len(t, page.Deliveries, 1)
	first := page.Deliveries[0]
	require.Equal(t, instance, first.ResourceID)
	require.Equal(t, "VnfIdentifierCreationNotification", first.NotificationType)
	require.Equal(t, "it answered 404 Not Found", first.LastError)
	require.Equal(t, 1, first.Attempts)
	rest, err := b.client.Deliveries(t.Context(), made.ID, url.Values{"after": {page.Next}})
	require.NoError(t, err)
	require.Len(t, rest.Deliveries, 1)
	require.Empty(t, rest.Next)
	pending := apitest.JSON[gybeapi.DeliveryPage](t, b.Do(t, "GET", path+"/deliveries?state=PENDING", nil))
	require.Empty(t, pending.Deliveries)

	status.Store(http.StatusServiceUnavailable)
	n, err := b.client.Replay(t.Context(), made.ID, gybeapi.Replay{NotificationID: first.NotificationID})
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	status.Store(http.StatusNoContent)
	require.Eventually(t, func() bool {
		b.Deliver(t)
		return apitest.JSON[gybeapi.Subscriber](t, b.Do(t, "GET", path, nil)).State == gybeapi.SubscriberOK
	}, time.Minute, time.Millisecond)
	since := time.Now().Add(-time.Hour)
	n, err = b.client.Replay(t.Context(), made.ID, gybeapi.Replay{Since: &since, State: "DEAD"})
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	b.Deliver(t)
	require.Equal(t, int64(0), apitest.JSON[gybeapi.Subscriber](t, b.Do(t, "GET", path, nil)).Dead)
	n, err = b.client.Replay(t.Context(), made.ID, gybeapi.Replay{Since: &since})
	require.NoError(t, err)
	require.Equal(t, int64(2), n, "delivered ones can be sent again, too")
}

func TestSubscriptionRequestsThatAreWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, _, err := b.Subscriptions.In(lcm.Principal{}).Subscribe(
		t.Context(), &lifecycle.API, notify.Request{Callback: noContent(t)},
	)
	require.NoError(t, err)
	path := "/gybe/v1/subscriptions/" + made.ID
	for target, want := range map[string]int{
		"GET " + path + "/deliveries?state=x": 400, "GET " + path + "/deliveries?after=x": 400,
		"GET " + path + "/deliveries?limit=0": 400, "GET /gybe/v1/subscriptions?after=x": 400,
		"GET /gybe/v1/subscriptions/5f1a9a3e-8d37-4c0b-9c55-2f3d53c0a0ff": 404, "GET /gybe/v1/subscriptions/x": 404,
		"GET /gybe/v1/subscriptions/x/deliveries": 404, "PUT " + path: 405,
	} {
		method, at, _ := strings.Cut(target, " ")
		require.Equal(t, want, b.Do(t, method, at, nil).Status, target)
	}
	for body, want := range map[string]int{
		`{}`: 422, `{"notificationId":"x","since":"2026-01-01T00:00:00Z"}`: 422, `{"since":"yesterday"}`: 400,
		`{"since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"}`: 422, `{"notificationId":"x"}`: 404,
		`{"notificationId":"5f1a9a3e-8d37-4c0b-9c55-2f3d53c0a0ff"}`: 404, `{"state":"LOST"}`: 400,
	} {
		require.Equal(t, want, b.Do(t, "POST", path+"/replay", body).Status, body)
	}
}

// noContent is the URL of a subscriber that accepts everything.
func noContent(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
