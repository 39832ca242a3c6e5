// Package e2e_test does the main job as a user does: everything goes through the public API of a whole node, with a
// real PostgreSQL behind it and the simulated cloud in front of it. Nothing of Gybe is replaced.
package e2e_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/helm/render"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/parallel"
	"github.com/gybe-nfv/gybe/test/rendered"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	plainSource   = "../packages/plain"
	clusterSource = "../../vnf-packages/kubernetes-cluster"
)

// world is one node with a database and a cloud of its own.
type world struct {
	t      *testing.T
	cloud  *simcloud.Cloud
	before simcloud.State // of the cloud, when nothing had been done
	pool   *pgxpool.Pool  // to look at raw rows
	node   *app.App
	api    *client.Client
	log    *apitest.Log // all that the node logs, debug level included
	seen   *apitest.Log // all that the API answered
	stop   func()
	// stopped is set by stop.
	stopped bool
	// requests are those for the package standard; only startStandard sets them.
	requests stack.Requests
}

// start starts a node in front of a cloud. change may be nil.
func start(t *testing.T, cloud *simcloud.Cloud, change func(*configuration)) *world {
	t.Helper()
	w := &world{t: t, cloud: cloud, before: cloud.State(), log: &apitest.Log{}, seen: &apitest.Log{}}
	database := devpg.TestURL(t)
	w.pool = devpg.Pool(t, database)
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = database, "127.0.0.1:0", "", t.TempDir()
	cfg.SSH.Port = sshPort
	cfg.Engine.RetryBase, cfg.Engine.RetryMax = 20*time.Millisecond, 200*time.Millisecond
	cfg.OpenStack.CancelPatience = time.Minute
	cfg.OpenStack.AwayFirst, cfg.OpenStack.AwayLongest = 20*time.Millisecond, 200*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	// when the node has stopped, and before its folder is removed
	t.Cleanup(func() { w.checkRendered(cfg.SecretKeyFile()) })
	subscriber := httptest.NewServer(oracle.Subscriber(t, nil))
	t.Cleanup(subscriber.Close)
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	w.node, err = app.New(t.Context(), cfg, app.Options{
		Log: log, Version: "e2e", WrapAPI: oracle.Handler(t),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.node.Run(ctx) }()
	<-w.node.Ready()
	w.stop = sync.OnceFunc(func() {
		w.stopped = true
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(w.stop)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	w.api, err = client.New(w.node.URL(), &http.Client{
		Transport: recorder{w.seen, transport},
	})
	require.NoError(t, err)
	_, err = w.api.Subscribe(t.Context(), sol.LccnSubscriptionRequest{CallbackURI: subscriber.URL})
	require.NoError(t, err)
	t.Cleanup(w.awaitDeliveries)
	return w
}

// awaitDeliveries waits until the subscriber has each notification, unless the node has been stopped.
func (w *world) awaitDeliveries() {
	if w.t.Failed() || w.stopped {
		return
	}
	require.Eventually(w.t, func() bool {
		var idle bool
		err := w.pool.QueryRow(context.WithoutCancel(w.t.Context()), `SELECT NOT EXISTS (SELECT FROM outbox WHERE
			fanned_out IS NULL) AND NOT EXISTS (SELECT FROM subscriber WHERE due IS NOT NULL)`).Scan(&idle)
		return err == nil && idle
	}, patience, 20*time.Millisecond, "notifications are not delivered")
}

// checkRendered compares the JSON that is stored with instances and operations with their rows.
func (w *world) checkRendered(keyFile string) {
	if w.t.Failed() {
		return
	}
	ring, err := secret.LoadOrCreate(keyFile)
	require.NoError(w.t, err)
	s, err := store.New(context.WithoutCancel(w.t.Context()), w.pool, ring, nil, slog.New(slog.DiscardHandler))
	require.NoError(w.t, err)
	rendered.Check(w.t, s, w.pool)
}

// archives are built once for all tests; they are the same bytes each time anyway.
var archives = struct {
	sync.Mutex
	dir  string
	path map[string]string
}{path: map[string]string{}}

func TestMain(m *testing.M) {
	render.Serve() // the test is the process that executes templates of charts, too
	dir, err := os.MkdirTemp("", "gybe-e2e")
	if err != nil {
		panic(err)
	}
	archives.dir = dir
	debug.SetGCPercent(300) // tests have little memory alive, and CPU is what limits them
	parallel.Allow(parallel.Several)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// archive builds the package of a source tree.
func archive(t *testing.T, source string) string {
	t.Helper()
	archives.Lock()
	defer archives.Unlock()
	if p, ok := archives.path[source]; ok {
		return p
	}
	p := filepath.Join(archives.dir, filepath.Base(source)+".zip")
	require.NoError(t, stack.BuildPackage(t.Context(), source, p))
	archives.path[source] = p
	return p
}

// onboard makes the package of a source tree usable and returns its vnfdId.
func (w *world) onboard(source string) string {
	w.t.Helper()
	vnfd, err := stack.Onboard(w.t.Context(), w.api, archive(w.t, source))
	require.NoError(w.t, err)
	return vnfd
}

// create makes an instance of a VNFD.
func (w *world) create(vnfd string) string {
	w.t.Helper()
	i, err := w.api.CreateInstance(w.t.Context(), sol.CreateVnfRequest{
		VnfdID: vnfd, VnfInstanceName: "v2-kubernetes-sample", VnfInstanceDescription: "v2-kubernetes-sample",
	})
	require.NoError(w.t, err)
	return i.ID
}

// instantiate starts an instantiation with any JSON as request.
func (w *world) instantiate(id string, params any) string {
	w.t.Helper()
	op, err := w.api.Instantiate(w.t.Context(), id, encode(w.t, params))
	require.NoError(w.t, err)
	return op
}

func (w *world) terminate(id string) string {
	w.t.Helper()
	op, err := w.api.Terminate(w.t.Context(), id, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
	require.NoError(w.t, err)
	return op
}

// plain is the request for the plain package.
func (w *world) plain(flavour string) map[string]any {
	return stack.PlainParams(flavour, "", w.cloud.Info())
}

// cluster is the parameter file of the cluster package, with the names of this cloud in it.
func (w *world) cluster(flavour string) map[string]any {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), flavour+".json")
	require.NoError(w.t, stack.LocalParams(
		filepath.Join(clusterSource, "params", flavour+"_kubernetes_param_file_v2.json"), file, w.cloud.Info(),
	))
	raw, err := os.ReadFile(file)
	require.NoError(w.t, err)
	var p map[string]any
	require.NoError(w.t, json.Unmarshal(raw, &p))
	return p
}

// Waits of the tests. A test waits for a condition; patience only ends a test whose condition never becomes true, also
// on a busy machine. A look costs the node a request and the database a query.
const (
	interval = 50 * time.Millisecond
	patience = 5 * time.Minute
)

// resting is how an operation ended, or stopped for its user to decide.
func (w *world) resting(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < patience; <-tick.C {
		o, err := w.api.Operation(w.t.Context(), op)
		require.NoError(w.t, err)
		switch o.OperationState {
		case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
		default:
			return o
		}
	}
	w.tell(op)
	require.Fail(w.t, "the operation does not come to rest")
	return nil
}

// tell logs all that is known of an operation.
func (w *world) tell(op string) {
	w.t.Helper()
	p := w.progress(op)
	for _, l := range p.Lines[max(0, len(p.Lines)-40):] {
		w.t.Log(l.StepID, l.Text)
	}
	for _, s := range p.Steps {
		w.t.Logf("%d %s %s %s: %s %s", s.ID, s.Phase, s.Name, s.Target, s.State, s.Detail)
	}
	w.t.Logf("%s %s %s", p.OperationState, p.Phase, p.Waiting)
}

// completed waits for an operation that must succeed.
func (w *world) completed(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	o := w.resting(op)
	if o.OperationState != sol.LcmOperationStateCompleted {
		w.tell(op)
	}
	require.Equal(w.t, sol.LcmOperationStateCompleted, o.OperationState, "%+v", o.Error)
	require.Nil(w.t, o.Error)
	return o
}

// failed waits for an operation that must fail for now.
func (w *world) failed(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	o := w.resting(op)
	require.Equal(w.t, sol.LcmOperationStateFailedTemp, o.OperationState)
	require.NotNil(w.t, o.Error)
	return o
}

func (w *world) progress(op string) *gybeapi.Progress {
	w.t.Helper()
	p, err := w.api.Progress(w.t.Context(), op, "", 10_000)
	require.NoError(w.t, err)
	return p
}

// gone wants the cloud to hold what it held before, not more and not less.
func (w *world) gone() {
	w.t.Helper()
	require.Empty(w.t, w.cloud.State().Since(w.before), "the cloud holds leftovers, or lost what it had")
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

// at is a member of decoded JSON, by names.
func at(t *testing.T, v any, path ...string) map[string]any {
	t.Helper()
	for _, name := range path {
		m, ok := v.(map[string]any)
		require.True(t, ok, "%v has no %s", v, name)
		v = m[name]
	}
	m, ok := v.(map[string]any)
	require.True(t, ok, "%v is no object", path)
	return m
}

// phases joins the names of phases, and shows the state of those that are not done.
func phases(list []gybeapi.Phase) string {
	var out []string
	for _, p := range list {
		name := p.Name
		if p.State != "DONE" {
			name += "(" + p.State + ")"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}
