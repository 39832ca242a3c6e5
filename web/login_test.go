package web_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	keys "github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/web"
	"github.com/gybe-nfv/gybe/web/session"
)

// visit is a console whose users log in, with a browser that keeps cookies and does not follow redirects.
type visit struct {
	*httptest.Server
	t       *testing.T
	browser *http.Client
	file    string // of the tokens
	login   *web.Login
	auth    *auth.Authenticator
	clock   *clock
	tokens  map[lcm.Role]string
	ids     map[lcm.Role]string
	trail   trail
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newSite(t *testing.T) *visit {
	t.Helper()
	s := &visit{t: t, file: filepath.Join(t.TempDir(), "tokens"), clock: &clock{time.Now()}}
	s.tokens, s.ids = map[lcm.Role]string{}, map[lcm.Role]string{}
	for _, role := range lcm.Roles {
		token, tok, err := auth.NewToken("ada", "blue", role, time.Time{}, time.Now())
		require.NoError(t, err)
		require.NoError(t, auth.AddToken(s.file, tok))
		s.tokens[role], s.ids[role] = token, tok.ID
	}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	s.auth, err = auth.New(auth.Options{Log: quiet, Tokens: &auth.TokenOptions{File: s.file}})
	require.NoError(t, err)
	ring, err := keys.Parse([]byte(keys.Generate() + "\n"))
	require.NoError(t, err)
	s.login = &web.Login{Token: true, Sessions: &session.Keeper{
		Access: s.auth, Sealer: ring, Path: web.Path, Clock: s.clock,
	}}
	return s
}

// open serves the console.
func (s *visit) open() *visit {
	s.t.Helper()
	d := sample().deps()
	d.Login = s.login
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), Auth: s.auth, Audit: &s.trail})
	web.Mount(f, d)
	s.Server = httptest.NewServer(f)
	s.t.Cleanup(s.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	s.browser = s.Client()
	s.browser.Jar = jar
	s.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

func (s *visit) do(req *http.Request) (*http.Response, string) {
	s.t.Helper()
	resp, err := s.browser.Do(req.WithContext(s.t.Context()))
	require.NoError(s.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp, string(raw)
}

func (s *visit) get(path string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	require.NoError(s.t, err)
	return s.do(req)
}

func (s *visit) post(path string, form url.Values) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest(
		http.MethodPost, s.URL+path, strings.NewReader(form.Encode()))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(req)
}

// enter logs in with a token.
func (s *visit) enter(token, next string) (*http.Response, string) {
	s.t.Helper()
	return s.post("/ui/login", url.Values{"method": {"token"}, "token": {token}, "next": {next}})
}

func TestUsersLogInAndOut(t *testing.T) {
	t.Parallel()
	s := newSite(t).open()
	token, id := s.tokens[lcm.RoleOperator], s.ids[lcm.RoleOperator]

	resp, _ := s.get("/ui/packages?after=x")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(t, "/ui/login?next=%2Fui%2Fpackages%3Fafter%3Dx", resp.Header.Get("Location"))
	resp, body := s.get(resp.Header.Get("Location"))
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, `name="next" value="/ui/packages?after=x"`)
	require.NotContains(t, body, "OpenStack user", "there is no Keystone")

	resp, _ = s.enter(token, "/ui/packages?after=x")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(t, "/ui/packages?after=x", resp.Header.Get("Location"))
	cookie := resp.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, "/ui", cookie.Path)
	require.NotContains(t, cookie.Value, token)

	resp, body = s.get("/ui/")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, "operator in blue")
	require.Contains(t, body, "Log out")
	resp, _ = s.get("/ui/login")
	require.Equal(t, "/ui/", resp.Header.Get("Location"), "who is logged in does not see the form")

	resp, _ = s.post("/ui/logout", nil)
	require.Equal(t, "/ui/login?ended", resp.Header.Get("Location"))
	resp, _ = s.get("/ui/")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)

	s.enter(token, "")
	_, err := auth.RevokeToken(s.file, id)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		resp, _ := s.get("/ui/")
		return resp.Header.Get("Location") == "/ui/login?next=%2Fui%2F"
	}, time.Minute, 50*time.Millisecond, "a revoked token ends the session")
	_, body = s.get("/ui/login")
	require.Contains(t, body, "The session has ended.")
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t).open()
	token := s.tokens[lcm.RoleReader]
	resp, _ := s.enter(token, "")
	require.InDelta(t, session.Lifetime.Seconds(), resp.Cookies()[0].MaxAge, 2)
	s.clock.now = s.clock.now.Add(session.Lifetime + time.Second)
	resp, _ = s.get("/ui/")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode, "the server does not rely on the browser to forget it")
}

