package auth_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

var keystoneRoles = auth.RoleMap{"admin": lcm.RoleAdmin, "member": lcm.RoleOperator, "reader": lcm.RoleReader}

// gate is a proxy in front of Keystone that counts, and that a test can close or hold.
type gate struct {
	*httptest.Server
	cloud        *simcloud.Cloud
	logins, asks atomic.Int64
	running, max atomic.Int64
	service      atomic.Value // the token of the service
	down         atomic.Bool
	hold         atomic.Pointer[chan struct{}]
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{cloud: simcloud.StartTest(t, simcloud.Options{})}
	at, err := url.Parse(strings.TrimSuffix(g.cloud.AuthURL(), "/identity/v3"))
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.Transport, proxy.ErrorLog = &http.Transport{}, log.New(io.Discard, "", 0)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := g.running.Add(1)
		defer g.running.Add(-1)
		for old := g.max.Load(); n > old && !g.max.CompareAndSwap(old, n); old = g.max.Load() {
		}
		switch {
		case r.Method == http.MethodPost:
			g.logins.Add(1)
		case r.Header.Get("X-Subject-Token") != "":
			g.asks.Add(1)
			g.service.Store(r.Header.Get("X-Auth-Token"))
		}
		if h := g.hold.Load(); h != nil {
			select {
			case <-*h:
			case <-r.Context().Done():
				return
			}
		}
		if g.down.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// options are those of a node whose service user is the administrator of the cloud.
func (g *gate) options(clock *fakeClock) *auth.KeystoneOptions {
	return &auth.KeystoneOptions{
		Login: auth.KeystoneLogin{
			URL: g.URL + "/identity/v3", Username: "admin", Password: simcloud.Password, Project: "admin",
		},
		Roles:  keystoneRoles,
		Remote: auth.RemoteOptions{Clock: clock.Now, Timeout: time.Minute},
	}
}

// login returns a token of the user nfv_user, with its project.
func (g *gate) login(t *testing.T, change func(*gophercloud.AuthOptions)) (token, project string) {
	t.Helper()
	opts := g.cloud.AuthOptions()
	opts.AllowReauth = false
	if change != nil {
		change(&opts)
	}
	p, err := simcloud.Login(t.Context(), opts)
	require.NoError(t, err)
	res, ok := p.GetAuthResult().(tokens.CreateResult)
	require.True(t, ok)
	at, err := res.ExtractProject()
	require.NoError(t, err)
	return p.Token(), at.ID
}

func member(o *gophercloud.AuthOptions) {
	o.Username, o.TenantName = simcloud.OtherUsername, simcloud.OtherProject
	o.Scope = &gophercloud.AuthScope{ProjectName: simcloud.OtherProject, DomainName: simcloud.Domain}
}

// revoke deletes a token at Keystone.
func (g *gate) revoke(t *testing.T, token string) {
	t.Helper()
	at := g.cloud.AuthURL() + "/auth/tokens"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, at, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("X-Auth-Token", token)
	req.Header.Set("X-Subject-Token", token)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
}

func TestKeystoneTokenIsValidatedOnceAndHasTheProjectAndRole(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	token, project := g.login(t, nil)
	for range 10 {
		require.Equal(t, lcm.Principal{
			Subject: "nfv_user@Default", Project: project, Role: lcm.RoleAdmin, Mode: auth.ModeKeystone,
		}, w.accepted(t, xAuth(t, token)))
	}
	require.EqualValues(t, 1, g.asks.Load())

	token, project = g.login(t, member)
	p := w.accepted(t, xAuth(t, token))
	require.Equal(t, lcm.RoleOperator, p.Role)
	require.Equal(t, project, p.Project)
	require.EqualValues(t, 1, g.logins.Load(), "the service logs in once")

	// Bearer is not a form of Keystone.
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, token))
	_, err := w.Authenticate(request(t))
	require.Equal(t, []string{fmt.Sprintf("Keystone uri=%q", g.URL+"/identity")}, challenges(t, err))
}

