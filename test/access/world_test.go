// Package access_test proves on a whole node, through its API, who may do what: the roles that the table of routes
// requires, and that a project does not see the others.
package access_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// The projects of the tests.
const (
	red  = "red"
	blue = "blue"
)

// world is one node with static tokens.
type world struct {
	node  *app.App
	pool  *pgxpool.Pool
	cloud *simcloud.Cloud
	log   *apitest.Log
	// tokens holds secrets by project and role.
	tokens map[string]map[lcm.Role]string
	// invalid are tokens that no request may use, by the reason.
	invalid map[string]string
	archive string
	keyFile string
}

// start starts a node. change may be nil.
func start(tb testing.TB, change func(*config.Config)) *world {
	tb.Helper()
	w := &world{
		cloud: simcloud.StartTest(tb, simcloud.Options{}), log: &apitest.Log{},
		tokens:  map[string]map[lcm.Role]string{},
		invalid: map[string]string{"unknown": "gybe_aaaaaaaa_unknown", "not a token": "nonsense"},
	}
	database := devpg.TestURL(tb)
	w.pool = devpg.Pool(tb, database)
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = database, "127.0.0.1:0", "127.0.0.1:0", tb.TempDir()
	cfg.Auth.Tokens.File = filepath.Join(tb.TempDir(), "tokens")
	add := func(subject, project string, role lcm.Role, expires time.Time) string {
		secret, token, err := auth.NewToken(subject, project, role, expires, time.Now())
		require.NoError(tb, err)
		require.NoError(tb, auth.AddToken(cfg.Auth.Tokens.File, token))
		return secret
	}
	for _, project := range []string{red, blue} {
		w.tokens[project] = map[lcm.Role]string{}
		for _, role := range lcm.Roles {
			w.tokens[project][role] = add(string(role)+"-of-"+project, project, role, time.Time{})
		}
	}
	w.tokens[lcm.DefaultProject] = map[lcm.Role]string{
		lcm.RoleAdmin: add("installation", lcm.DefaultProject, lcm.RoleAdmin, time.Time{}),
	}
	w.invalid["expired"] = add("late", red, lcm.RoleAdmin, time.Now().Add(-time.Hour))
	w.invalid["changed"] = w.tokens[red][lcm.RoleAdmin] + "x"
	if change != nil {
		change(&cfg)
	}

	var err error
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.node, err = app.New(tb.Context(), cfg, app.Options{
		Log: log, Version: "access", WrapAPI: oracle.Handler(tb),
	})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- w.node.Run(ctx) }()
	<-w.node.Ready()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-done)
	})
	w.keyFile = cfg.SecretKeyFile()
	w.archive = filepath.Join(tb.TempDir(), "plain.zip")
	require.NoError(tb, stack.BuildPackage(tb.Context(), "../packages/plain", w.archive))
	return w
}

// store opens the node's database once more.
func (w *world) store(t *testing.T) *store.Store {
	t.Helper()
	ring, err := secret.LoadOrCreate(w.keyFile)
	require.NoError(t, err)
	s, err := store.New(t.Context(), w.pool, ring, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return s
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// as returns a client of a project with a role.
func (w *world) as(tb testing.TB, project string, role lcm.Role) *client.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(w.node.URL(), &http.Client{
		Transport: bearer{w.tokens[project][role], transport},
	})
	require.NoError(tb, err)
	return c
}

// request is one that a test varies.
type request struct {
	method, path string
	token        string // "" is none
	body         string
	headers      map[string]string
}

// answer is a response.
type answer struct {
	status  int
	header  http.Header
	body    string
	problem sol.ProblemDetails // of an error of the API
}

// send sends a request. Streams are cut after their first bytes.
func (w *world) send(t *testing.T, r request) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, w.node.URL()+r.path, strings.NewReader(r.body))
	require.NoError(t, err)
	switch {
	case strings.HasPrefix(r.path, "/vnflcm/v1/"):
		req.Header.Set("Version", "1.3.0")
	case strings.HasPrefix(r.path, "/vnflcm/"):
		req.Header.Set("Version", "2.0.0")
	case strings.HasPrefix(r.path, "/vnfpkgm/v2/"):
		req.Header.Set("Version", "2.4.0")
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header}
	from := io.Reader(resp.Body)
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		view := strings.HasPrefix(r.path, "/ui/") && r.method != http.MethodHead
		from = strings.NewReader(firstEvents(resp.Body, view))
	}
	raw, err := io.ReadAll(from)
	require.NoError(t, err)
	a.body = string(raw)
	if resp.Header.Get("Content-Type") == "application/problem+json" && r.method != http.MethodHead {
		require.NoError(t, json.Unmarshal(raw, &a.problem))
	}
	return a
}