func TestAWrongTokenIsExplainedAndNotShown(t *testing.T) {
	t.Parallel()
	s := newSite(t).open()
	wrong, _, err := auth.NewToken("eve", "blue", lcm.RoleAdmin, time.Time{}, time.Now())
	require.NoError(t, err)
	for _, token := range []string{wrong, "x", "", strings.Repeat("a", 20_000)} {
		resp, body := s.enter(token, "")
		require.Contains(t, []int{400, 401}, resp.StatusCode)
		require.Contains(t, body, `role="alert"`)
		require.Empty(t, resp.Cookies())
		if len(token) > 1 {
			require.NotContains(t, body, token)
		}
	}
	resp, _ := s.post("/ui/login", url.Values{"method": {"password"}, "user": {"ada"}})
	require.Equal(t, http.StatusBadRequest, resp.StatusCode, "there is no Keystone")
	resp, _ = s.post("/ui/login", url.Values{"token": {strings.Repeat("a", 1<<20)}})
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
}

func TestStreamsAndSecretsNeedTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t).open()
	resp, _ := s.get("/ui/events/packages")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "a script does not follow to a form")
	path := "/ui/instances/" + cluster + "/kubeconfig"
	for role, status := range map[lcm.Role]int{lcm.RoleReader: 403, lcm.RoleOperator: 200} {
		token := s.tokens[role]
		s.enter(token, "")
		resp, body := s.get(path)
		require.Equal(t, status, resp.StatusCode, "%s: %s", role, body)
		if status == http.StatusForbidden {
			require.Contains(t, body, "requires the role operator")
			require.Contains(t, body, "reader in blue", "the head still says who is logged in")
		}
	}
}

func TestNoPageOfAnotherSiteFollowsALogin(t *testing.T) {
	t.Parallel()
	s := newSite(t).open()
	token := s.tokens[lcm.RoleReader]
	for _, next := range []string{
		"https://evil.example/ui/", "//evil.example/ui/", `/ui/\evil`, `\\evil`, "/ui//evil", "/elsewhere", "ui/", "", "%zz",
		"javascript:alert(1)",
	} {
		resp, _ := s.enter(token, next)
		require.Equal(t, "/ui/", resp.Header.Get("Location"), "%q", next)
	}
}

func TestACookieOfAnotherInstallationIsNoSession(t *testing.T) {
	t.Parallel()
	s, other := newSite(t).open(), newSite(t).open()
	token := other.tokens[lcm.RoleAdmin]
	resp, _ := other.enter(token, "")
	for _, value := range []string{resp.Cookies()[0].Value, "AAAA", "%", ""} {
		req, err := http.NewRequest(http.MethodGet, s.URL+"/ui/", nil)
		require.NoError(t, err)
		req.Header.Set("Cookie", "gybe_session="+value)
		resp, _ := s.do(req)
		require.Equal(t, http.StatusSeeOther, resp.StatusCode, "%q", value)
	}
}

func TestATokenThatDoesNotFitIntoACookieIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.login.Sessions.Access = accepting{}
	s.open()
	resp, body := s.enter(strings.Repeat("a", 4000), "")
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	require.Contains(t, body, "does not fit into a cookie")
}

// accepting accepts every token.
type accepting struct{}

func (accepting) Challenges() []string { return nil }
func (accepting) Authenticate(*http.Request) (lcm.Principal, error) {
	return lcm.Principal{}, lcm.Errorf(lcm.CodeUnauthorized, "no credentials")
}

func (accepting) AuthenticateCredential(_ context.Context, c auth.Credential, _ string) (lcm.Principal, error) {
	return lcm.Principal{Subject: "user of " + c.Secret, Project: "blue", Role: lcm.RoleReader}, nil
}

func TestUsersOfKeystoneLogInWithAPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.login.Sessions.Access = accepting{}
	s.login.Keystone = func(_ context.Context, l auth.PasswordLogin, _ string) (auth.Credential, error) {
		if l != (auth.PasswordLogin{
			Username: "ada", Password: "right", UserDomain: "Default", Project: "nfv", ProjectDomain: "Default",
		}) {
			return auth.Credential{}, lcm.Errorf(lcm.CodeUnauthorized, "Keystone rejects the login")
		}
		return auth.Credential{Kind: auth.KindToken, Secret: "keystone-token"}, nil
	}
	s.open()
	form := url.Values{
		"method": {"password"}, "user": {"ada"}, "password": {"wrong-password"}, "user_domain": {"Default"},
		"project": {"nfv"}, "project_domain": {"Default"},
	}
	resp, body := s.post("/ui/login", form)
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	require.Contains(t, body, "Keystone rejects the login")
	require.Contains(t, body, `value="ada"`)
	require.Contains(t, body, `value="nfv"`)
	require.NotContains(t, body, "wrong-password")

	form.Set("password", "right")
	resp, _ = s.post("/ui/login", form)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	_, body = s.get("/ui/")
	require.Contains(t, body, "user of keystone-token")
}

