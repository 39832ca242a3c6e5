package download_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/download"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

type source = sol.UploadVnfPackageFromUriRequest

// local allows the servers of tests.
var local = &outbound.Policy{Loopback: true}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func requireError(t *testing.T, err error, class lcm.Class, text string) {
	t.Helper()
	var e *lcm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, class, e.Class, e.Detail)
	require.Contains(t, e.Detail, text)
	for _, secret := range []string{"s3cret", "token-of-the-query"} {
		require.NotContains(t, fmt.Sprintf("%s %s %+v", e.Title, e.Hint, err), secret)
	}
}

func TestSourcesThatAreNotValidAreRejected(t *testing.T) {
	t.Parallel()
	c := download.New(download.Options{Policy: &outbound.Policy{}})
	oauth := &sol.ParamsOauth2ClientCredentials{
		ClientID: "c", ClientPassword: "s3cret", TokenEndpoint: "https://tokens.example.com/",
	}
	tests := []struct {
		src     source
		pointer string // "" is valid
		status  int
	}{
		{source{AddressInformation: "https://example.com/p.zip?sig=token-of-the-query"}, "", 0},
		{source{AddressInformation: "https://example.com/p.zip", UserName: "u", Password: "s3cret"}, "", 0},
		{source{
			AddressInformation: "https://example.com/p.zip", AuthType: "OAUTH2_CLIENT_CREDENTIALS",
			ParamsOauth2ClientCredentials: oauth,
		}, "", 0},
		{source{AddressInformation: "ftp://example.com/p.zip"}, "/addressInformation", 400},
		{source{AddressInformation: "file:///etc/passwd"}, "/addressInformation", 400},
		{source{AddressInformation: "https:///p.zip"}, "/addressInformation", 400},
		{source{AddressInformation: "://"}, "/addressInformation", 400},
		{source{AddressInformation: "https://u:s3cret@example.com/p.zip"}, "/addressInformation", 400},
		{source{AddressInformation: "http://169.254.169.254/latest"}, "/addressInformation", 422},
		{source{AddressInformation: "http://127.0.0.1/"}, "/addressInformation", 422},
		{source{AddressInformation: "https://example.com/", Password: "s3cret"}, "/userName", 400},
		{source{AddressInformation: "https://example.com/", UserName: "a:b"}, "/userName", 400},
		{source{
			AddressInformation: "https://example.com/", UserName: "u", ParamsOauth2ClientCredentials: oauth,
		}, "/userName", 400},
		{source{AddressInformation: "https://example.com/", ParamsOauth2ClientCredentials: oauth}, "/authType", 400},
		{source{AddressInformation: "https://example.com/", AuthType: "BASIC"}, "/authType", 400},
		{
			source{AddressInformation: "https://example.com/", AuthType: "OAUTH2_CLIENT_CREDENTIALS"},
			"/paramsOauth2ClientCredentials", 400,
		},
		{source{
			AddressInformation: "https://example.com/", AuthType: "OAUTH2_CLIENT_CREDENTIALS",
			ParamsOauth2ClientCredentials: &sol.ParamsOauth2ClientCredentials{
				ClientID: "c", ClientPassword: "s3cret", TokenEndpoint: "http://[fe80::1]/",
			},
		}, "/paramsOauth2ClientCredentials/tokenEndpoint", 422},
	}
	for _, tt := range tests {
		err := c.Check(&tt.src)
		if tt.pointer == "" {
			require.NoError(t, err)
			require.Equal(t, "https://example.com/p.zip", c.Address(&tt.src))
			continue
		}
		requireError(t, err, lcm.Permanent, "")
		e := lcm.AsError(err)
		require.Equal(t, tt.status, e.Status(), e.Detail)
		require.Equal(t, tt.pointer, e.Params[0].Pointer)
	}
}

