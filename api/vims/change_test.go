package vims_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// register registers a VIM and returns its id.
func (b *bundle) register(t *testing.T, body string) string {
	t.Helper()
	a := b.Do(t, "POST", "/v1.0/vims", body)
	require.Equal(t, 201, a.Status, string(a.Body))
	return apitest.JSON[gybeapi.VimBody](t, a).Vim.ID
}

// TestAVimIsChanged with the requests of openstack vim update, which have no type and no auth_url, and texts that are
// empty for what its file does not have.
func TestAVimIsChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.register(t, openstack)
	checked := 0
	b.check = func(lcm.Vim) error { checked++; return nil }
	for _, tt := range []struct {
		name, body string
		checked    int
		change     func(*lcm.Vim)
	}{
		{"nothing", `{}`, 0, func(*lcm.Vim) {}},
		{"name", `{"name":"renamed","description":""}`, 0, func(v *lcm.Vim) { v.Name, v.Description = "renamed", "" }},
		{"not the default", `{"is_default":false,"tenant_id":"default"}`, 0, func(v *lcm.Vim) { v.Default = false }},
		{
			"password",
			`{"auth_cred":{"username":"","password":"correct-horse-battery-2","user_domain_name":"","cert_verify":"True"},
				"vim_project":{"name":"nfv","project_domain_name":""}}`, 1,
			func(v *lcm.Vim) {
				v.Connection.AccessInfo["password"] = apitest.Password + "-2"
				delete(v.Connection.InterfaceInfo, "skipCertificateVerification")
				delete(v.Connection.InterfaceInfo, "skipCertificateHostnameCheck")
			},
		},
		{
			"as it is shown",
			`{"type":"openstack","auth_url":"http://k/identity/v3","auth_cred":{"username":"nfv_user","password":"***",
				"auth_url":"http://k/identity/v3"},"placement_attr":{"regions":["RegionOne"]},"extra":{}}`, 1,
			func(*lcm.Vim) {},
		},
		{
			"region and extra", `{"placement_attr":{"regions":["two"]},"extra":{"domain":"d"}}`, 1, func(v *lcm.Vim) {
				v.Connection.AccessInfo["region"], v.Connection.Extra = "two", sol.KeyValuePairs{"domain": "d"}
			},
		},
		{
			"another kind of credentials",
			`{"auth_cred":{"application_credential_id":"i","application_credential_secret":"correct-horse-battery"}}`, 1,
			func(v *lcm.Vim) {
				v.Connection.AccessInfo = sol.KeyValuePairs{
					"applicationCredentialId": "i", "applicationCredentialSecret": apitest.Password, "region": "two",
				}
			},
		},
		{"cloud", `{"auth_cred":{"cloud":"prod"}}`, 1, func(v *lcm.Vim) {
			v.Connection.AccessInfo = sol.KeyValuePairs{"cloud": "prod", "region": "two"}
			v.Connection.InterfaceInfo = nil
		}},
	} {
		want, err := b.Store.Vim(t.Context(), id)
		require.NoError(t, err)
		before := want.Connection
		before.AccessInfo, before.InterfaceInfo = maps.Clone(before.AccessInfo), maps.Clone(before.InterfaceInfo)
		tt.change(want)
		checkedBefore := checked
		a := b.Do(t, "PUT", "/v1.0/vims/"+id+".json", `{"vim":`+tt.body+`}`)
		require.Equal(t, 200, a.Status, tt.name+string(a.Body))
		require.NotContains(t, string(a.Body), apitest.Password)
		require.Equal(t, tt.checked, checked-checkedBefore, tt.name)
		got, err := b.Store.Vim(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want.Version+1, got.Version)
		if tt.name == "password" {
			require.Equal(t, []sol.VimConnectionInfo{before}, got.Previous, "instances that have it are renewed")
		}
		got.Version, got.Updated, got.Previous = want.Version, want.Updated, want.Previous
		require.Equal(t, want, got, tt.name)
		shown := apitest.JSON[gybeapi.VimBody](t, b.Do(t, "GET", "/v1.0/vims/"+id, nil)).Vim
		require.Equal(t, apitest.JSON[gybeapi.VimBody](t, a).Vim, shown)
	}
}