// provider is an OpenID provider that knows one code.
type provider struct{}

func (provider) StartCodeFlow(_ context.Context, redirect string) (auth.CodeFlow, error) {
	f := auth.CodeFlow{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text()}
	f.URL = "https://sso.example/authorize?" + url.Values{"redirect_uri": {redirect}, "state": {f.State}}.Encode()
	return f, nil
}

func (provider) EndSession(_ context.Context, redirect string) string {
	return "https://sso.example/logout?" + url.Values{"post_logout_redirect_uri": {redirect}}.Encode()
}

func (provider) FinishCodeFlow(
	_ context.Context, f auth.CodeFlow, _, state, code, _ string,
) (auth.Credential, error) {
	if code != "good" || state != f.State || f.Nonce == "" || f.Verifier == "" {
		return auth.Credential{}, lcm.Errorf(lcm.CodeUnauthorized, "wrong code or state")
	}
	return auth.Credential{Kind: auth.KindBearer, Secret: "id-token"}, nil
}

func TestUsersOfAnOpenIDProviderLogIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.login.Sessions.Access, s.login.Provider = accepting{}, provider{}
	revoked := make(chan string, 1)
	s.login.Revoke = func(_ context.Context, c auth.Credential) { revoked <- c.Secret }
	s.open()
	_, body := s.get("/ui/login?next=/ui/packages")
	require.Contains(t, body, `href="/ui/login/provider?next=%2fui%2fpackages"`)

	begin := func() (state string) {
		resp, _ := s.get("/ui/login/provider?next=/ui/packages")
		require.Equal(t, http.StatusSeeOther, resp.StatusCode)
		to, err := url.Parse(resp.Header.Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "sso.example", to.Host)
		require.True(t, strings.HasSuffix(to.Query().Get("redirect_uri"), "/ui/login/return"))
		require.Equal(t, http.SameSiteLaxMode, resp.Cookies()[0].SameSite, "the provider leads back from another site")
		return to.Query().Get("state")
	}
	for name, query := range map[string]url.Values{
		"another state": {"state": {"forged"}, "code": {"good"}},
		"wrong code":    {"state": {begin()}, "code": {"bad"}},
		"refused":       {"state": {begin()}, "error": {"access_denied"}},
	} {
		if name != "another state" {
			query.Set("state", begin())
		}
		resp, _ := s.get("/ui/login/return?" + query.Encode())
		require.GreaterOrEqual(t, resp.StatusCode, 400, name)
		resp, _ = s.get("/ui/")
		require.Equal(t, http.StatusSeeOther, resp.StatusCode, name)
	}

	state := begin()
	resp, body := s.get("/ui/login/return?" + url.Values{"state": {state}, "code": {"good"}}.Encode())
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	require.Equal(t, "0; url=/ui/packages", resp.Header.Get("Refresh"))
	resp, body = s.get("/ui/packages")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, "user of id-token")
	resp, _ = s.get("/ui/login/return?" + url.Values{"state": {state}, "code": {"good"}}.Encode())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "an attempt is used once")

	require.Empty(t, revoked)
	resp, _ = s.post("/ui/logout", nil)
	_, body = s.get(resp.Header.Get("Location"))
	require.Contains(t, body, `href="https://sso.example/logout?post_logout_redirect_uri=`)
	require.Equal(t, "id-token", <-revoked)
	require.Equal(t, []string{
		"oidc  401", "oidc  401", "oidc  401", " user of id-token 200", "oidc  401", " user of id-token 303",
	}, s.trail.entries())
}

// trail keeps the entries of logins as "mode subject status".
type trail struct {
	mu   sync.Mutex
	rows []string
}

func (t *trail) Add(_ context.Context, e *lcm.AuditEntry, _ bool) error {
	if e.Status != 0 {
		t.Complete(e)
	}
	e.ID = 1
	return nil
}

func (t *trail) AddFailure(_ context.Context, e *lcm.AuditEntry) error {
	t.Complete(e)
	return nil
}

func (t *trail) Complete(e *lcm.AuditEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, fmt.Sprintf("%s %s %d", e.Principal.Mode, e.Principal.Subject, e.Status))
}

func (t *trail) entries() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.rows)
}

func TestWithoutAuthenticationThereIsNoLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var err error
	s.auth, err = auth.New(auth.Options{Log: slog.New(slog.DiscardHandler), None: true})
	require.NoError(t, err)
	s.login.Sessions.Access = s.auth
	s.open()
	resp, body := s.get("/ui/")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NotContains(t, body, "Log out")
}
