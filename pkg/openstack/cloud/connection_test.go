package cloud

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://localhost/identity/v3":       "http://localhost/identity",
		"http://localhost/identity/v3/":      "http://localhost/identity",
		"http://localhost/identity":          "http://localhost/identity",
		"https://keystone.example:5000/":     "https://keystone.example:5000",
		"http://[::1]:5000/v3/auth/tokens":   "http://[::1]:5000",
		"http://k/v2.0":                      "",
		"ftp://k":                            "",
		"//k/v3":                             "",
		"":                                   "",
		"http://user:pw@k/v3":                "",
		"http://k/v3?x=1":                    "",
		"http://k:port/v3":                   "",
		"http://localhost/identity/v3#there": "",
	} {
		c, bad := parseConnection("vim1", stubcloud.VimAt(given))
		require.Equal(t, want, c.base, given)
		require.Equal(t, want == "", len(bad) == 1, "%s: %v", given, bad)
		for _, b := range bad {
			require.Equal(t, "/vimConnectionInfo/vim1/interfaceInfo/endpoint", b.Pointer)
		}
	}
}

// TestConnectionIsIncomplete: everything that is missing is said at once, before anything is created.
func TestConnectionIsIncomplete(t *testing.T) {
	t.Parallel()
	_, bad := parseConnection("a/b", sol.VimConnectionInfo{
		InterfaceInfo: sol.KeyValuePairs{
			"skipCertificateVerification": "perhaps", "trustedCertificates": []any{"no certificate"}, "caCert": 7.0,
		},
		AccessInfo: sol.KeyValuePairs{"region": true},
	})
	var pointers []string
	for _, b := range bad {
		pointers = append(pointers, b.Pointer)
	}
	require.ElementsMatch(t, []string{
		"/vimConnectionInfo/a~1b/interfaceInfo/endpoint",
		"/vimConnectionInfo/a~1b/interfaceInfo/skipCertificateVerification",
		"/vimConnectionInfo/a~1b/interfaceInfo/trustedCertificates",
		"/vimConnectionInfo/a~1b/interfaceInfo/caCert",
		"/vimConnectionInfo/a~1b/accessInfo/region",
		"/vimConnectionInfo/a~1b/accessInfo/username",
		"/vimConnectionInfo/a~1b/accessInfo/password",
		"/vimConnectionInfo/a~1b/accessInfo/project",
	}, pointers)
}

func TestConnectionNames(t *testing.T) {
	t.Parallel()
	c, bad := parseConnection("v", sol.VimConnectionInfo{
		InterfaceInfo: sol.KeyValuePairs{
			"endpoint": "http://k", "skipCertificateVerification": true, "skipCertificateHostnameCheck": "false",
		},
		AccessInfo: sol.KeyValuePairs{
			"userId": "u1", "password": "p", "projectId": "p1", "projectDomainId": "d1", "userDomainId": "d2",
			"regionName": "R2",
		},
	})
	require.Empty(t, bad)
	require.True(t, c.skipVerify)
	require.False(t, c.skipHostname)
	c.base = ""
	require.Equal(t, connection{
		userID: "u1", projectID: "p1", projectDomainID: "d1", userDomainID: "d2", region: "R2", password: "p",
		skipVerify: true,
	}, c)

	c, bad = parseConnection("v", sol.VimConnectionInfo{
		InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://k"},
		AccessInfo:    sol.KeyValuePairs{"username": "u", "password": "p", "projectName": "nfv"},
	})
	require.Empty(t, bad)
	require.Equal(t, "Default", c.userDomain)
	require.Equal(t, "Default", c.projectDomain)
}

// TestSessionsAreNotShared: another password must not get the session of the right one.
func TestSessionsAreNotShared(t *testing.T) {
	t.Parallel()
	a, _ := parseConnection("v", stubcloud.VimAt("http://k"))
	b := a
	b.password = "other"
	c := a
	c.skipVerify = true
	require.NotEqual(t, a.identity(), b.identity())
	require.NotEqual(t, a.identity(), c.identity())
	d, _ := parseConnection("another key", stubcloud.VimAt("http://k/v3/"))
	require.Equal(t, a.identity(), d.identity())
}

// TestTLS: nothing is trusted that the connection does not name.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := &stubcloud.Cloud{}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what is tested
	srv.StartTLS()
	t.Cleanup(srv.Close)
	s.Server = srv
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	// the certificate is for example.com and 127.0.0.1
	byName := "https://localhost" + srv.URL[len("https://127.0.0.1"):] + "/identity"
	for name, tt := range map[string]struct {
		endpoint string
		set      sol.KeyValuePairs
		title    string
		hint     string
	}{
		"unknown authority": {srv.URL + "/identity", nil, "unknown authority", "trustedCertificates"},
		"trusted": {
			srv.URL + "/identity", sol.KeyValuePairs{"trustedCertificates": []any{string(ca)}}, "", "",
		},
		"trusted as base64": {
			srv.URL + "/identity", sol.KeyValuePairs{"caCert": base64.StdEncoding.EncodeToString(ca)}, "", "",
		},
		"trusted as DER": {
			srv.URL + "/identity",
			sol.KeyValuePairs{"caCert": base64.StdEncoding.EncodeToString(srv.Certificate().Raw)},
			"", "",
		},
		"wrong name": {
			byName, sol.KeyValuePairs{"caCert": string(ca)}, "another name", "skipCertificateHostnameCheck",
		},
		"wrong name accepted": {
			byName, sol.KeyValuePairs{"caCert": string(ca), "skipCertificateHostnameCheck": true}, "", "",
		},
		"name only, not trusted": {
			byName, sol.KeyValuePairs{"skipCertificateHostnameCheck": true}, "unknown authority", "trustedCertificates",
		},
		"nothing verified": {byName, sol.KeyValuePairs{"skipCertificateVerification": true}, "", ""},
		"plain HTTP":       {stubcloud.New(t).URL[len("http:"):], nil, "does not speak TLS", "http://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := tt.endpoint
			if name == "plain HTTP" {
				endpoint = "https:" + endpoint
			}
			v := stubcloud.VimAt(endpoint)
			maps.Copy(v.InterfaceInfo, tt.set)
			d := testPool(t, Config{})
			_, err := d.Connect(t.Context(), "vim1", v)
			if tt.title == "" {
				require.NoError(t, err)
				return
			}
			e := asError(t, err)
			require.Contains(t, e.Detail, tt.title)
			require.Contains(t, e.Hint, tt.hint)
			require.Empty(t, e.Class, "trying again does not help")
			stubcloud.SecretFree(t, e.Error())
		})
	}
}
