package vims_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/vims"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const (
	openstack = `{"vim":{"name":"cloud","description":"d","type":"openstack","auth_url":"http://k/identity/v3","is_default":true,
		"auth_cred":{"username":"nfv_user","password":"correct-horse-battery","user_domain_name":"Default","cert_verify":"False"},
		"vim_project":{"name":"nfv","project_domain_name":"Default"},"placement_attr":{"regions":["RegionOne"]}}}`
	kubernetes = `{"vim":{"type":"kubernetes","auth_url":"https://k:6443","vim_project":{"name":"default"},
		"auth_cred":{"bearer_token":"correct-horse-battery","ssl_ca_cert":"-----BEGIN CERTIFICATE-----"}}}`
)

type bundle struct {
	*apitest.Domain
	*apitest.Server
	check   func(lcm.Vim) error
	regions []string // what check finds
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Domain: apitest.NewDomain(t), check: func(lcm.Vim) error { return nil }}
	b.Server = apitest.Serve(t, (&vims.API{
		Services: b.Services, Clock: lcm.SystemClock{},
		Check: func(_ context.Context, v lcm.Vim) ([]string, error) { return b.regions, b.check(v) },
	}).Mount)
	return b
}

func TestAVimIsRegisteredUsedAndForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.Do(t, "POST", "/v1.0/vims", openstack, "Version", "")
	require.Equal(t, 201, a.Status, string(a.Body))
	require.NotContains(t, string(a.Body), apitest.Password)
	v := apitest.JSON[gybeapi.VimBody](t, a).Vim
	require.Equal(t, v.ID, a.LocationID(t))
	require.Equal(t, "openstack", v.Type)
	require.Equal(t, "***", v.AuthCred["password"])
	require.Equal(t, "False", v.AuthCred["cert_verify"])
	require.Equal(t, "nfv", v.VimProject["name"])
	require.Equal(t, "default", v.TenantID)
	require.Equal(t, []any{"RegionOne"}, v.PlacementAttr["regions"])

	kept, err := b.Store.Vim(t.Context(), v.ID)
	require.NoError(t, err)
	require.Equal(t, sol.VimConnectionInfo{
		VimID: v.ID, VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		InterfaceInfo: sol.KeyValuePairs{
			"endpoint": "http://k/identity/v3", "skipCertificateVerification": true,
			"skipCertificateHostnameCheck": true,
		},
		AccessInfo: sol.KeyValuePairs{
			"username": "nfv_user", "password": apitest.Password, "userDomain": "Default", "project": "nfv",
			"projectDomain": "Default", "region": "RegionOne",
		},
	}, kept.Connection)
	require.True(t, kept.Default)

	require.Equal(t, 409, b.Do(t, "POST", "/v1.0/vims", openstack).Status, "the name is taken")

	a = b.Do(t, "POST", "/v1.0/vims.json", kubernetes)
	require.Equal(t, 201, a.Status, string(a.Body))
	require.NotContains(t, string(a.Body), apitest.Password)
	k := apitest.JSON[gybeapi.VimBody](t, a).Vim
	require.Equal(t, "***", k.AuthCred["bearer_token"])
	require.NotEmpty(t, k.Name)

	for _, path := range []string{"/v1.0/vims", "/v1.0/vims.json"} {
		a = b.Do(t, "GET", path, nil)
		require.Equal(t, 200, a.Status)
		require.Len(t, apitest.JSON[gybeapi.VimList](t, a).Vims, 2)
		require.NotContains(t, string(a.Body), apitest.Password)
	}
	require.Equal(t, v, apitest.JSON[gybeapi.VimBody](t, b.Do(t, "GET", "/v1.0/vims/"+v.ID+".json", nil)).Vim)
	require.Equal(t, 204, b.Do(t, "DELETE", "/v1.0/vims/"+v.ID, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", "/v1.0/vims/"+v.ID, nil).Status)
	require.Equal(t, 404, b.Do(t, "DELETE", "/v1.0/vims/"+v.ID, nil).Status)
}

// TestListsAreFiltered with the parameters that python-tackerclient sends to find a VIM by id or name. It deletes the
// only element of the answer: a parameter that is ignored deletes another VIM than the one that was named.
func TestListsAreFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	register := func(body string) string {
		a := b.Do(t, "POST", "/v1.0/vims", body)
		require.Equal(t, 201, a.Status, string(a.Body))
		return apitest.JSON[gybeapi.VimBody](t, a).Vim.ID
	}
	cloud := register(openstack)
	other := register(strings.Replace(kubernetes, `"vim":{`, `"vim":{"name":"other",`, 1))
	both := []string{cloud, other}
	slices.Sort(both)

	for _, tt := range []struct {
		query string
		ids   []string
	}{
		{"name=NOSUCH&fields=id", nil},
		{"name=cloud&fields=id", []string{cloud}},
		{"name=Cloud", nil},
		{"id=" + other + "&fields=id", []string{other}},
		{"id=" + uuid.NewString() + "&fields=id", nil},
		{"name=cloud&id=" + other, nil},
		{"name=cloud&name=other", both},
		{"is_default=True", []string{cloud}},
		{"is_default=false", []string{other}},
		{"type=kubernetes&status=ACTIVE", []string{other}},
		{"name=", nil},
		{"", both},
	} {
		for _, path := range []string{"/v1.0/vims?", "/v1.0/vims.json?"} {
			a := b.Do(t, "GET", path+tt.query, nil)
			require.Equal(t, 200, a.Status, string(a.Body))
			var ids []string
			for _, v := range apitest.JSON[gybeapi.VimList](t, a).Vims {
				ids = append(ids, v.ID)
			}
			slices.Sort(ids)
			require.Equal(t, tt.ids, ids, tt.query)
			if strings.Contains(tt.query, "fields=id") {
				require.NotContains(t, string(a.Body), "auth_cred")
			}
		}
	}

	for query, detail := range map[string]string{
		"nam=cloud": `"nam" is not a query parameter`, "is_default=perhaps": "is_default=perhaps",
	} {
		a := b.Do(t, "GET", "/v1.0/vims?"+query, nil)
		require.Equal(t, 400, a.Status)
		require.Contains(t, a.Problem.Detail, detail)
	}
}

func TestRegistrationsThatCannotWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tests := []struct {
		name, body string
		status     int
		pointers   []string
	}{
		{"nothing", `{}`, 400, []string{"/vim"}},
		{
			"unknown type", `{"vim":{"type":"abacus","auth_url":"x","auth_cred":{},"vim_project":{}}}`, 400,
			[]string{"/vim/type"},
		},
		{
			"no credentials", `{"vim":{"type":"openstack","auth_url":"http://k","auth_cred":{},"vim_project":{}}}`, 422,
			[]string{"/vim/auth_cred/password", "/vim/auth_cred/username", "/vim/vim_project/name"},
		},
		{"credentials of another type", `{"vim":{"type":"openstack","auth_url":"http://k","auth_cred":{"username":1,"password":"x"},"vim_project":{"name":"n"}}}`, 422, []string{"/vim/auth_cred/username"}},
		{"nowhere", `{"vim":{"type":"openstack","auth_cred":{"username":"u","password":"x"},"vim_project":{"name":"n"}}}`, 422, []string{"/vim/auth_url"}},
		{"half an application credential", `{"vim":{"type":"openstack","auth_url":"http://k","auth_cred":{"application_credential_id":"i"}}}`, 422, []string{"/vim/auth_cred/application_credential_secret"}},
		{
			"a cloud and more", `{"vim":{"type":"openstack","auth_url":"http://k","auth_cred":{"cloud":"prod","username":"u"},"vim_project":{"name":"n"}}}`, 422,
			[]string{"/vim/auth_cred/username", "/vim/auth_url", "/vim/vim_project/name"},
		},
		{
			"a kubeconfig that runs a program", kubeconfigVim(`"exec":{"command":"/bin/sh"}`, ""), 422,
			[]string{"/vim/auth_cred/kubeconfig"},
		},
		{
			"a kubeconfig and more", kubeconfigVim(`"token":"t"`, `"bearer_token":"x",`), 422,
			[]string{"/vim/auth_cred/bearer_token"},
		},
		{
			"a kubeconfig that is no text",
			`{"vim":{"type":"kubernetes","auth_cred":{"kubeconfig":1},"vim_project":{}}}`, 422,
			[]string{"/vim/auth_cred/kubeconfig"},
		},
		{
			"no token", `{"vim":{"type":"kubernetes","auth_url":"http://k","auth_cred":{},"vim_project":{}}}`, 422,
			[]string{"/vim/auth_cred"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := b.Do(t, "POST", "/v1.0/vims", tt.body)
			require.Equal(t, tt.status, a.Status, string(a.Body))
			require.Equal(t, tt.pointers, a.Pointers())
		})
	}
	require.Equal(t, 404, b.Do(t, "GET", "/v1.0/vims/nonsense", nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", "/v1.0/vims/"+uuid.NewString(), nil).Status)
	require.Equal(t, 404, b.Do(t, "PUT", "/v1.0/vims/"+uuid.NewString(), `{"vim":{}}`).Status)
}

// kubeconfigVim is a registration with a kubeconfig file, whose user has some members, and with other credentials.
func kubeconfigVim(user, more string) string {
	file := `{"apiVersion":"v1","kind":"Config","current-context":"c",` +
		`"contexts":[{"name":"c","context":{"cluster":"k","user":"u","namespace":"cnf"}}],` +
		`"clusters":[{"name":"k","cluster":{"server":"https://192.0.2.1:6443","certificate-authority-data":"Y2E="}}],` +
		`"users":[{"name":"u","user":{` + user + `}}]}`
	return `{"vim":{"type":"kubernetes","vim_project":{},"auth_cred":{` + more + `"kubeconfig":` + strconv.Quote(file) +
		`}}}`
}

// TestKubeconfigOfACluster: only the current context of the file is kept, in the form of other registrations.
func TestKubeconfigOfACluster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.Do(t, "POST", "/v1.0/vims", kubeconfigVim(`"token":"first-canary"`, ""))
	require.Equal(t, 201, a.Status, string(a.Body))
	require.NotContains(t, string(a.Body), "first-canary")
	v := apitest.JSON[gybeapi.VimBody](t, a).Vim
	require.Equal(t, "https://192.0.2.1:6443", v.AuthURL)
	require.Equal(t, "cnf", v.VimProject["name"])
	require.Equal(t, "ca", v.AuthCred["ssl_ca_cert"])
	require.Contains(t, v.AuthCred, "bearer_token")
	require.NotContains(t, v.AuthCred, "kubeconfig")
	a = b.Do(t, "PUT", "/v1.0/vims/"+v.ID, kubeconfigVim(`"username":"n","password":"second-canary"`, ""))
	require.Equal(t, 200, a.Status, string(a.Body))
	changed := apitest.JSON[gybeapi.VimBody](t, a).Vim
	require.Equal(t, "n", changed.AuthCred["username"])
	require.NotContains(t, changed.AuthCred, "bearer_token")
}

