package crash_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// notified keeps the ids of notifications that a subscriber has accepted, each once, in order, by VNF instance.
type notified struct {
	mu       sync.Mutex
	of       map[string][]string
	repeated int
}

// ServeHTTP implements http.Handler.
func (n *notified) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID            string `json:"id"`
		VnfInstanceID string `json:"vnfInstanceId"`
	}
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&body) == nil {
		n.mu.Lock()
		if slices.Contains(n.of[body.VnfInstanceID], body.ID) {
			n.repeated++
		} else {
			n.of[body.VnfInstanceID] = append(n.of[body.VnfInstanceID], body.ID)
		}
		n.mu.Unlock()
	}
	w.WriteHeader(http.StatusNoContent)
}

func (n *notified) ids(instance string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.of[instance])
}

// A node dies at each write of a notification: the message, the fan-out, the claim of the subscriber, the result and
// the end of the claim. Every notification arrives, in order, and there is one delivery for it.
func TestDeathInADelivery(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	n := w.serve("one")
	vnfd := w.onboard(n.api, plainSource)
	subscriber := &notified{of: map[string][]string{}}
	s := httptest.NewServer(oracle.Subscriber(t, subscriber))
	t.Cleanup(s.Close)
	made, err := n.api.Subscribe(t.Context(), sol.LccnSubscriptionRequest{CallbackURI: s.URL})
	require.NoError(t, err)
	idle := func() bool {
		return w.column(`SELECT (NOT EXISTS (SELECT FROM outbox WHERE fanned_out IS NULL) AND NOT EXISTS (SELECT FROM
			subscriber WHERE due IS NOT NULL))::text`)[0] == "true"
	}
	g := w.newGate("outbox", "delivery", "subscriber")
	killed := 0
	for after := range deaths {
		for nth, alive := 1, false; !alive; nth++ {
			alive = !g.dies(nth, after, n.Kill, func() {
				i, err := n.api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
				if err != nil || n.api.DeleteInstance(t.Context(), i.ID) != nil {
					return
				}
				tick := time.NewTicker(interval)
				defer tick.Stop()
				for ; !idle(); <-tick.C {
					if _, err := n.api.Subscriber(t.Context(), made.ID); err != nil {
						return
					}
				}
			})
			if !alive {
				killed++
				w.exec("UPDATE subscriber SET due = now() + interval '1 day' WHERE node <> ''") // the lease never ends
				n.restart()
			}
			require.Eventually(t, idle, patience, interval)
			w.delivered(subscriber)
		}
	}
	t.Logf("%d deaths, %d notifications were sent again", killed, subscriber.repeated)
	require.GreaterOrEqual(t, killed, 2*8, "two messages, two fan-outs of three writes, and the delivery")
	require.LessOrEqual(t, subscriber.repeated, killed)
	require.Equal(t, []string{"0"}, w.column("SELECT count(*)::text FROM delivery WHERE state <> 'DELIVERED'"))
}

// delivered compares the messages of the outbox with what arrived.
func (w *world) delivered(got *notified) {
	w.t.Helper()
	for _, instance := range w.column("SELECT DISTINCT instance_id::text FROM outbox WHERE api = 'vnflcm'") {
		want := w.column("SELECT id::text FROM outbox WHERE instance_id = $1::text::uuid ORDER BY seq", instance)
		require.Equal(w.t, want, got.ids(instance))
	}
	require.Equal(w.t, w.column("SELECT count(*)::text FROM outbox WHERE api = 'vnflcm'"),
		w.column("SELECT count(*)::text FROM delivery"))
}

// TestAnotherNodeDelivers: a node dies while a subscriber answers. Another one sends the notification as soon as the
// node is found dead: the lease has no end here.
func TestAnotherNodeDelivers(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	nodes := w.pair()
	vnfd := w.onboard(nodes.a.api, plainSource)
	subscriber := &notified{of: map[string][]string{}}
	reached, release := make(chan struct{}, 10), make(chan struct{})
	s := httptest.NewServer(oracle.Subscriber(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			reached <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
				return
			}
		}
		subscriber.ServeHTTP(rw, r)
	})))
	t.Cleanup(s.Close)
	_, err := nodes.a.api.Subscribe(t.Context(), sol.LccnSubscriptionRequest{CallbackURI: s.URL})
	require.NoError(t, err)
	i, err := nodes.a.api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
	require.NoError(t, err)
	<-reached
	dead := nodes.delivering()
	dead.Kill()
	w.exec("UPDATE subscriber SET due = now() + interval '1 day' WHERE node <> ''")
	close(release)
	require.Eventually(t, func() bool { return len(subscriber.ids(i.ID)) == 1 }, patience, interval)
	require.Eventually(t, func() bool {
		return w.column("SELECT state FROM delivery")[0] == "DELIVERED"
	}, patience, interval)
}

// delivering is the node that has claimed the only subscriber. A request that takes too long ends the claim, and the
// next one comes after a pause.
func (p *pair) delivering() *real {
	p.t.Helper()
	var owner []string
	require.Eventually(p.t, func() bool {
		owner = p.column("SELECT n.name FROM subscriber b JOIN node n ON n.id = b.node")
		return len(owner) == 1
	}, patience, interval)
	if owner[0] == p.a.ID {
		return p.a
	}
	return p.b
}

// TestANodeThatSeemsDeadDoesNotDeliver: a node loses its database session while a subscriber answers, and lives.
// Another one delivers; the request of the first is cut off, and its result is not stored.
func TestANodeThatSeemsDeadDoesNotDeliver(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	nodes := w.pair()
	vnfd := w.onboard(nodes.a.api, plainSource)
	subscriber := &notified{of: map[string][]string{}}
	reached, cut := make(chan struct{}), make(chan struct{})
	var first sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		hangs := false
		if r.Method == http.MethodPost {
			first.Do(func() { hangs = true })
		}
		if !hangs {
			subscriber.ServeHTTP(rw, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // the server notices the end of the connection only then
		close(reached)
		<-r.Context().Done()
		close(cut)
	}))
	t.Cleanup(s.Close)
	_, err := nodes.a.api.Subscribe(t.Context(), sol.LccnSubscriptionRequest{CallbackURI: s.URL})
	require.NoError(t, err)
	i, err := nodes.a.api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
	require.NoError(t, err)
	<-reached
	seems := nodes.delivering()
	session := "gybe node " + seems.ID
	w.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", session)
	<-cut
	require.NoError(t, nodes.a.api.DeleteInstance(t.Context(), i.ID))
	require.Eventually(t, func() bool { return len(subscriber.ids(i.ID)) == 2 }, patience, interval)
	require.Eventually(t, func() bool {
		return w.column("SELECT count(*)::text FROM delivery WHERE state = 'DELIVERED'")[0] == "2"
	}, patience, interval)
	w.delivered(subscriber)
	require.Equal(t, []string{"0"}, w.column("SELECT count(*)::text FROM event WHERE kind = 'subscription.state'"))
}