// firstEvents reads the beginning of a stream, which has no end: the interval, and of the console the first view.
func firstEvents(body io.Reader, view bool) string {
	var text strings.Builder
	wanted := 1
	if view {
		wanted = 2
	}
	for lines := bufio.NewScanner(body); wanted > 0 && lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if lines.Text() == "" {
			wanted--
		}
	}
	return text.String()
}

// objects are the resources of a project.
type objects struct {
	vim, pkg, vnfd, instance, idle, op, vnfc, subscription, snapshot string
}

// fill makes a VIM, a package, an instance that is instantiated, and one that is not, in a project.
func (w *world) fill(t *testing.T, project string) objects {
	t.Helper()
	c := w.as(t, project, lcm.RoleOperator)
	var o objects
	vim, err := c.CreateVim(t.Context(), gybeapi.Vim{
		Name: "vim-of-" + project, Type: "openstack", AuthURL: w.cloud.AuthURL(), IsDefault: true,
		VimProject: sol.KeyValuePairs{"name": simcloud.Project},
		AuthCred:   sol.KeyValuePairs{"username": simcloud.Username, "password": simcloud.Password},
	})
	require.NoError(t, err)
	o.vim = vim.ID
	o.vnfd, err = stack.Onboard(t.Context(), c, w.archive)
	require.NoError(t, err)
	all, err := c.Packages(t.Context(), "(eq,vnfdId,"+o.vnfd+")", false)
	require.NoError(t, err)
	o.pkg = all[0].ID

	create := func(name string) string {
		i, err := c.CreateInstance(t.Context(), sol.CreateVnfRequest{
			VnfdID: o.vnfd, VnfInstanceName: name + "-of-" + project, VnfInstanceDescription: "canary-of-" + project,
			Metadata: sol.KeyValuePairs{"owner": "canary-of-" + project},
		})
		require.NoError(t, err)
		return i.ID
	}
	subscriber := httptest.NewServer(oracle.Subscriber(t, nil))
	t.Cleanup(subscriber.Close)
	s, err := c.Subscribe(t.Context(), sol.LccnSubscriptionRequest{
		CallbackURI: subscriber.URL + "/subscriber-of-" + project,
		Filter: &sol.LifecycleChangeNotificationsFilter{
			NotificationTypes: []sol.NotificationType{sol.NotificationVnfIdentifierDeletion},
		},
	})
	require.NoError(t, err)
	o.subscription = s.ID
	o.instance, o.idle = create("instance"), create("idle")
	params := stack.PlainParams("default", "", w.cloud.Info())
	delete(params, "vimConnectionInfo") // the default VIM
	raw, err := json.Marshal(params)
	require.NoError(t, err)
	o.op, err = c.Instantiate(t.Context(), o.instance, raw)
	require.NoError(t, err)
	_, err = stack.Await(t.Context(), c, o.op)
	require.NoError(t, err)
	i, err := c.Instance(t.Context(), o.instance)
	require.NoError(t, err)
	o.vnfc = i.InstantiatedVnfInfo.VnfcInfo[0].ID
	n, err := c.CreateSnapshot(t.Context())
	require.NoError(t, err)
	o.snapshot = n.ID
	return o
}

// identifiers are texts by which another project could recognise the objects.
func (o objects) identifiers(project string) []string {
	return []string{o.vim, o.pkg, o.instance, o.idle, o.op, o.vnfc, o.subscription, o.snapshot, "-of-" + project}
}