// TestChangesThatAreRefused leave the VIM as it is.
func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.register(t, openstack)
	b.register(t, strings.Replace(kubernetes, `"vim":{`, `"vim":{"name":"other",`, 1))
	before, err := b.Store.Vim(t.Context(), id)
	require.NoError(t, err)
	b.check = func(v lcm.Vim) error {
		return lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/vimConnectionInfo/" + lcm.Escape(v.Name) + "/accessInfo", Detail: "Keystone says no",
		})
	}
	for name, tt := range map[string]struct {
		body     string
		status   int
		pointers []string
	}{
		"type":           {`{"type":"kubernetes"}`, 422, []string{"/vim/type"}},
		"project":        {`{"tenant_id":"other"}`, 422, []string{"/vim/tenant_id"}},
		"name":           {`{"name":"other"}`, 409, []string{"/vim/name"}},
		"empty name":     {`{"name":""}`, 400, []string{"/vim/name"}},
		"wrong password": {`{"auth_cred":{"password":"x"}}`, 422, []string{"/vim/auth_cred/password"}},
		"half of another kind": {
			`{"auth_cred":{"application_credential_id":"i"}}`, 422,
			[]string{"/vim/auth_cred/application_credential_secret"},
		},
		"secret of another application credential": {
			`{"auth_cred":{"application_credential_id":"i","application_credential_secret":"y"}}`, 422,
			[]string{"/vim/auth_cred/application_credential_secret"},
		},
		"two kinds": {
			`{"auth_cred":{"application_credential_id":"i","application_credential_secret":"x","username":"u"}}`, 422,
			[]string{"/vim/auth_cred/username"},
		},
	} {
		a := b.Do(t, "PUT", "/v1.0/vims/"+id, `{"vim":`+tt.body+`}`)
		require.Equal(t, tt.status, a.Status, name+string(a.Body))
		require.Equal(t, tt.pointers, a.Pointers(), name)
	}
	after, err := b.Store.Vim(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestOneVimOfAProjectIsTheDefault: a new default takes the place of the previous one, whichever request names it.
func TestOneVimOfAProjectIsTheDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.register(t, openstack)
	second := b.register(t, strings.Replace(openstack, `"name":"cloud"`, `"name":"second"`, 1))
	defaults := func() (ids []string) {
		for _, v := range apitest.JSON[gybeapi.VimList](t, b.Do(t, "GET", "/v1.0/vims?is_default=true", nil)).Vims {
			ids = append(ids, v.ID)
		}
		return ids
	}
	require.Equal(t, []string{second}, defaults())
	require.Equal(t, 200, b.Do(t, "PUT", "/v1.0/vims/"+first, `{"vim":{"is_default":true}}`).Status)
	require.Equal(t, []string{first}, defaults())
	require.Equal(t, 204, b.Do(t, "DELETE", "/v1.0/vims/"+first, nil).Status)
	require.Empty(t, defaults())
}

// TestKindsOfKubernetesCredentials are stored as pkg/kubernetes reads them, and shown without their secrets.
func TestKindsOfKubernetesCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const secret = apitest.Password
	for name, tt := range map[string]struct {
		cred     string
		access   sol.KeyValuePairs
		shown    sol.KeyValuePairs
		pointers []string
	}{
		"token": {
			cred:   `{"bearer_token":"correct-horse-battery","ssl_ca_cert":"None","cert_verify":"False"}`,
			access: sol.KeyValuePairs{"bearer_token": secret, "namespace": "apps"},
			shown:  sol.KeyValuePairs{"bearer_token": "***", "cert_verify": "False"},
		},
		"certificate": {
			cred:   `{"client_certificate":"CERT","client_key":"correct-horse-battery"}`,
			access: sol.KeyValuePairs{"client_certificate": "CERT", "client_key": secret, "namespace": "apps"},
			shown:  sol.KeyValuePairs{"client_certificate": "***", "client_key": "***"},
		},
		"OIDC": {
			cred: `{"oidc_token_url":"https://p/token","client_id":"c","client_secret":"correct-horse-battery",
				"username":"u","password":"correct-horse-battery"}`,
			access: sol.KeyValuePairs{
				"oidc_token_url": "https://p/token", "client_id": "c", "client_secret": secret, "username": "u",
				"password": secret, "namespace": "apps",
			},
			shown: sol.KeyValuePairs{
				"oidc_token_url": "https://p/token", "client_id": "c", "client_secret": "***", "username": "u",
				"password": "***",
			},
		},
		"OIDC without a client": {
			cred:     `{"oidc_token_url":"https://p/token","username":"u","password":"p"}`,
			pointers: []string{"/vim/auth_cred/client_id"},
		},
		"certificate without key": {
			cred: `{"client_certificate":"CERT"}`, pointers: []string{"/vim/auth_cred/client_key"},
		},
		"several": {
			cred:     `{"client_certificate":"CERT","client_key":"k","bearer_token":"t"}`,
			pointers: []string{"/vim/auth_cred/client_certificate", "/vim/auth_cred/client_key"},
		},
		"copied from an answer": {cred: `{"bearer_token":"***"}`, pointers: []string{"/vim/auth_cred/bearer_token"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := b.Do(t, "POST", "/v1.0/vims", `{"vim":{"type":"kubernetes","auth_url":"https://k:6443","auth_cred":`+
				tt.cred+`,"vim_project":{"name":"apps"}}}`)
			if tt.pointers != nil {
				require.Equal(t, 422, a.Status, string(a.Body))
				require.Equal(t, tt.pointers, a.Pointers())
				return
			}
			require.Equal(t, 201, a.Status, string(a.Body))
			require.NotContains(t, string(a.Body), secret)
			v := apitest.JSON[gybeapi.VimBody](t, a).Vim
			require.Equal(t, tt.shown, v.AuthCred)
			require.Equal(t, sol.KeyValuePairs{"name": "apps"}, v.VimProject)
			kept, err := b.Store.Vim(t.Context(), v.ID)
			require.NoError(t, err)
			require.Equal(t, tt.access, kept.Connection.AccessInfo)
		})
	}
}