func TestKeystoneApplicationCredentialHasOnlyItsRoles(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	provider, err := simcloud.Login(t.Context(), g.cloud.AuthOptions())
	require.NoError(t, err)
	res, _ := provider.GetAuthResult().(tokens.CreateResult)
	user, err := res.ExtractUser()
	require.NoError(t, err)
	identity := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: g.cloud.AuthURL() + "/"}
	app, err := applicationcredentials.Create(t.Context(), identity, user.ID, applicationcredentials.CreateOpts{
		Name: "robot", Roles: []applicationcredentials.Role{{Name: "reader"}},
	}).Extract()
	require.NoError(t, err)
	token, _ := g.login(t, func(o *gophercloud.AuthOptions) {
		*o = gophercloud.AuthOptions{
			IdentityEndpoint: o.IdentityEndpoint, ApplicationCredentialID: app.ID,
			ApplicationCredentialSecret: app.Secret,
		}
	})
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	require.Equal(t, lcm.RoleReader, w.accepted(t, xAuth(t, token)).Role)

	// The service itself can log in with one; this one may not validate tokens.
	opts := g.options(clock)
	opts.Login = auth.KeystoneLogin{URL: g.URL + "/identity", AppCredentialID: app.ID, AppCredentialKey: app.Secret}
	w = newWorld(t, auth.Options{Keystone: opts})
	other, _ := g.login(t, member)
	w.rejected(t, lcm.CodeUnavailable, xAuth(t, other))
	require.Contains(t, w.logged(), "may not validate tokens")
	require.NotContains(t, w.logged(), app.Secret)
	require.NotContains(t, w.logged(), other)
}

func TestKeystoneRevocationTakesEffectWhenTheCachedResultEnds(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	token, _ := g.login(t, nil)
	w.accepted(t, xAuth(t, token))
	g.revoke(t, token)
	clock.add(3 * time.Minute)
	w.accepted(t, xAuth(t, token))
	clock.add(2 * time.Minute)
	w.rejected(t, lcm.CodeUnauthorized, xAuth(t, token))
	require.Equal(t, 1, w.failed("keystone/invalid"))
}

func TestKeystoneResultIsNotUsedBeyondTheExpiryOfTheToken(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	token, _ := g.login(t, nil) // one hour
	clock.add(time.Hour - 2*time.Minute)
	w.accepted(t, xAuth(t, token))
	g.down.Store(true)
	clock.add(time.Minute)
	w.accepted(t, xAuth(t, token)) // cached
	clock.add(time.Minute + time.Second)
	w.rejected(t, lcm.CodeUnavailable, xAuth(t, token))
	g.down.Store(false)
	clock.add(2 * time.Second)
	// The clock of Keystone is late: it still accepts the token, which says itself that it has expired.
	e := w.rejected(t, lcm.CodeUnauthorized, xAuth(t, token))
	require.Equal(t, "the token has expired", e.Detail)
	require.Equal(t, "log in again", e.Hint)
}

func TestKeystoneTokenThatIsNotAcceptedSaysTheNextStep(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	other, _ := newGate(t).login(t, nil)
	for name, token := range map[string]string{"no token": "gAAAAAB-not-a-token", "of another Keystone": other} {
		e := w.rejected(t, lcm.CodeUnauthorized, xAuth(t, token))
		require.Contains(t, e.Detail, "Keystone does not accept the token", name)
		require.Contains(t, e.Hint, "log in again", name)
		require.Contains(t, e.Hint, "the Keystone that this node uses", name)
	}
}

