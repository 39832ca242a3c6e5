package openid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// world is a node with the provider whose tokens it accepts.
type world struct {
	t      *testing.T
	issuer string
	node   *app.App
}

// start starts a node. Its tokens are opaque, or JWTs.
func start(t *testing.T, opaque bool) *world {
	t.Helper()
	issuer, allow := startProvider(t, opaque)
	w := &world{t: t, issuer: issuer}
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = devpg.TestURL(t), "127.0.0.1:0", "", t.TempDir()
	cfg.Auth.CacheTime = time.Second // so that a test sees the end of a token
	at := &cfg.Auth.OIDC
	at.Issuer, at.Audience, at.ClientID, at.ClientSecret = issuer, audience, audience, secret
	at.ProjectClaim, at.RoleClaim, at.Introspection = "project", "realm_access.roles", opaque
	at.Roles = []string{"nfv-operator=operator", "nfv-reader=reader"}
	require.NoError(t, cfg.Validate())
	var err error
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
	allow(w.node.URL())
	return w
}

// status is the answer of the node to a request with a bearer token.
func (w *world) status(method, path, token string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.node.URL()+path, strings.NewReader("{}"))
	require.NoError(w.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Version", "2.0.0")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return resp.StatusCode, string(text)
}

// post sends a form to the provider as a client, and returns its JSON.
func (w *world) post(path, client, word string, form url.Values) map[string]any {
	w.t.Helper()
	req, err := http.NewRequestWithContext(
		w.t.Context(), http.MethodPost, w.issuer+path, strings.NewReader(form.Encode()),
	)
	require.NoError(w.t, err)
	req.SetBasicAuth(client, word)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, resp.StatusCode, string(text))
	var out map[string]any
	if len(text) > 0 {
		require.NoError(w.t, json.Unmarshal(text, &out))
	}
	return out
}

// browser is the browser of a user. It follows redirects and keeps cookies.
type browser struct {
	t *testing.T
	http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{t, http.Client{Jar: jar, Timeout: time.Minute}}
}

// page is an answer with its whole body.
type page struct {
	*http.Response

	text string
}

func (b *browser) read(resp *http.Response, err error) page {
	b.t.Helper()
	require.NoError(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return page{resp, string(text)}
}

func (b *browser) get(address string) page {
	b.t.Helper()
	return b.read(b.Client.Get(address))
}

var requestID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// logIn opens a page that leads to the provider, and types a name and the password there.
func (b *browser) logIn(address, user string) page {
	b.t.Helper()
	form := b.get(address)
	id := requestID.FindStringSubmatch(form.text)
	require.NotNil(b.t, id, form.text)
	return b.read(b.PostForm(form.Request.URL.ResolveReference(&url.URL{Path: "/login/username"}).String(), url.Values{
		"username": {user}, "password": {userPassword}, "id": {id[1]},
	}))
}

// confirmDevice types the code of another device at the provider, and logs in.
func (b *browser) confirmDevice(address, user string) {
	b.t.Helper()
	at, err := url.Parse(address)
	require.NoError(b.t, err)
	code := at.Query().Get("user_code")
	require.NotEmpty(b.t, code, address)
	asks := b.read(b.PostForm(at.ResolveReference(&url.URL{Path: "/device/login"}).String(), url.Values{
		"user_code": {code}, "username": {user}, "password": {userPassword},
	}))
	require.Equal(b.t, http.StatusOK, asks.StatusCode, asks.text)
	done := b.get(at.ResolveReference(&url.URL{Path: "/device/confirm", RawQuery: "action=allowed"}).String())
	require.Contains(b.t, done.text, "allowed")
}

// person uses the command.
type person struct {
	t   *testing.T
	env []string
}

func newPerson(w *world) *person {
	return &person{w.t, []string{"HOME=" + w.t.TempDir(), "GYBE_ENDPOINT=" + w.node.URL()}}
}

// gybe runs a command and returns its exit code and its output. open is the browser.
func (p *person) gybe(open func(string), stderr io.Writer, args ...string) (code int, stdout string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	code = cli.Run(ctx, args, cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: stderr, Environ: p.env, Version: "test", OpenBrowser: open,
	})
	return code, out.String()
}