// TestAVimInUseStays: its deletion names the instances, and is done once they have ended.
func TestAVimInUseStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := lcm.SystemClock{}.Now()
	v := lcm.Vim{
		ID: uuid.NewString(), Name: "cloud", Created: now, Updated: now, Default: true,
		Connection: apitest.Params().VimConnectionInfo["vim1"],
	}
	v.Connection.VimID = v.ID
	require.NoError(t, b.Store.SaveVim(t.Context(), v))
	for name, conns := range map[string]map[string]sol.VimConnectionInfo{
		"by id": {"vim1": {VimID: v.ID, VimType: apitest.VimType}}, "default": nil,
	} {
		made, err := b.Service.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: apitest.VnfdID})
		require.NoError(t, err)
		i := made.ID
		params := apitest.Params()
		params.VimConnectionInfo = conns
		op, err := b.Submit(t, i, sol.LcmOperationInstantiate, params)
		require.NoError(t, err, name)
		a := b.Do(t, "DELETE", "/v1.0/vims/"+v.ID, nil)
		require.Equal(t, 409, a.Status, "the operation has not begun")
		require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, op.ID))
		a = b.Do(t, "DELETE", "/v1.0/vims/"+v.ID, nil)
		require.Equal(t, 409, a.Status, name)
		require.Contains(t, a.Problem.Detail, i)
		op, err = b.Submit(t, i, sol.LcmOperationTerminate, sol.TerminateVnfRequest{
			TerminationType: sol.TerminationTypeForceful,
		})
		require.NoError(t, err)
		require.Equal(t, sol.LcmOperationStateCompleted, b.Work(t, op.ID))
	}
	require.Equal(t, 204, b.Do(t, "DELETE", "/v1.0/vims/"+v.ID, nil).Status)
}

// TestTheClusterOfAnInstanceCanOnlyBecomeTheDefault: its instance keeps the rest up to date.
func TestTheClusterOfAnInstanceCanOnlyBecomeTheDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := lcm.SystemClock{}.Now()
	v := lcm.Vim{
		ID: uuid.NewString(), Name: "cluster", Owner: uuid.NewString(), Created: now, Updated: now,
		Connection: sol.VimConnectionInfo{
			VimType: "ETSINFV.KUBERNETES.V_1", AccessInfo: sol.KeyValuePairs{"bearer_token": apitest.Password},
			InterfaceInfo: sol.KeyValuePairs{"endpoint": "https://k", "tls_server_name": "10.0.0.1"},
		},
	}
	require.NoError(t, b.Store.SaveVim(t.Context(), v))
	for _, body := range []string{`{"name":"x"}`, `{"auth_cred":{"bearer_token":"x"}}`} {
		a := b.Do(t, "PUT", "/v1.0/vims/"+v.ID, `{"vim":`+body+`}`)
		require.Equal(t, 409, a.Status)
		require.Contains(t, a.Problem.Detail, v.Owner)
	}
	require.Equal(t, 200, b.Do(t, "PUT", "/v1.0/vims/"+v.ID, `{"vim":{"is_default":true}}`).Status)
	kept, err := b.Store.Vim(t.Context(), v.ID)
	require.NoError(t, err)
	require.Equal(t, v.Connection, kept.Connection)
	require.True(t, kept.Default)
}
