package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// callKeystone sends a request to Keystone and returns the token and the body of the answer.
func callKeystone(t *testing.T, address, token string, body map[string]any) (string, map[string]any) {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(raw))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Auth-Token", token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode, string(text))
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	return resp.Header.Get("X-Subject-Token"), out
}

// TestLoginWithApplicationCredentialsAndTokens of Keystone: by the variables that the openstack client reads, and by a
// cloud of clouds.yaml, on a node that asks Keystone.
func TestLoginWithApplicationCredentialsAndTokens(t *testing.T) {
	t.Parallel()
	type obj = map[string]any
	cloud := simcloud.StartTest(t, simcloud.Options{})
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte(simcloud.Password+"\n"), 0o600))
	node := startNode(t, apitest.NewVIM(), func(c *config.Config) {
		c.Auth.Keystone.URL, c.Auth.Keystone.Username = cloud.AuthURL(), simcloud.Username
		c.Auth.Keystone.PasswordFile, c.Auth.Keystone.Project = password, simcloud.Project
	})
	token, answer := callKeystone(t, cloud.AuthURL()+"/auth/tokens", "", obj{"auth": obj{
		"identity": obj{"methods": []string{"password"}, "password": obj{"user": obj{
			"name": simcloud.Username, "password": simcloud.Password, "domain": obj{"id": "default"},
		}}},
		"scope": obj{"project": obj{"name": simcloud.Project, "domain": obj{"id": "default"}}},
	}})
	user, _ := answer["token"].(obj)["user"].(obj)["id"].(string)
	_, answer = callKeystone(t, cloud.AuthURL()+"/users/"+user+"/application_credentials", token,
		obj{"application_credential": obj{"name": "cli"}})
	made, _ := answer["application_credential"].(obj)
	id, _ := made["id"].(string)
	secret, _ := made["secret"].(string)

	at := []string{"GYBE_ENDPOINT=" + node.URL(), "OS_AUTH_URL=" + cloud.AuthURL()}
	u := newUser(t, at...).with("OS_AUTH_TYPE=v3applicationcredential", "OS_APPLICATION_CREDENTIAL_ID="+id)
	u.with("OS_APPLICATION_CREDENTIAL_SECRET="+secret).ok("", "vnf", "list")
	errs := newUser(t, u.env[1:]...).with("OS_APPLICATION_CREDENTIAL_SECRET=not-the-secret").
		fails(cli.ExitLogin, "", "vnf", "list")
	require.Contains(t, errs, "rejects the login")
	require.NotContains(t, errs, "not-the-secret")
	v := newUser(t, at...).with("OS_APPLICATION_CREDENTIAL_SECRET=" + secret)
	v.ok("", "login", "--keystone", "--application-credential", id)
	v.secretFiles()
	stored := v.ok("", "context", "show", "-o", "yaml")
	require.Contains(t, stored, id)
	require.NotContains(t, stored, secret)
	v.ok("", "vnf", "list")

	file := filepath.Join(t.TempDir(), "clouds.yaml")
	require.NoError(t, os.WriteFile(file, []byte("clouds:\n  sim:\n    auth_type: v3applicationcredential\n    auth:\n"+
		"      auth_url: "+cloud.AuthURL()+"\n      application_credential_id: "+id+
		"\n      application_credential_secret: "+secret+"\n"), 0o600))
	newUser(t, at[0], "OS_CLIENT_CONFIG_FILE="+file, "OS_CLOUD=sim").ok("", "vnf", "list")

	w := newUser(t, at...).with("OS_AUTH_TYPE=token", "OS_TOKEN="+token)
	w.ok("", "vnf", "list")
	w.with("OS_PROJECT_NAME="+simcloud.Project, "OS_PROJECT_DOMAIN_NAME=Default").ok("", "vnf", "list")
	errs = newUser(t, at...).with("OS_AUTH_TYPE=token", "OS_TOKEN=gAAAAAnot-a-token").
		fails(cli.ExitLogin, "", "vnf", "list")
	require.Contains(t, errs, "401")
	require.NotContains(t, errs, "not-a-token")
}

// TestLoginWithOpenIDAtANode: by device and by browser. A node accepts the token, also a renewed one; when it cannot be
// renewed, the command says how to log in again.
func TestLoginWithOpenIDAtANode(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.claims = map[string]any{"aud": "gybe", "project": "default", "roles": []string{"nfv-operator"}}
	node := startNode(t, apitest.NewVIM(), func(c *config.Config) {
		c.Auth.OIDC.Issuer, c.Auth.OIDC.Audience, c.Auth.OIDC.ProjectClaim = p.URL, "gybe", "project"
		c.Auth.OIDC.RoleClaim, c.Auth.OIDC.Roles = "roles", []string{"nfv-operator=operator"}
	})
	u := newUser(t, "GYBE_ENDPOINT="+node.URL())
	require.Contains(t, u.fails(cli.ExitLogin, "", "vnf", "list"), "log in: gybe login --oidc")
	u.ok("", "login", "--oidc", "--issuer", p.URL, "--client-id", "gybe-cli")
	u.ok("", "vnf", "list")
	u.fails(cli.ExitNotFound, "", "vim", "delete", "11111111-1111-4111-8111-111111111111") // an operator may
	require.Contains(t, u.fails(cli.ExitLogin, "", "audit"), "requires the role admin")

	p.set(func() { p.ttl = 30 }) // from now on, each token is renewed before it is used
	u.ok("", "login")
	p.mu.Lock()
	before := p.issued
	p.mu.Unlock()
	u.ok("", "vnf", "list")
	p.set(func() {
		require.Equal(t, before+1, p.issued)
		p.refresh = "" // the provider has ended the session
	})
	errs := u.fails(cli.ExitLogin, "", "vnf", "list")
	require.Contains(t, errs, "there is no valid token; log in with gybe login")
	require.Contains(t, errs, "invalid_grant")
	p.set(func() { p.ttl = 3600 })

	b := newUser(t, "GYBE_ENDPOINT="+node.URL())
	var out, text bytes.Buffer
	code := cli.Run(t.Context(), []string{"login", "--oidc", "--browser", "--issuer", p.URL, "--client-id", "gybe-cli"},
		cli.Env{Stdin: &out, Stdout: &out, Stderr: &text, Environ: b.env, OpenBrowser: func(address string) {
			req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, address, nil)
			if err == nil {
				var resp *http.Response
				if resp, err = http.DefaultClient.Do(req); err == nil {
					err = resp.Body.Close()
				}
			}
			if err != nil {
				t.Error(err)
			}
		}})
	require.Zero(t, code, text.String())
	b.ok("", "vnf", "list")
}
