package cli_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// TestLoginWithTokenOverTLS: tokens by variable, file and context, on a node with a certificate of its own authority.
func TestLoginWithTokenOverTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	secret, token, err := auth.NewToken("ci", "default", lcm.RoleReader, time.Time{}, time.Now())
	require.NoError(t, err)
	require.NoError(t, auth.AddToken(tokens, token))
	node := startNode(t, apitest.NewVIM(), func(c *config.Config) {
		c.TLS.CertFile, c.TLS.KeyFile, c.Auth.Tokens.File = cert, key, tokens
	})
	u := newUser(t, "GYBE_ENDPOINT="+node.URL())

	// The connection: the errors name the remedy.
	require.Contains(t, u.fails(cli.ExitUnreachable, "", "vnf", "list"), "--cacert or GYBE_CACERT")
	plain := strings.Replace(node.URL(), "https://", "http://", 1)
	require.Contains(t, u.fails(cli.ExitUnreachable, "", "vnf", "list", "--endpoint", plain),
		"begin the endpoint with https://")
	errs := u.fails(cli.ExitLogin, "", "vnf", "list", "--insecure")
	require.Contains(t, errs, "WARNING: the certificate of ")
	require.Contains(t, u.fails(cli.ExitUsage, "", "vnf", "list", "--cacert", key), "no certificate in PEM")
	require.Contains(t, u.fails(cli.ExitUsage, "", "vnf", "list", "--key", key), "--key needs --cert")

	// The token.
	u = u.with("GYBE_CACERT=" + cert)
	errs = u.fails(cli.ExitLogin, "", "vnf", "list")
	require.Contains(t, errs, "401")
	require.Contains(t, errs, "log in: gybe login --oidc, gybe login --token, or GYBE_TOKEN")
	u.with("GYBE_TOKEN="+secret).ok("", "vnf", "list")
	file := filepath.Join(u.home, "token")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	u.ok("", "vnf", "list", "--token-file", file)
	u.with("GYBE_TOKEN_FILE="+file).ok("", "vnf", "list")
	u.with("GYBE_TOKEN=wrong").ok("", "vnf", "list", "--token", secret)
	errs = u.with("GYBE_TOKEN="+secret).
		fails(cli.ExitLogin, "", "vim", "delete", "11111111-1111-4111-8111-111111111111")
	require.Contains(t, errs, "403")
	require.Contains(t, errs, "requires the role operator")

	// The context.
	require.Contains(t, u.fails(cli.ExitLogin, secret+"x\n", "login", "--token"), "401")
	require.Contains(t, u.ok("", "context", "list"), "NAME", "nothing was stored")
	u.ok(secret+"\n", "login", "--token", "--context", "prod", "--cacert", cert)
	u.secretFiles()
	u = &user{t, u.home, []string{"HOME=" + u.home}} // without variables
	u.ok("", "vnf", "list")
	require.Contains(t, u.ok("", "context", "list"), "prod")
	shown := u.ok("", "context", "show") + u.ok("", "context", "list", "-o", "json") +
		u.ok("", "context", "show", "prod", "-o", "yaml")
	require.NotContains(t, shown, secret)
	require.Contains(t, shown, cert)
	require.Equal(t, "prod", strings.Fields(u.ok("", "__complete", "vnf", "list", "--context", ""))[0])
	u.ok("", "__complete", "vnf", "show", "")

	// Its login is for its server only.
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization")+r.Header.Get("X-Auth-Token") != "" {
			t.Error("a token was sent to another server")
		}
		http.NotFound(w, r)
	}))
	defer other.Close()
	errs = u.fails(cli.ExitUnreachable, "", "vnf", "list", "--endpoint", other.URL)
	require.Contains(t, errs, "not the answer of a Gybe server")
	require.Contains(t, u.fails(cli.ExitUnreachable, "", "vnf", "list", "--endpoint",
		strings.Replace(other.URL, "http://", "https://", 1)), "begin the endpoint with http://")

	u.ok("", "logout")
	u.fails(cli.ExitLogin, "", "vnf", "list")
	u.ok("", "context", "delete", "prod")
	u.fails(cli.ExitNotFound, "", "context", "use", "prod")
	require.Contains(t, u.fails(cli.ExitUsage, "", "vnf", "list", "--context", "prod"), `there is no context "prod"`)
}

// TestClosedPortIsExplained: without a server, the error says how to name one.
func TestClosedPortIsExplained(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	errs := newUser(t).fails(cli.ExitUnreachable, "", "vnf", "list", "--endpoint", "http://"+l.Addr().String())
	require.Contains(t, errs, "start gybe serve there, or name another server with --endpoint")
}

