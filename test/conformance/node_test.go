package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// pageSize of the node's lists: small, so that the lists of the cases have several pages.
const pageSize = 3

// perVim is how many operations of one VIM the node works on.
const perVim = 6

// patience ends a test that waits for a condition that never becomes true.
const patience = 5 * time.Minute

// node is a whole node with a simulated cloud, which all cases share.
type node struct {
	app   *app.App
	api   *client.Client // for the states that cases begin with
	token string
	// transport does not ask for compression by itself.
	transport *http.Transport
	log       *apitest.Log
	cloud     *simcloud.Cloud
	requests  stack.Requests
	receiver  *receiver
	archives  string // folder of the packages

	mu     sync.Mutex
	states map[string]func() (values, error) // those that cases share
	held   map[string]func()                 // lets an instance go on
	clouds []*simcloud.Cloud                 // besides cloud
	made   int                               // instantiations
}

// startNode starts a node with tokens. change may be nil.
func startNode(t *testing.T, change func(*config.Config)) *node {
	t.Helper()
	n := &node{
		cloud: simcloud.StartTest(t, simcloud.Options{}), log: &apitest.Log{}, archives: t.TempDir(),
		receiver: newReceiver(t), states: map[string]func() (values, error){},
		held: map[string]func(){},
	}
	var err error
	n.requests, err = stack.NewRequests(t.Context(), n.cloud)
	require.NoError(t, err)
	for _, name := range []string{"standard", "standard-2", "plain"} {
		require.NoError(t, stack.BuildPackage(t.Context(), "../packages/"+name, n.archive(name)))
	}
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = devpg.TestURL(t), "127.0.0.1:0", "", t.TempDir()
	cfg.Auth.Tokens.File = filepath.Join(t.TempDir(), "tokens")
	cfg.Engine.RetryBase, cfg.Engine.RetryMax = 20*time.Millisecond, 200*time.Millisecond
	cfg.OpenStack.RequestTimeout = 2 * patience // a call that a case holds is not given up
	cfg.Limits.PageSize, cfg.Engine.MaxPerVim = pageSize, perVim
	cfg.Limits.Requests = 0 // the cases of lists are thousands of requests of one user
	var token auth.Token
	n.token, token, err = auth.NewToken("conformance", lcm.DefaultProject, lcm.RoleAdmin, time.Time{}, time.Now())
	require.NoError(t, err)
	require.NoError(t, auth.AddToken(cfg.Auth.Tokens.File, token))
	if change != nil {
		change(&cfg)
	}
	n.run(t, cfg)
	n.transport = &http.Transport{DisableCompression: true}
	t.Cleanup(n.transport.CloseIdleConnections)
	n.api, err = client.New(n.app.URL(), &http.Client{
		Transport: bearer{n.token, oracle.Transport{Report: t.Errorf, Next: n.transport}},
	})
	require.NoError(t, err)
	return n
}

// run starts the node, and ends it with the test.
func (n *node) run(t *testing.T, cfg config.Config) {
	t.Helper()
	log := slog.New(slog.NewJSONHandler(n.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	var err error
	n.app, err = app.New(t.Context(), cfg, app.Options{Log: log, Version: "conformance"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- n.app.Run(ctx) }()
	<-n.app.Ready()
	t.Cleanup(func() {
		for _, c := range append(n.clouds, n.cloud) {
			c.Faults().Clear() // calls that cases hold come to their end
		}
		cancel()
		require.NoError(t, <-done)
		for _, c := range n.clouds {
			c.Close()
		}
	})
}

func (n *node) archive(name string) string { return filepath.Join(n.archives, name+".zip") }

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

// message is a request.
type message struct {
	method, path string
	body         []byte
	header       map[string]string // an empty value removes a header that would be sent
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// versionOf is the Version header of requests to an interface; "" if it does not need one.
func versionOf(path string) string {
	switch {
	case strings.HasPrefix(path, "/vnflcm/v2/"):
		return "2.0.0"
	case strings.HasPrefix(path, "/vnfpkgm/v2/"):
		return "2.1.0"
	default:
		return ""
	}
}

// send sends a request, and returns an error if the response differs from the published documents.
func (n *node) send(ctx context.Context, m message) (answer, error) {
	target := m.path
	if strings.HasPrefix(target, "/") {
		target = n.app.URL() + target
	}
	var body io.Reader
	if m.body != nil {
		body = bytes.NewReader(m.body)
	}
	req, err := http.NewRequestWithContext(ctx, m.method, target, body)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+n.token)
	req.Header.Set("User-Agent", "conformance")
	if v := versionOf(req.URL.Path); v != "" {
		req.Header.Set("Version", v)
	}
	if m.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range m.header {
		req.Header.Del(name)
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := n.transport.RoundTrip(req) // redirects are not followed
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	if a.header.Get("Content-Encoding") != "" {
		return a, nil
	}
	if f := oracle.Response(m.method, req.URL.Path, a.status, a.header, a.body); len(f) > 0 {
		return a, fmt.Errorf("differs from the standard: %s", strings.Join(f, "; "))
	}
	return a, nil
}

// sendJSON posts a value.
func (n *node) sendJSON(ctx context.Context, path string, v any) (answer, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return answer{}, err
	}
	return n.send(ctx, message{method: http.MethodPost, path: path, body: raw})
}

// decode reads a JSON body.
func decode[T any](a answer) (T, error) {
	var v T
	err := json.Unmarshal(a.body, &v)
	return v, err
}

// await waits until a condition is true.
func await(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// reaches waits until an operation has one of the states.
func (n *node) reaches(ctx context.Context, op string, states ...sol.LcmOperationStateType) error {
	var last sol.LcmOperationStateType
	err := await(ctx, fmt.Sprintf("operation %s is %v", op, states), func() (bool, error) {
		o, err := n.api.Operation(ctx, op)
		if err != nil {
			return false, err
		}
		last = o.OperationState
		if slices.Contains(states, last) {
			return true, nil
		}
		if final(last) {
			return false, fmt.Errorf("operation %s is %s instead of %v: %+v", op, last, states, o.Error)
		}
		return false, nil
	})
	return err
}

// final says that a state is not left without a request.
func final(s sol.LcmOperationStateType) bool {
	return s != sol.LcmOperationStateStarting && s != sol.LcmOperationStateProcessing &&
		s != sol.LcmOperationStateRollingBack
}