func TestGetSendsCredentialsAndRange(t *testing.T) {
	t.Parallel()
	tokens := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "c" || password != "s3cret" || r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error": "s3cret is wrong"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "at", "token_type": "Bearer"})
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(r.Header)
	})
	c := download.New(download.Options{Policy: local})
	get := func(src source) (http.Header, error) {
		src.AddressInformation = s.URL + "/p.zip?x=token-of-the-query"
		resp, err := c.Get(t.Context(), &src, http.Header{"Range": {"bytes=3-"}, "If-Range": {`"a"`}})
		if err != nil {
			return nil, err
		}
		defer func() { require.NoError(t, resp.Body.Close()) }()
		var got http.Header
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
		require.Equal(t, "bytes=3-", got.Get("Range"))
		require.Equal(t, `"a"`, got.Get("If-Range"))
		require.Equal(t, "identity", got.Get("Accept-Encoding"))
		return got, nil
	}
	got, err := get(source{})
	require.NoError(t, err)
	require.Empty(t, got.Get("Authorization"))
	got, err = get(source{UserName: "u", Password: "p"})
	require.NoError(t, err)
	require.Equal(t, "Basic dTpw", got.Get("Authorization"))
	oauth := func(password string) source {
		p := &sol.ParamsOauth2ClientCredentials{ClientID: "c", ClientPassword: password, TokenEndpoint: tokens.URL}
		return source{AuthType: "OAUTH2_CLIENT_CREDENTIALS", ParamsOauth2ClientCredentials: p}
	}
	got, err = get(oauth("s3cret"))
	require.NoError(t, err)
	require.Equal(t, "Bearer at", got.Get("Authorization"))
	_, err = get(oauth("wrong"))
	requireError(t, err, lcm.Permanent, "the server of tokens answered 401 Unauthorized")
}

// TestRedirects: credentials are for the first server only, and no redirect leads to a forbidden address.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var seen http.Header
	storage := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() })
	target := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			seen = r.Header.Clone()
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.Redirect(w, r, target, http.StatusFound)
		}
	})
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL, http.StatusFound)
	}))
	t.Cleanup(secure.Close)
	tls := secure.Client().Transport.(*http.Transport).TLSClientConfig //nolint:forcetypeassert // of httptest
	c := download.New(download.Options{Policy: local, TLS: tls})
	get := func(address string) error {
		resp, err := c.Get(
			t.Context(), &source{AddressInformation: address, UserName: "u", Password: "s3cret"}, http.Header{},
		)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		return err
	}
	target = "/same"
	require.NoError(t, get(s.URL+"/first"))
	require.NotEmpty(t, seen.Get("Authorization"), "the same server")
	target = storage.URL
	require.NoError(t, get(s.URL+"/first?x=token-of-the-query"))
	require.Empty(t, seen.Get("Authorization"), "another server")
	require.Empty(t, seen.Get("Referer"))
	target = "http://169.254.169.254/latest/meta-data"
	requireError(t, get(s.URL+"/first?x=token-of-the-query"), lcm.Permanent, "169.254.169.254")
	target = "file:///etc/passwd"
	requireError(t, get(s.URL+"/first"), lcm.Transient, "unsupported protocol scheme")
	requireError(t, get(s.URL+"/loop"), lcm.Permanent, "redirects more than")
	requireError(t, get(secure.URL), lcm.Permanent, "from https to http")
	requireError(t, getWith(t, download.New(download.Options{Policy: local}), secure.URL), lcm.Permanent, "certificate")
}

func getWith(t *testing.T, c *download.Client, address string) error {
	t.Helper()
	resp, err := c.Get(t.Context(), &source{AddressInformation: address}, http.Header{})
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	return err
}

// TestServersThatDoNotAnswer: a server that is slow or gone ends an attempt, and not the download.
func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, strings.Repeat("x", 1000))
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	})
	defer close(release) // before the server is closed
	c := download.New(download.Options{Policy: local, Idle: 2 * time.Second})
	requireError(t, getWith(t, c, s.URL+"/header"), lcm.Transient, "did not answer in time")
	resp, err := c.Get(t.Context(), &source{AddressInformation: s.URL + "/body"}, http.Header{})
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.Len(t, body, 1000)
	requireError(t, err, lcm.Transient, "sent nothing for too long")
	require.NoError(t, resp.Body.Close())

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	requireError(t, getWith(t, c, gone.URL+"?x=token-of-the-query"), lcm.Transient, "refused")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Get(ctx, &source{AddressInformation: s.URL}, http.Header{})
	require.ErrorIs(t, err, context.Canceled)
}