func TestKeystoneTokenWithoutProjectIsForbidden(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	body := fmt.Sprintf(`{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": %q,
		"password": %q, "domain": {"id": "default"}}}}, "scope": "unscoped"}}`, simcloud.Username, simcloud.Password)
	resp, err := http.Post(g.URL+"/identity/v3/auth/tokens", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	e := w.rejected(t, lcm.CodeForbidden, xAuth(t, resp.Header.Get("X-Subject-Token")))
	require.Equal(t, "the token is not for a project", e.Detail)
	require.Contains(t, e.Hint, "OS_PROJECT_NAME")
}

func TestKeystoneIsAskedOnceAboutAnInvalidToken(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	for range 5 {
		w.rejected(t, lcm.CodeUnauthorized, xAuth(t, "gAAAAAB-not-a-token"))
	}
	require.EqualValues(t, 1, g.asks.Load())
	clock.add(10 * time.Second)
	w.rejected(t, lcm.CodeUnauthorized, xAuth(t, "gAAAAAB-not-a-token"))
	require.EqualValues(t, 2, g.asks.Load())
}

func TestKeystoneIsAskedOnceByConcurrentRequestsWithOneToken(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	token, _ := g.login(t, nil)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := w.Authenticate(xAuth(t, token)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, g.asks.Load())
}

func TestFloodOfInvalidTokensDoesNotReachKeystone(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	opts := g.options(clock)
	opts.Remote.Checks, opts.Remote.Failures = 4, 30
	w := newWorld(t, auth.Options{Keystone: opts})
	token, _ := g.login(t, nil)
	good := xAuth(t, token)
	w.accepted(t, good)

	var all sync.WaitGroup
	var refused atomic.Int64
	for client := range 8 {
		all.Go(func() {
			for i := range 50 {
				_, err := w.Authenticate(xAuth(t, fmt.Sprintf("gAAAAAB-%d-%d", client, i)))
				if e := lcm.AsError(err); e.Code == lcm.CodeTooMany && e.RetryAfter > 0 {
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, g.asks.Load(), int64(1+30+8), "one address has 30 failures a minute, and 8 that run")
	require.LessOrEqual(t, g.max.Load(), int64(4))
	require.GreaterOrEqual(t, refused.Load(), int64(400-30-8))
	w.accepted(t, good) // what is known is not limited

	// Another address is not limited, and the first one neither after a while.
	second, _ := g.login(t, member)
	elsewhere := xAuth(t, second)
	elsewhere.RemoteAddr = "198.51.100.7:1"
	w.accepted(t, elsewhere)
	third, _ := g.login(t, nil)
	w.rejected(t, lcm.CodeTooMany, xAuth(t, third))
	clock.add(time.Minute)
	w.accepted(t, xAuth(t, third))
}

func TestKeystoneUnreachable(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	known, _ := g.login(t, nil)
	unknown, _ := g.login(t, member)
	w.accepted(t, xAuth(t, known))

	g.down.Store(true)
	asked := g.asks.Load()
	for range 5 {
		w.accepted(t, xAuth(t, known))
		e := w.rejected(t, lcm.CodeUnavailable, xAuth(t, unknown))
		require.Equal(t, 5*time.Second, e.RetryAfter)
		require.NotContains(t, e.Detail, g.URL, "the address of Keystone is not for clients")
	}
	require.LessOrEqual(t, g.asks.Load()-asked, int64(2), "once a second; net/http tries twice")
	clock.add(30 * time.Second)
	w.accepted(t, xAuth(t, known))
	g.down.Store(false)
	w.accepted(t, xAuth(t, unknown))
	require.Positive(t, w.failed("keystone/unavailable"))
	require.Contains(t, w.logged(), "tokens cannot be checked")
}

func TestKeystoneResultIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	token, _ := g.login(t, nil)
	w.accepted(t, xAuth(t, token))
	clock.add(4*time.Minute + 10*time.Second)
	w.accepted(t, xAuth(t, token)) // starts a check
	require.Eventually(t, func() bool {
		return g.asks.Load() == 2 && g.running.Load() == 0
	}, time.Minute, time.Millisecond)
	g.down.Store(true)
	require.Eventually(t, func() bool { // the result is stored just after the answer
		clock.add(time.Minute)
		_, err := w.Authenticate(xAuth(t, token))
		clock.add(-time.Minute)
		return err == nil
	}, time.Minute, time.Millisecond)
}

func TestKeystoneThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	opts := g.options(clock)
	opts.Remote.Timeout = 100 * time.Millisecond
	w := newWorld(t, auth.Options{Keystone: opts})
	token, _ := g.login(t, nil)
	hold := make(chan struct{})
	g.hold.Store(&hold)
	w.rejected(t, lcm.CodeUnavailable, xAuth(t, token))
	close(hold)
}

func TestKeystoneThatAnswersNonsense(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"500":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"429":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"html":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"empty":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"too long": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) },
		"no expiry": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"token": {"user": {"name": "u"}, "project": {"id": "p"}}}`)
		},
		"project that is a path": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"token": {"user": {"name": "u"}, "project": {"id": "../x"},
				"expires_at": "2099-01-01T00:00:00Z"}}`)
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, clock := newGate(t), newClock()
			target, err := url.Parse(g.URL)
			require.NoError(t, err)
			proxy := httputil.NewSingleHostReverseProxy(target)
			broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					proxy.ServeHTTP(w, r)
					return
				}
				answer(w, r)
			}))
			defer broken.Close()
			opts := g.options(clock)
			opts.Login.URL = broken.URL + "/identity"
			w := newWorld(t, auth.Options{Keystone: opts})
			token, _ := g.login(t, nil)
			w.rejected(t, lcm.CodeUnavailable, xAuth(t, token))
			require.NotContains(t, w.logged(), token)
		})
	}
}

func TestKeystoneServiceLogsInAgainWhenItsTokenIsRevoked(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	first, _ := g.login(t, nil)
	w.accepted(t, xAuth(t, first))
	service, _ := g.service.Load().(string)
	g.revoke(t, service)
	second, _ := g.login(t, member)
	w.accepted(t, xAuth(t, second))
	require.EqualValues(t, 2, g.logins.Load())
}