// TestContextsAreOrdered: flags take precedence over variables, and these over the context.
func TestContextsAreOrdered(t *testing.T) {
	t.Parallel()
	at := map[string]*httptest.Server{}
	for _, name := range []string{"context", "named", "variable", "flag"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"status":409,"detail":"here is ` + name + `"}`))
		}))
		defer s.Close()
		at[name] = s
	}
	u := newUser(t)
	require.Contains(t, u.fails(cli.ExitUsage, "", "context", "set", "a"), "needs --endpoint")
	u.ok("", "context", "set", "a", "--endpoint", at["context"].URL)
	u.ok("", "context", "set", "b", "--endpoint", at["named"].URL)
	asks := func(u *user, want string, args ...string) {
		t.Helper()
		require.Contains(t, u.fails(cli.ExitConflict, "", append([]string{"vnf", "list"}, args...)...), "here is "+want)
	}
	asks(u, "context")
	asks(u, "named", "--context", "b")
	asks(u.with("GYBE_CONTEXT=b"), "named")
	u.ok("", "context", "use", "b")
	asks(u, "named")
	v := u.with("GYBE_ENDPOINT=" + at["variable"].URL)
	asks(v, "variable")
	asks(v, "flag", "--endpoint", at["flag"].URL)
	file := filepath.Join(u.home, ".config/gybe/config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("contexts: {a: {endpont: x}}"), 0o600))
	require.Contains(t, u.fails(cli.ExitUsage, "", "vnf", "list"), "endpont")
}

// TestLoginWithKeystone: by gybe login, by variables, and by a cloud of clouds.yaml, on a node that asks Keystone.
func TestLoginWithKeystone(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte(simcloud.Password+"\n"), 0o600))
	node := startNode(t, apitest.NewVIM(), func(c *config.Config) {
		c.Auth.Keystone.URL, c.Auth.Keystone.Username = cloud.AuthURL(), "admin"
		c.Auth.Keystone.PasswordFile, c.Auth.Keystone.Project = password, "admin"
	})
	o := cloud.AuthOptions()
	project := o.TenantName
	if o.Scope != nil {
		project = o.Scope.ProjectName
	}
	u := newUser(t, "GYBE_ENDPOINT="+node.URL())
	require.Contains(t, u.fails(cli.ExitLogin, "", "vnf", "list"), "log in: gybe login --keystone")

	args := []string{
		"login", "--keystone", "--auth-url", cloud.AuthURL(), "--username", o.Username, "--project", project,
	}
	errs := u.fails(cli.ExitLogin, "not-the-password\n", args...)
	require.Contains(t, errs, "rejects the login of "+o.Username)
	require.NotContains(t, errs, "not-the-password")
	u.ok(simcloud.Password+"\n", args...)
	u.secretFiles()
	for range 2 {
		u.ok("", "vnf", "list")
	}
	require.Contains(t, u.ok("", "context", "show"), o.Username)
	u.ok("", "logout")
	errs = u.fails(cli.ExitLogin, "", "vnf", "list")
	require.Contains(t, errs, "there is no valid token; log in with gybe login")
	u.with("OS_PASSWORD="+simcloud.Password).ok("", "vnf", "list")
	u.ok("", "vnf", "list")

	// Variables alone: the server asks first.
	v := newUser(t, "GYBE_ENDPOINT="+node.URL(), "OS_AUTH_URL="+cloud.AuthURL(), "OS_USERNAME="+o.Username,
		"OS_PASSWORD="+simcloud.Password, "OS_PROJECT_NAME="+project, "OS_USER_DOMAIN_NAME=Default",
		"OS_PROJECT_DOMAIN_NAME=Default")
	v.ok("", "vnf", "list")
	v.secretFiles()
	logins := cloud.Calls()
	cloud.ResetCalls()
	require.NotEmpty(t, logins)
	v.ok("", "vnf", "list")
	for _, c := range cloud.Calls() {
		require.False(t, c.Method == http.MethodPost && strings.HasSuffix(c.Route.Route, "/auth/tokens"),
			"the token was cached")
	}
	require.Contains(t, v.with("OS_PASSWORD=wrong").with("HOME="+t.TempDir()).fails(cli.ExitLogin, "", "vnf", "list"),
		"rejects the login")

	// A cloud of clouds.yaml.
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	require.NoError(t, os.WriteFile(file, []byte("clouds:\n  sim:\n    auth:\n      auth_url: "+cloud.AuthURL()+
		"\n      username: "+o.Username+"\n      password: "+simcloud.Password+"\n      project_name: "+project+
		"\n      user_domain_name: Default\n      project_domain_name: Default\n"), 0o600))
	w := newUser(t, "GYBE_ENDPOINT="+node.URL(), "OS_CLIENT_CONFIG_FILE="+file)
	w.ok("", "vnf", "list", "--os-cloud", "sim")
	w.with("OS_CLOUD=sim").ok("", "vnf", "list")
	require.Contains(t, w.fails(cli.ExitUsage, "", "vnf", "list", "--os-cloud", "nope"), `cloud "nope"`)
	w.ok("", "login", "--keystone", "--os-cloud", "sim")
	w.ok("", "vnf", "list")
}
