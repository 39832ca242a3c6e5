package simcloud

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/stretchr/testify/require"
)

// call does a bare HTTP call and returns status, headers and body.
func call(t *testing.T, method, url, token, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Auth-Token", token)
	req.Close = true
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header, string(b)
}

func TestLoginRefusesWrongCredentials(t *testing.T) {
	t.Parallel()
	c := StartTest(t, Options{})
	for name, change := range map[string]func(*gophercloud.AuthOptions){
		"password": func(o *gophercloud.AuthOptions) { o.Password = "wrong" },
		"user":     func(o *gophercloud.AuthOptions) { o.Username = "nobody" },
		"domain":   func(o *gophercloud.AuthOptions) { o.DomainName = "Other" },
		"project": func(o *gophercloud.AuthOptions) {
			o.TenantName, o.Scope = "nowhere", &gophercloud.AuthScope{ProjectName: "nowhere", DomainName: Domain}
		},
		"project without a role": func(o *gophercloud.AuthOptions) {
			o.Scope = &gophercloud.AuthScope{ProjectName: OtherProject, DomainName: Domain}
		},
	} {
		opts := c.AuthOptions()
		opts.AllowReauth = false
		change(&opts)
		_, err := Login(t.Context(), opts)
		require.True(t, gophercloud.ResponseCodeIs(err, http.StatusUnauthorized), "wrong %s: %v", name, err)
	}
	status, _, body := call(t, "POST", c.AuthURL()+"/auth/tokens", "", `{"auth":{"identity":{"methods":["password"]}}}`)
	require.Equal(t, http.StatusUnauthorized, status)
	require.JSONEq(t, `{"error":{"code":401,"message":"The request you have made requires authentication.","title":"Unauthorized"}}`, body)
}

func TestTokenCarriesTheCatalog(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	tok := tokens.Get(t.Context(), u.keystone, u.Token())
	project, err := tok.ExtractProject()
	require.NoError(t, err)
	require.Equal(t, c.ProjectID(), project.ID)
	catalog, err := tok.ExtractServiceCatalog()
	require.NoError(t, err)
	var types []string
	for _, e := range catalog.Entries {
		types = append(types, e.Type)
		require.Len(t, e.Endpoints, 3, "public, internal and admin of %s", e.Type)
		for _, ep := range e.Endpoints {
			require.Equal(t, Region, ep.Region)
		}
	}
	require.Subset(t, types, []string{"identity", "orchestration", "compute", "network", "image", "volumev3"})
}

func TestExpiredTokenIsRefusedAndRenewed(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	old := u.Token()
	c.ExpireTokens()
	status, header, _ := call(t, "GET", c.URL()+"/network/v2.0/networks", old, "")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, header.Get("WWW-Authenticate"), "Keystone uri=")
	_, err := networks.Get(t.Context(), u.neutron, c.Net0ID()).Extract()
	require.NoError(t, err, "a client that may log in again goes on")
	require.NotEqual(t, old, u.Token())

	c.SetTokenTTL(-time.Second)
	opts := c.AuthOptions()
	opts.AllowReauth = false
	p, err := Login(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	net, err := openstack.NewNetworkV2(p, gophercloud.EndpointOpts{Region: Region})
	require.NoError(t, err)
	_, err = networks.Get(t.Context(), net, c.Net0ID()).Extract()
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusUnauthorized), "%v", err)
}

func TestRevokedTokenIsGone(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	other := login(t, c)
	require.NoError(t, tokens.Revoke(t.Context(), u.keystone, other.Token()).Err)
	ok, err := tokens.Validate(t.Context(), u.keystone, other.Token())
	require.NoError(t, err)
	require.False(t, ok)
}

func TestProjectsAreForAdministrators(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	page, err := projects.List(u.keystone, projects.ListOpts{Name: Project}).AllPages(t.Context())
	require.NoError(t, err)
	list, err := projects.ExtractProjects(page)
	require.NoError(t, err)
	require.Len(t, list, 1)
	opts := c.AuthOptions()
	opts.Username, opts.Scope = OtherUsername, &gophercloud.AuthScope{ProjectName: OtherProject, DomainName: Domain}
	other := loginAs(t, c, opts)
	_, err = projects.List(other.keystone, nil).AllPages(t.Context())
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusForbidden))
	page, err = projects.ListAvailable(other.keystone).AllPages(t.Context())
	require.NoError(t, err)
	list, err = projects.ExtractProjects(page)
	require.NoError(t, err)
	require.Equal(t, OtherProject, list[0].Name)
}

func TestErrorsHaveTheFormOfTheirService(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	id := "11111111-2222-3333-4444-555555555555"
	for path, want := range map[string]string{
		"/identity/v3/" +
			"nothing": `{"error":{"code":404,"message":"The resource could not be found.","title":"Not Found"}}`,
		"/orchestration/v1/" + c.ProjectID() + "/stacks/x/" + id: `{"explanation":"The resource could not be found.","code":404,"title":"Not Found",
			"error":{"message":"The Stack (x) could not be found.","traceback":null,"type":"EntityNotFound"}}`,
		"/compute/v2.1/servers/" + id: `{"itemNotFound":{"code":404,"message":"Instance ` + id +
			` could not be found."}}`,
		"/network/v2.0/ports/" + id: `{"NeutronError":{"type":"PortNotFound","message":"Port ` +
			id + ` could not be found.","detail":""}}`,
		"/volume/v3/" + c.ProjectID() + "/volumes/" + id: `{"itemNotFound":{"code":404,"message":"Volume ` + id +
			` could not be found."}}`,
	} {
		status, header, body := call(t, "GET", c.URL()+path, u.Token(), "")
		require.Equal(t, http.StatusNotFound, status, path)
		require.JSONEq(t, want, body, path)
		require.True(t, strings.HasPrefix(header.Get("X-Openstack-Request-Id"), "req-"), path)
	}
	status, header, body := call(t, "GET", c.URL()+"/image/v2/images/"+id, u.Token(), "")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, header.Get("Content-Type"), "text/html")
	require.Contains(t, body, "No image found with ID "+id)
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	c := StartTest(t, Options{})
	for path, want := range map[string]int{
		"/identity": 300, "/identity/": 300, "/identity/v3": 200, "/identity/v3/": 200, "/orchestration/": 300,
		"/compute/": 200, "/compute/v2.1": 200, "/compute/v2.1/": 200, "/network/": 200, "/network": 200,
		"/image/": 300, "/volume/": 300, "/volume/v3/": 200,
	} {
		status, _, body := call(t, "GET", c.URL()+path, "", "")
		require.Equal(t, want, status, path)
		require.True(t, json.Valid([]byte(body)), path)
	}
}