func TestAVimThatDoesNotLetUsInIsNotRegistered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.check = func(lcm.Vim) error { return lcm.Errorf(lcm.CodeUpstream, "Keystone said 401") }
	require.Equal(t, 502, b.Do(t, "POST", "/v1.0/vims", openstack).Status)
	require.Empty(t, apitest.JSON[gybeapi.VimList](t, b.Do(t, "GET", "/v1.0/vims", nil)).Vims)
}

// TestWaysToRegisterAnOpenStack: with a certificate authority of its own, an application credential, or as the
// operator's clouds.yaml has it.
func TestWaysToRegisterAnOpenStack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, tt := range map[string]struct {
		body               string
		interfaces, access sol.KeyValuePairs
		shown              sol.KeyValuePairs
	}{
		"CA": {
			`{"name":"a","type":"openstack","auth_url":"https://k","auth_cred":{"username":"u","password":"correct-horse-battery","ssl_ca_cert":"PEM"},"vim_project":{"name":"n"}}`,
			sol.KeyValuePairs{"endpoint": "https://k", "trustedCertificates": "PEM"},
			sol.KeyValuePairs{
				"username": "u", "password": apitest.Password, "userDomain": "Default", "project": "n",
				"projectDomain": "Default",
			},
			sol.KeyValuePairs{
				"username": "u", "password": "***", "user_domain_name": "Default", "ssl_ca_cert": "PEM",
				"cert_verify": "True", "auth_url": "https://k",
			},
		},
		"application credential": {
			`{"name":"b","type":"openstack","auth_url":"https://k","auth_cred":{"application_credential_id":"i","application_credential_secret":"correct-horse-battery"}}`,
			sol.KeyValuePairs{"endpoint": "https://k"},
			sol.KeyValuePairs{"applicationCredentialId": "i", "applicationCredentialSecret": apitest.Password},
			sol.KeyValuePairs{
				"application_credential_id": "i", "application_credential_secret": "***",
				"cert_verify": "True", "auth_url": "https://k",
			},
		},
		"cloud": {
			`{"name":"c","type":"openstack","auth_cred":{"cloud":"prod"},"placement_attr":{"regions":["two"]}}`,
			nil,
			sol.KeyValuePairs{"cloud": "prod", "region": "two"},
			sol.KeyValuePairs{"cloud": "prod"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := b.Do(t, "POST", "/v1.0/vims", `{"vim":`+tt.body+`}`)
			require.Equal(t, 201, a.Status, string(a.Body))
			require.NotContains(t, string(a.Body), apitest.Password)
			v := apitest.JSON[gybeapi.VimBody](t, a).Vim
			require.Equal(t, tt.shown, v.AuthCred)
			kept, err := b.Store.Vim(t.Context(), v.ID)
			require.NoError(t, err)
			require.Equal(t, tt.interfaces, kept.Connection.InterfaceInfo)
			require.Equal(t, tt.access, kept.Connection.AccessInfo)
		})
	}
}

