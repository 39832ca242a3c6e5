package access_test

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// browser is a browser at the console, which keeps cookies and does not follow redirects.
type browser struct {
	http.Client
	t   *testing.T
	url string
}

func (w *world) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	b := &browser{t: t, url: w.node.URL()}
	b.Jar = jar
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// post sends a form and returns the status.
func (b *browser) post(path string, form url.Values) int {
	b.t.Helper()
	req, err := http.NewRequestWithContext(
		b.t.Context(), http.MethodPost, b.url+path, strings.NewReader(form.Encode()),
	)
	require.NoError(b.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.Do(req)
	require.NoError(b.t, err)
	require.NoError(b.t, resp.Body.Close())
	return resp.StatusCode
}

// logins are the entries of logins and logouts as "method mode subject status count".
func logins(entries []gybeapi.AuditEntry) (out []string) {
	for _, e := range entries {
		if strings.HasPrefix(e.Route, "/ui/log") {
			out = append(out, fmt.Sprintf("%s %s %s %d %d", e.Route, e.Mode, e.Subject, e.Status, e.Count))
		}
	}
	return out
}

// startWithKeystone starts a node whose users also log in at the simulated Keystone.
func startWithKeystone(t *testing.T) *world {
	t.Helper()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := start(t, func(c *config.Config) {
		c.Auth.Keystone.URL, c.Auth.Keystone.Username = cloud.AuthURL(), "admin"
		c.Auth.Keystone.Password, c.Auth.Keystone.Project = simcloud.Password, "admin"
	})
	w.cloud = cloud
	return w
}

// TestLoginsAreAudited: logins and logouts at the console with a token and with a password are in the trail of the
// user's project, and failed ones are counted in that of the default project. No entry has a secret.
func TestLoginsAreAudited(t *testing.T) {
	t.Parallel()
	w := startWithKeystone(t)
	token := w.tokens[red][lcm.RoleAdmin]
	form := url.Values{"method": {"token"}, "token": {token}}
	b := w.browser(t)
	require.Equal(t, http.StatusSeeOther, b.post("/ui/login", form))
	require.Equal(t, http.StatusSeeOther, b.post("/ui/logout", nil))
	require.Equal(t, http.StatusSeeOther, b.post("/ui/logout", nil), "without a session, which is not an entry")
	entries := w.trail(t, red)
	require.Equal(t, []string{
		"/ui/logout token admin-of-red 303 1", "/ui/login token admin-of-red 303 1",
	}, logins(entries))
	require.Equal(t, "127.0.0.1", entries[0].Remote)
	require.WithinDuration(t, time.Now(), entries[0].Time, time.Hour)
	require.NotEmpty(t, entries[0].RequestID)

	// Wrong tokens and passwords. The name is that of the first one.
	const wrong = "wrong-password"
	bad := func(user, password string) url.Values {
		return url.Values{
			"method": {"password"}, "user": {user}, "password": {password}, "user_domain": {"Default"},
			"project": {simcloud.OtherProject}, "project_domain": {"Default"},
		}
	}
	for n := range 3 {
		require.Equal(t, http.StatusUnauthorized, b.post("/ui/login", bad("eve"+strings.Repeat("e", n), wrong)))
	}
	form.Set("token", token+"x")
	require.Equal(t, http.StatusUnauthorized, b.post("/ui/login", form))
	require.Equal(t, http.StatusBadRequest, b.post("/ui/login", url.Values{"method": {"nonsense"}}))
	failed := w.trail(t, lcm.DefaultProject)
	require.Equal(t, []string{"/ui/login keystone eve@Default 400 5"}, logins(failed))
	require.NotEmpty(t, failed[0].Error)
	require.Len(t, logins(w.trail(t, red)), 2, "a stranger does not write into the trail of a project")

	require.Equal(t, http.StatusSeeOther, b.post("/ui/login", bad(simcloud.OtherUsername, simcloud.Password)))
	var rows string
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT string_agg(audit::text, ' ') FROM audit").Scan(&rows))
	require.Contains(t, rows, simcloud.OtherUsername+"@Default")
	for _, secret := range []string{token, simcloud.Password, wrong} {
		require.NotContains(t, rows, secret)
		require.NotContains(t, w.log.String(), secret)
	}

	// A login that cannot be written into the trail is refused. A logout is not.
	_, err := w.pool.Exec(t.Context(), "ALTER TABLE audit RENAME TO audit_away")
	require.NoError(t, err)
	form.Set("token", token)
	other := w.browser(t)
	require.Equal(t, http.StatusServiceUnavailable, other.post("/ui/login", form))
	at, err := url.Parse(w.node.URL() + "/ui/")
	require.NoError(t, err)
	require.Empty(t, other.Jar.Cookies(at))
	require.Equal(t, http.StatusSeeOther, b.post("/ui/logout", nil))
	require.Empty(t, b.Jar.Cookies(at))
	_, err = w.pool.Exec(t.Context(), "ALTER TABLE audit_away RENAME TO audit")
	require.NoError(t, err)
}

// TestLogoutRevokesTheTokenOfTheSession: the token that the console got from Keystone does not outlive the session, and
// one that the user has entered does.
func TestLogoutRevokesTheTokenOfTheSession(t *testing.T) {
	t.Parallel()
	w := startWithKeystone(t)
	tokens := func() int { return w.cloud.Tokens(simcloud.OtherUsername) }
	b := w.browser(t)
	require.Equal(t, http.StatusSeeOther, b.post("/ui/login", url.Values{
		"method": {"password"}, "user": {simcloud.OtherUsername}, "password": {simcloud.Password},
		"user_domain": {"Default"}, "project": {simcloud.OtherProject}, "project_domain": {"Default"},
	}))
	require.Equal(t, 1, tokens())
	require.Equal(t, http.StatusSeeOther, b.post("/ui/logout", nil))
	require.Eventually(t, func() bool { return tokens() == 0 }, time.Minute, 10*time.Millisecond)

	own, err := simcloud.Login(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: w.cloud.AuthURL(), Username: simcloud.OtherUsername, Password: simcloud.Password,
		DomainName: simcloud.Domain,
		Scope:      &gophercloud.AuthScope{ProjectName: simcloud.OtherProject, DomainName: simcloud.Domain},
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusSeeOther, b.post("/ui/login", url.Values{"method": {"token"}, "token": {own.Token()}}))
	require.Equal(t, http.StatusSeeOther, b.post("/ui/logout", nil))
	require.Equal(t, 1, tokens())
}
