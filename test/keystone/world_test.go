package keystone_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

type obj = map[string]any

// world is a node, and the Keystone that it asks through a proxy which a test can switch off.
type world struct {
	t        *testing.T
	keystone string // its own address, with /v3
	proxy    string
	down     atomic.Bool
	real     bool
	cloud    *simcloud.Cloud // nil with a real Keystone
	node     *app.App
}

// user is a login at Keystone.
type user struct{ name, project string }

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// The users of both clouds. The first one may validate tokens.
func alice() user {
	return user{env("OS_USERNAME", simcloud.Username), env("OS_PROJECT_NAME", simcloud.Project)}
}

func bob() user {
	return user{
		env("CONTRACT_OTHER_USERNAME", simcloud.OtherUsername), env("CONTRACT_OTHER_PROJECT", simcloud.OtherProject),
	}
}

func password() string { return env("OS_PASSWORD", simcloud.Password) }

// start runs a node that uses a result for the given time.
func start(t *testing.T, cache time.Duration) *world {
	t.Helper()
	w := &world{t: t, keystone: os.Getenv("OS_AUTH_URL"), real: os.Getenv("OS_AUTH_URL") != ""}
	if !w.real {
		w.cloud = simcloud.StartTest(t, simcloud.Options{})
		w.keystone = w.cloud.AuthURL()
	}
	if w.keystone = strings.TrimRight(w.keystone, "/"); !strings.HasSuffix(w.keystone, "/v3") {
		w.keystone += "/v3"
	}
	at, err := url.Parse(w.keystone)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: at.Scheme, Host: at.Host})
	forward.Transport = &http.Transport{DisableKeepAlives: true}
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.down.Load() {
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(rw, r)
	}))
	t.Cleanup(proxy.Close)
	w.proxy = proxy.URL + at.Path

	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = devpg.TestURL(t), "127.0.0.1:0", "", t.TempDir()
	cfg.Auth.CacheTime = cache
	cfg.Auth.Keystone.URL, cfg.Auth.Keystone.Username = w.proxy, alice().name
	cfg.Auth.Keystone.Password, cfg.Auth.Keystone.Project = password(), alice().project
	require.NoError(t, cfg.Validate())
	w.node, err = app.New(t.Context(), cfg, app.Options{
		Log: slog.New(slog.DiscardHandler), SkipPreload: true, WrapAPI: oracle.Handler(t),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.node.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-w.node.Ready()
	return w
}

// call sends a request with JSON.
func (w *world) call(method, address, token string, headers map[string]string, body any) (*http.Response, obj) {
	w.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(w.t, err)
	if body == nil {
		raw = nil
	}
	// Cleanups use it, too.
	ctx := context.WithoutCancel(w.t.Context())
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(raw))
	require.NoError(w.t, err)
	req.Close = true
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	var out obj
	_ = json.Unmarshal(text, &out) // lists and empty bodies are not objects
	return resp, out
}

// logIn gets a token from Keystone and returns it with the project and the user in it.
func (w *world) logIn(identity, scope any) (token, project, user string) {
	w.t.Helper()
	body := obj{"identity": identity}
	if scope != nil {
		body["scope"] = scope
	}
	resp, answer := w.call(http.MethodPost, w.keystone+"/auth/tokens", "", nil, obj{"auth": body})
	require.Equal(w.t, http.StatusCreated, resp.StatusCode, answer)
	at, _ := answer["token"].(obj)
	in, _ := at["project"].(obj)
	of, _ := at["user"].(obj)
	project, _ = in["id"].(string)
	user, _ = of["id"].(string)
	return resp.Header.Get("X-Subject-Token"), project, user
}

func (u user) identity() obj {
	return obj{"methods": []string{"password"}, "password": obj{"user": obj{
		"name": u.name, "password": password(), "domain": obj{"id": "default"},
	}}}
}

func (u user) scope() obj {
	return obj{"project": obj{"name": u.project, "domain": obj{"id": "default"}}}
}

// token logs a user in with a password.
func (w *world) token(u user) string {
	w.t.Helper()
	token, _, _ := w.logIn(u.identity(), u.scope())
	return token
}

// status asks the node with a token.
func (w *world) status(token string) *http.Response {
	w.t.Helper()
	resp, _ := w.call(http.MethodGet, w.node.URL()+"/vnfpkgm/v1/vnf_packages", token, nil, nil)
	return resp
}