// TestWhatTheDriverRefusesIsPointedAt: the driver knows a connection, the user the registration.
func TestWhatTheDriverRefusesIsPointedAt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.check = func(v lcm.Vim) error {
		return lcm.Unprocessable(lcm.InvalidParam{Pointer: "/vimConnectionInfo/" + v.Name +
			"/interfaceInfo/trustedCertificates", Detail: "is not a PEM certificate"})
	}
	a := b.Do(t, "POST", "/v1.0/vims", openstack)
	require.Equal(t, 422, a.Status)
	require.Equal(t, []string{"/vim/auth_cred/ssl_ca_cert"}, a.Pointers())
}

// TestMistakesOfAKubeconfigPointAtTheFile: the address and the authority of the connection come from the file, also
// when the request changes a VIM.
func TestMistakesOfAKubeconfigPointAtTheFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.register(t, kubernetes)
	for _, member := range []string{"/interfaceInfo/endpoint", "/interfaceInfo/ssl_ca_cert", "/accessInfo"} {
		b.check = func(v lcm.Vim) error {
			bad := lcm.InvalidParam{
				Pointer: "/vimConnectionInfo/" + lcm.Escape(v.Name) + member, Detail: "connection refused",
			}
			return lcm.AsError(lcm.Unprocessable(bad)).WithHint("give another auth_url")
		}
		body := kubeconfigVim(`"token":"t"`, "")
		for _, a := range []apitest.Answer{
			b.Do(t, "POST", "/v1.0/vims", body), b.Do(t, "PUT", "/v1.0/vims/"+id, body),
		} {
			require.Equal(t, 422, a.Status, member)
			require.Equal(t, []string{"/vim/auth_cred/kubeconfig"}, a.Pointers(), member)
			require.NotContains(t, string(a.Body), "auth_url")
		}
	}
}

// TestWrongCredentialsArePointedAt: the user can correct them, so they are not a failure of the VIM.
func TestWrongCredentialsArePointedAt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.check = func(v lcm.Vim) error {
		return &lcm.Error{
			Code: lcm.CodeUnprocessable, Class: lcm.Auth, Title: "VIM authentication failed", Detail: "401",
			Params: []lcm.InvalidParam{{Pointer: "/vimConnectionInfo/" + v.Name + "/accessInfo", Detail: "401"}},
		}
	}
	a := b.Do(t, "POST", "/v1.0/vims", openstack)
	require.Equal(t, 422, a.Status)
	require.Equal(t, []string{"/vim/auth_cred/password"}, a.Pointers())
}

func TestTheClusterOfAnInstanceStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := lcm.SystemClock{}.Now()
	v := lcm.Vim{
		ID: uuid.NewString(), Name: "cluster", Owner: uuid.NewString(), Created: now, Updated: now,
		Connection: sol.VimConnectionInfo{
			VimType: "ETSINFV.KUBERNETES.V_1", AccessInfo: sol.KeyValuePairs{"bearer_token": apitest.Password},
		},
	}
	require.NoError(t, b.Store.SaveVim(t.Context(), v))
	a := b.Do(t, "DELETE", "/v1.0/vims/"+v.ID, nil)
	require.Equal(t, 409, a.Status)
	require.Contains(t, a.Problem.Detail, v.Owner)
	require.NotContains(t, string(b.Do(t, "GET", "/v1.0/vims", nil).Body), apitest.Password)
}

// TestTheOnlyRegionOfAVIMIsShown: a registration that names no region gets the one of the catalogue. With several ones,
// the user has to choose.
func TestTheOnlyRegionOfAVIMIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n, tt := range []struct {
		catalogue   []string
		given, want string
	}{
		{[]string{"one"}, `{}`, `{"regions":["one"]}`},
		{[]string{"one"}, `{"regions":["two"]}`, `{"regions":["two"]}`},
		{[]string{"one", "two"}, `{}`, `{}`},
		{nil, `{}`, `{}`},
	} {
		b.regions = tt.catalogue
		body := strings.NewReplacer(
			`{"regions":["RegionOne"]}`, tt.given, `"name":"cloud"`, `"name":"cloud`+strconv.Itoa(n)+`"`,
		).Replace(openstack)
		a := b.Do(t, "POST", "/v1.0/vims", body)
		require.Equal(t, 201, a.Status, string(a.Body))
		require.Contains(t, string(a.Body), `"placement_attr":`+tt.want)
	}
}
