package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

func settings(t *testing.T, database string) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = database, "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	return cfg
}

// start runs a node until stop is called.
func start(t *testing.T, cfg config.Config) (n *app.App, c *client.Client, stop func()) {
	t.Helper()
	n, err := app.New(t.Context(), cfg, app.Options{
		Log: slog.New(slog.DiscardHandler), Version: "v1", WrapAPI: oracle.Handler(t),
	})
	require.NoError(t, err)
	stop = run(t, n)
	c, err = client.New(n.URL(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	return n, c, stop
}

// run runs a node until stop is called.
func run(t *testing.T, n *app.App) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	<-n.Ready()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(stop)
	return stop
}

// TestScriptsThatCannotBeRun: a node that is configured to run scripts of packages, and cannot, does not start and
// reports the reason.
func TestScriptsThatCannotBeRun(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "postgres://user@127.0.0.1:1/none")
	cfg.Scripts.Python = "/does/not/exist"
	_, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "scripts.python: interpreter /does/not/exist")
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(raw)
}

func TestANodeStartsServesAndStops(t *testing.T) {
	database := devpg.EmptyURL(t)
	before := goleak.IgnoreCurrent()
	cfg := settings(t, database)
	cfg.Database.MaxConns = 9
	began := time.Now()
	n, c, stop := start(t, cfg)
	require.NoError(t, c.Ready(t.Context()))
	t.Logf("from nothing to ready, migrations included: %s", time.Since(began))

	status, _ := get(t, n.URL()+"/healthz")
	require.Equal(t, 200, status)
	status, text := get(t, "http://"+n.DebugAddr()+"/metrics")
	require.Equal(t, 200, status)
	for _, want := range []string{
		`gybe_build_info{version="v1"} 1`, "gybe_http_request_duration_seconds_count{",
		"gybe_db_connections_max 9", "gybe_engine_ticks_running{",
	} {
		require.Contains(t, text, want)
	}
	require.Contains(t, text, `promhttp_metric_handler_errors_total{cause="gathering"} 0`, "every metric can be read")
	status, _ = get(t, "http://"+n.DebugAddr()+"/debug/pprof/")
	require.Equal(t, 200, status)
	status, _ = get(t, n.URL()+"/metrics")
	require.Equal(t, 404, status, "metrics are not for the network")

	nodes, err := c.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	require.Equal(t, n.URL(), nodes[0].Address)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	streamed := make(chan error, 1)
	go func() {
		for _, err := range c.Events(ctx, client.EventQuery{}) {
			streamed <- err
		}
	}()
	stop() // without an error: a follower of events does not hold it up until the HTTP server's time is over
	require.Error(t, <-streamed)
	_, err = net.Dial("tcp", n.Addr())
	require.Error(t, err)
	goleak.VerifyNone(t, before, goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// TestCallsToVimsAreMeasured: who watches a node sees how often and how fast the services of its VIMs answer.
func TestCallsToVimsAreMeasured(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	n, c, _ := start(t, settings(t, devpg.TestURL(t)))
	_, err := c.CreateVim(t.Context(), gybeapi.Vim{
		Type: "openstack", AuthURL: cloud.AuthURL(), VimProject: sol.KeyValuePairs{"name": simcloud.Project},
		AuthCred: sol.KeyValuePairs{"username": simcloud.Username, "password": simcloud.Password},
	})
	require.NoError(t, err)
	_, text := get(t, "http://"+n.DebugAddr()+"/metrics")
	require.Contains(
		t, text, `gybe_vim_request_duration_seconds_count{method="POST",service="keystone",status="2xx"} 1`,
	)
}

// TestAVimIsRegisteredWithItsOwnAuthority: a cloud with a private CA, described in full or in the operator's
// clouds.yaml.
func TestAVimIsRegisteredWithItsOwnAuthority(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{TLS: true})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.pem"), cloud.CA(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "clouds.yaml"), fmt.Appendf(nil, `clouds:
  prod:
    auth: {auth_url: %q, username: %s, password: %s, project_name: %s, user_domain_name: %s, project_domain_name: %s}
    cacert: ca.pem
`, cloud.AuthURL(), simcloud.Username, simcloud.Password, simcloud.Project, simcloud.Domain, simcloud.Domain), 0o600))
	cfg := settings(t, devpg.TestURL(t))
	cfg.OpenStack.CloudsFile = filepath.Join(dir, "clouds.yaml")
	_, c, _ := start(t, cfg)
	register := func(name, url string, cred, project sol.KeyValuePairs) error {
		_, err := c.CreateVim(
			t.Context(), gybeapi.Vim{Name: name, Type: "openstack", AuthURL: url, AuthCred: cred, VimProject: project},
		)
		return err
	}
	user := sol.KeyValuePairs{"username": simcloud.Username, "password": simcloud.Password}
	project := sol.KeyValuePairs{"name": simcloud.Project}
	require.ErrorContains(t, register("untrusted", cloud.AuthURL(), user, project), "certificate")
	user["ssl_ca_cert"] = "nonsense"
	require.ErrorContains(t, register("nonsense", cloud.AuthURL(), user, project), "/vim/auth_cred/ssl_ca_cert")
	user["ssl_ca_cert"] = string(cloud.CA())
	require.NoError(t, register("trusted", cloud.AuthURL(), user, project))
	require.NoError(t, register("by name", "", sol.KeyValuePairs{"cloud": "prod"}, sol.KeyValuePairs{}))
	require.ErrorContains(
		t, register("unknown", "", sol.KeyValuePairs{"cloud": "none"}, sol.KeyValuePairs{}), "/vim/auth_cred/cloud",
	)
	vims, err := c.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, vims, 2)
}

// TestMistakesInARegistrationAreTheUsers: wrong credentials and an address that the node does not connect to are 422
// with a pointer, so that a client does not take them for a broken VIM.
func TestMistakesInARegistrationAreTheUsers(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	for name, tt := range map[string]struct {
		loopback, password, pointer, detail string
	}{
		"password": {config.LoopbackAuto, "wrong", "/vim/auth_cred/password", "answered 401"},
		"address": {
			config.LoopbackNo, simcloud.Password, "/vim/auth_url",
			"(127.0.0.1) is not an address that this VNFM connects to",
		},
	} {
		cfg := settings(t, devpg.TestURL(t))
		cfg.Outbound.Loopback = tt.loopback
		_, c, stop := start(t, cfg)
		_, err := c.CreateVim(t.Context(), gybeapi.Vim{
			Type: "openstack", AuthURL: cloud.AuthURL(), VimProject: sol.KeyValuePairs{"name": simcloud.Project},
			AuthCred: sol.KeyValuePairs{"username": simcloud.Username, "password": tt.password},
		})
		var problem *client.Error
		require.ErrorAs(t, err, &problem, name)
		require.Equal(t, http.StatusUnprocessableEntity, problem.Problem.Status, name)
		require.Contains(t, problem.Problem.Detail, tt.detail, name)
		require.Len(t, problem.Problem.InvalidParams, 1, name)
		require.Equal(t, tt.pointer, problem.Problem.InvalidParams[0].Pointer)
		stop()
	}
}

func TestNodesShareADatabase(t *testing.T) {
	t.Parallel()
	cfg := settings(t, devpg.TestURL(t))
	cfg.DebugListen = ""
	first, second := cfg, cfg
	first.NodeID, second.NodeID = "one", "two"
	_, c, stop := start(t, first)
	b, _, _ := start(t, second)
	nodes, err := c.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 2)
	require.Empty(t, b.DebugAddr())
	stop()

	other, err := client.New(b.URL(), nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		nodes, err := other.Nodes(t.Context())
		return err == nil && len(nodes) == 2 && !nodes[0].Ended.IsZero() && nodes[1].Ended.IsZero()
	}, time.Minute, 10*time.Millisecond)
}

func TestANodeOfAnotherKeyFileDoesNotStart(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	start(t, settings(t, database))
	_, err := app.New(t.Context(), settings(t, database), app.Options{Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "key")
}

func TestWhatCannotStartSaysSo(t *testing.T) {
	t.Parallel()
	good := devpg.TestURL(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	u, err := url.Parse(good)
	require.NoError(t, err)
	u.Path = "/nothing_of_this_name"
	tests := []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"no such database", func(c *config.Config) { c.DatabaseURL = u.String() }, "nothing_of_this_name"},
		{"not a connection string", func(c *config.Config) {
			c.DatabaseURL = "postgres://u:geheim@%zz"
		}, "database_url"},
		{"address in use", func(c *config.Config) { c.Listen = taken.Addr().String() }, "listen"},
		{"debug address in use", func(c *config.Config) { c.DebugListen = taken.Addr().String() }, "debug_listen"},
		{"no place for data", func(c *config.Config) { c.DataDir = "/dev/null/x" }, "data_dir"},
		{"key file that is none", func(c *config.Config) { c.Secrets.KeyFile = "/dev/null" }, "key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, good)
			tt.change(&cfg)
			_, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "geheim")
		})
	}
}

// TestNodeIsReadyWhileRequestsWaitForTheDatabase: a node is not taken out of service because requests use all
// connections to the database.
func TestNodeIsReadyWhileRequestsWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	cfg := settings(t, devpg.TestURL(t))
	cfg.Database.MaxConns = 8
	n, c, _ := start(t, cfg)
	conn, err := pgx.Connect(t.Context(), cfg.DatabaseURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	locked, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), "LOCK TABLE vim")
	require.NoError(t, err)
	const requests = 20
	answered := make(chan error)
	for range requests {
		go func() {
			_, err := c.Vims(t.Context())
			answered <- err
		}()
	}
	require.Eventually(t, func() bool {
		_, text := get(t, "http://"+n.DebugAddr()+"/metrics")
		return strings.Contains(text, "gybe_db_connections_in_use 8\n")
	}, time.Minute, 10*time.Millisecond, "requests use all connections")
	require.NoError(t, c.Ready(t.Context()))
	require.NoError(t, locked.Rollback(t.Context()))
	for range requests {
		require.NoError(t, <-answered)
	}
}

func TestNodeRecoversWhenTheDatabaseReturns(t *testing.T) {
	t.Parallel()
	pg, err := devpg.Start(t.Context(), devpg.Options{Private: true, Unsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pg.Stop()) })
	cfg := settings(t, pg.URL())
	cfg.DebugListen = ""
	n, c, _ := start(t, cfg)

	require.NoError(t, pg.Halt())
	var answer *client.Error
	require.Eventually(
		t, func() bool { return errors.As(c.Ready(t.Context()), &answer) }, time.Minute, 10*time.Millisecond,
	)
	require.Equal(t, 503, answer.Status())
	_, err = c.Instances(t.Context(), "", false)
	require.ErrorAs(t, err, &answer)
	require.Equal(t, 503, answer.Status(), "it is the database that is away, not the request that is wrong")
	status, _ := get(t, n.URL()+"/healthz")
	require.Equal(t, 200, status)

	require.NoError(t, pg.Restart(t.Context()))
	require.Eventually(t, func() bool { return c.Ready(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
	_, err = c.Instances(t.Context(), "", false)
	require.NoError(t, err)
}