func TestKeystoneServiceWithWrongPasswordIsNotTheFaultOfTheClient(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	opts := g.options(clock)
	opts.Login.Password = "s3cret-word"
	w := newWorld(t, auth.Options{Keystone: opts})
	token, _ := g.login(t, nil)
	w.rejected(t, lcm.CodeUnavailable, xAuth(t, token))
	require.Contains(t, w.logged(), "log in to "+g.URL+"/identity as the service")
	require.NotContains(t, w.logged(), "s3cret-word")
}

func TestKeystoneServiceLogsInWithACloudsFile(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("clouds.yaml", "clouds: {gybe: {auth: {auth_url: '"+g.URL+`/identity/v3', username: admin, project_name: admin,
  user_domain_name: Default, project_domain_name: Default}}}`)
	write("secure.yaml", "clouds: {gybe: {auth: {password: "+simcloud.Password+"}}}")
	opts := g.options(clock)
	opts.Login = auth.KeystoneLogin{CloudsFile: filepath.Join(dir, "clouds.yaml"), Cloud: "gybe"}
	w := newWorld(t, auth.Options{Keystone: opts})
	token, _ := g.login(t, nil)
	w.accepted(t, xAuth(t, token))

	write("secure.yaml", "clouds: {gybe: [canary]}")
	opts.Login.Cloud = "other"
	_, err := auth.New(auth.Options{Keystone: opts})
	require.ErrorContains(t, err, `keystone: the cloud "other" cannot be read`)
	require.NotContains(t, err.Error(), "canary")
}

func TestKeystoneAndStaticTokensTogether(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	file := filepath.Join(t.TempDir(), "tokens")
	secret, _ := addToken(t, file, lcm.RoleReader, time.Time{})
	w := newWorld(t, auth.Options{Keystone: g.options(clock), Tokens: &auth.TokenOptions{File: file}})
	token, _ := g.login(t, nil)
	require.Equal(t, auth.ModeKeystone, w.accepted(t, xAuth(t, token)).Mode)
	require.Equal(t, auth.ModeToken, w.accepted(t, xAuth(t, secret)).Mode)
	asked := g.asks.Load()
	w.rejected(t, lcm.CodeUnauthorized, xAuth(t, secret+"x"))
	require.Equal(t, asked, g.asks.Load(), "Keystone never sees a static token")
	require.Len(t, w.Challenges(), 2)
}

func TestLoginKeystoneReturnsACredential(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	l := auth.PasswordLogin{
		Username: simcloud.OtherUsername, Password: simcloud.Password, Project: simcloud.OtherProject,
	}
	c, err := w.LoginKeystone(t.Context(), l, "192.0.2.1:1")
	require.NoError(t, err)
	p, err := w.AuthenticateCredential(t.Context(), c, "192.0.2.1:1")
	require.NoError(t, err)
	require.Equal(t, lcm.RoleOperator, p.Role)
	require.Equal(t, simcloud.OtherUsername+"@Default", p.Subject)

	l.Password = "wrong"
	_, err = w.LoginKeystone(t.Context(), l, "192.0.2.1:1")
	require.Equal(t, lcm.CodeUnauthorized, lcm.AsError(err).Code)
	g.down.Store(true)
	_, err = w.LoginKeystone(t.Context(), l, "192.0.2.1:1")
	require.Equal(t, lcm.CodeUnavailable, lcm.AsError(err).Code)
	none := newWorld(t, auth.Options{})
	_, err = none.LoginKeystone(t.Context(), l, "192.0.2.1:1")
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
}

func TestRevokeEndsATokenOfKeystone(t *testing.T) {
	t.Parallel()
	g, clock := newGate(t), newClock()
	w := newWorld(t, auth.Options{Keystone: g.options(clock)})
	c, err := w.LoginKeystone(t.Context(), auth.PasswordLogin{
		Username: simcloud.OtherUsername, Password: simcloud.Password, Project: simcloud.OtherProject,
	}, "192.0.2.1:1")
	require.NoError(t, err)
	w.accepted(t, xAuth(t, c.Secret))
	w.Revoke(t.Context(), c)
	w.rejected(t, lcm.CodeUnauthorized, xAuth(t, c.Secret))
	require.NotContains(t, w.logged(), "not revoked")

	w.Revoke(t.Context(), c) // is not valid any more
	require.NotContains(t, w.logged(), "not revoked")
	g.down.Store(true)
	w.Revoke(t.Context(), c)
	require.Contains(t, w.logged(), "not revoked")
	require.NotContains(t, w.logged(), c.Secret)
}
