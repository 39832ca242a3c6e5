package delivery_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/callback"
	"github.com/gybe-nfv/gybe/pkg/notify/delivery"
	"github.com/gybe-nfv/gybe/pkg/notify/lifecycle"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = time.Minute // of a wait that hangs

// world is a node's side of notifications on its own database.
type world struct {
	pool   *pgxpool.Pool
	store  *store.Store
	ledger *store.Deliveries
	sender *callback.Client
	runner *delivery.Runner
	seen   *observer

	mu  sync.Mutex
	now time.Time // of ledger
}

func start(t *testing.T) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	w := &world{pool: devpg.New(t), now: time.Now(), seen: &observer{}}
	ring, err := secret.Parse([]byte(secret.Generate() + "\n"))
	require.NoError(t, err)
	w.store, err = store.New(t.Context(), w.pool, ring, &engine.Queue{}, quiet)
	require.NoError(t, err)
	w.ledger = &store.Deliveries{Store: w.store, Now: w.clock}
	w.sender, err = callback.New(callback.Options{Timeout: limit, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(w.sender.Close)
	w.runner = w.node("n1")
	return w
}

// node is one of several on the database.
func (w *world) node(name string) *delivery.Runner {
	return &delivery.Runner{
		Ledger: w.ledger, Sender: w.sender, Node: name,
		APIs: map[string]*notify.API{lifecycle.API.Name: &lifecycle.API},
		Link: func(path string) sol.Link { return sol.Link{Href: "https://nfv.example" + path} },
		Log:  slog.New(slog.DiscardHandler), Observe: w.seen, Changed: w.store.Changed(),
		Options: delivery.Options{
			Patience: 24 * time.Hour, RetryBase: time.Second, RetryMax: 5 * time.Minute, Subscribers: 8, Concurrency: 4,
		},
	}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// once delivers what is due.
func (w *world) once(t *testing.T) {
	t.Helper()
	require.NoError(t, w.runner.Once(t.Context()))
}

func (w *world) records() notify.Records { return w.store.Subscriptions(lcm.Principal{}) }

func (w *world) subscribe(t *testing.T, url string) *notify.Subscription {
	t.Helper()
	conditions, err := lifecycle.API.Parse(nil)
	require.NoError(t, err)
	s := &notify.Subscription{
		ID: uuid.NewString(), API: lifecycle.API.Name, Version: "2.0.0", Created: time.Now(), Callback: url,
		Verbosity: sol.VerbosityFull, Conditions: conditions,
	}
	keys, _ := conditions.Keys(s.API)
	_, err = w.records().Insert(t.Context(), s, keys, false, 100_000)
	require.NoError(t, err)
	return s
}

// happen adds the messages of an operation of an instance, and returns the ids of the notifications in order.
func (w *world) happen(t *testing.T, instance string, states ...sol.LcmOperationStateType) (ids []string) {
	t.Helper()
	op := &lcm.Operation{ID: uuid.NewString(), InstanceID: instance, Type: sol.LcmOperationScale}
	for _, state := range states {
		op.State = state
		m, err := lcm.StateMessage(op, lcm.SystemClock{})
		require.NoError(t, err)
		_, err = w.pool.Exec(t.Context(), `INSERT INTO outbox
				(id, kind, instance_id, op_id, time, body, operation, operation_state)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, m.ID, m.Kind, instance, op.ID, m.Time, m.Body, op.Type, op.State)
		require.NoError(t, err)
		ids = append(ids, m.ID)
	}
	return ids
}

const (
	starting   = sol.LcmOperationStateStarting
	processing = sol.LcmOperationStateProcessing
	completed  = sol.LcmOperationStateCompleted
)

func (w *world) status(t *testing.T, s *notify.Subscription) *notify.Status {
	t.Helper()
	status, err := w.records().Status(t.Context(), s.ID)
	require.NoError(t, err)
	return status
}

func (w *world) deliveries(t *testing.T, s *notify.Subscription) []notify.Delivery {
	t.Helper()
	list, err := w.records().Deliveries(t.Context(), s.ID, notify.DeliveryQuery{Limit: 10_000})
	require.NoError(t, err)
	return list
}

// events lists the states of subscribers in the event feed.
func (w *world) events(t *testing.T) (out []string) {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), "SELECT body ->> 'state' FROM event WHERE kind = $1 ORDER BY tx, seq",
		store.KindSubscription)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var state string
		require.NoError(t, rows.Scan(&state))
		out = append(out, state)
	}
	return out
}

// receiver is a subscriber that keeps what it accepts.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	accepted []sol.VnfLcmOperationOccurrenceNotification
	// answer handles a request if it returns true; else the receiver accepts. n counts requests from 1.
	answer func(w http.ResponseWriter, r *http.Request, n int) bool
}

func listen(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int) bool) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var n sol.VnfLcmOperationOccurrenceNotification
	if err == nil {
		err = json.Unmarshal(body, &n)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.requests++
	at := r.requests
	r.mu.Unlock()
	if r.answer != nil && r.answer(w, req, at) {
		return
	}
	r.mu.Lock()
	r.accepted = append(r.accepted, n)
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// of lists the ids that were accepted, of one instance or all.
func (r *receiver) of(instance string) (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.accepted {
		if instance == "" || n.VnfInstanceID == instance {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// observer counts.
type observer struct {
	mu       sync.Mutex
	outcomes map[string]int
	dead     int64
}

// Notification implements delivery.Observer.
func (o *observer) Notification(_, outcome string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.outcomes == nil {
		o.outcomes = map[string]int{}
	}
	o.outcomes[outcome]++
}

// DeadLetters implements delivery.Observer.
func (o *observer) DeadLetters(_ string, n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead += n
}
