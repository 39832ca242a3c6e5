package callback_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/callback"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "correct-horse-battery"

func newClient(t *testing.T, files callback.Files) *callback.Client {
	t.Helper()
	c, err := callback.New(callback.Options{
		Timeout: time.Minute, Identity: files, Log: slog.New(slog.DiscardHandler),
		Outbound: &outbound.Policy{Loopback: true},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func to(url string, auth *sol.SubscriptionAuthentication) *notify.Subscription {
	return &notify.Subscription{ID: "s", Version: "2.0.0", Callback: url, Auth: auth}
}

// authority issues certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	a := &authority{key: key, cert: cert, pool: x509.NewCertPool()}
	a.pool.AddCert(cert)
	return a
}

// issue makes a certificate for 127.0.0.1 that is valid until a time.
func (a *authority) issue(t *testing.T, name string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: until,
		NotBefore:   time.Now().Add(-24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// files writes a certificate and the authority.
func (a *authority) files(t *testing.T, dir string, c tls.Certificate) callback.Files {
	t.Helper()
	key, ok := c.PrivateKey.(*ecdsa.PrivateKey)
	require.True(t, ok)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	write := func(name, typ string, raw []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: raw}), 0o600))
		return path
	}
	return callback.Files{
		Cert: write("cert.pem", "CERTIFICATE", c.Certificate[0]), Key: write("key.pem", "EC PRIVATE KEY", der),
		CA: write("ca.pem", "CERTIFICATE", a.cert.Raw),
	}
}

// serveTLS listens with the certificate that the function returns; clients show theirs if they have one.
func (a *authority) serveTLS(t *testing.T, own func() tls.Certificate, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{
				Certificates: []tls.Certificate{own()}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: a.pool,
				MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			}, nil
		},
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func thumbprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// TestSendWithBasic sends the credentials, and only to the callback.
func TestSendWithBasic(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got, body = r, string(raw)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer s.Close()
	auth := &sol.SubscriptionAuthentication{
		AuthType:    []sol.AuthType{sol.AuthTypeBasic},
		ParamsBasic: &sol.ParamsBasic{UserName: "u", Password: secret},
	}
	c := newClient(t, callback.Files{})
	require.NoError(t, c.CheckTarget(t.Context(), s.URL, auth))
	require.NoError(t, c.Send(t.Context(), to(s.URL+"/x?y=z", auth), []byte(`{"a":1}`)))
	user, password, ok := got.BasicAuth()
	require.True(t, ok)
	require.Equal(t, []string{"u", secret}, []string{user, password})
	require.Equal(t, `{"a":1}`, body)
	require.Equal(t, "POST /x?y=z", got.Method+" "+got.URL.String())
	require.Equal(t, "2.0.0", got.Header.Get("Version"))
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
}

// TestSendWithTokens keeps the token, and requests another one when the subscriber answers 401.
func TestSendWithTokens(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var requests []string
	valid := 1
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id, password, _ := r.BasicAuth()
		requests = append(requests, fmt.Sprint(id, " ", password, " ", r.FormValue("grant_type")))
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, len(requests))
	}))
	defer issuer.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", valid) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer s.Close()
	auth := &sol.SubscriptionAuthentication{
		AuthType: []sol.AuthType{sol.AuthTypeOauth2ClientCredentials},
		ParamsOauth2ClientCredentials: &sol.ParamsOauth2ClientCredentials{
			ClientID: "vnfm", ClientPassword: secret, TokenEndpoint: issuer.URL,
		},
	}
	c := newClient(t, callback.Files{})
	require.NoError(t, c.CheckTarget(t.Context(), s.URL, auth))
	for range 3 {
		require.NoError(t, c.Send(t.Context(), to(s.URL, auth), []byte(`{}`)))
	}
	require.Equal(t, []string{"vnfm " + secret + " client_credentials"}, requests)
	mu.Lock()
	valid = 2
	mu.Unlock()
	require.NoError(t, c.Send(t.Context(), to(s.URL, auth), []byte(`{}`)))
	require.Len(t, requests, 2)

	mu.Lock()
	valid = -1
	mu.Unlock()
	var e *notify.SendError
	require.ErrorAs(t, c.Send(t.Context(), to(s.URL, auth), []byte(`{}`)), &e)
	require.True(t, e.Permanent)
	require.Len(t, requests, 3, "one more token, not a loop")
}

// TestTokenEndpointThatFailsShowsNoSecret: the answer can repeat the credentials.
func TestTokenEndpointThatFailsShowsNoSecret(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"`+secret+`"}`)
	}))
	defer issuer.Close()
	auth := &sol.SubscriptionAuthentication{
		AuthType: []sol.AuthType{sol.AuthTypeOauth2ClientCredentials},
		ParamsOauth2ClientCredentials: &sol.ParamsOauth2ClientCredentials{
			ClientID: "vnfm", ClientPassword: secret, TokenEndpoint: issuer.URL,
		},
	}
	var e *notify.SendError
	require.ErrorAs(t, newClient(t, callback.Files{}).Send(t.Context(), to(issuer.URL, auth), []byte(`{}`)), &e)
	require.Equal(t, "no token: the token endpoint answered 400", e.Reason)
	require.False(t, e.Permanent, "the operator of the endpoint can repair it")
}

// TestSendWithCertificates shows the certificate of the node to subscribers and token endpoints that want it, and takes
// a new one from the files.
func TestSendWithCertificates(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := ca.issue(t, "server", time.Now().Add(time.Hour))
	first, second := ca.issue(t, "first", time.Now().Add(time.Hour)), ca.issue(t, "second", time.Now().Add(time.Hour))
	dir := t.TempDir()
	files := ca.files(t, dir, first)
	var mu sync.Mutex
	var shown []string
	s := ca.serveTLS(t, func() tls.Certificate { return server }, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := "none"
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		shown = append(shown, r.URL.Path+" "+name+" "+r.FormValue("client_id")+r.Header.Get("Authorization"))
		if r.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"t","token_type":"Bearer"}`)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	c := newClient(t, files)
	byCert := &sol.SubscriptionAuthentication{AuthType: []sol.AuthType{sol.AuthTypeTLSCert}}
	byToken := &sol.SubscriptionAuthentication{
		AuthType:    []sol.AuthType{sol.AuthTypeBasic, sol.AuthTypeOauth2ClientCert},
		ParamsBasic: &sol.ParamsBasic{UserName: "u", Password: secret},
		ParamsOauth2ClientCert: &sol.ParamsOauth2ClientCert{
			ClientID: "vnfm", TokenEndpoint: s.URL + "/token",
			CertificateRef: sol.CertificateRef{Type: "x5t#S256", Value: thumbprint(first)},
		},
	}
	for _, a := range []*sol.SubscriptionAuthentication{nil, byCert, byToken} {
		require.NoError(t, c.CheckTarget(t.Context(), s.URL, a))
		require.NoError(t, c.Send(t.Context(), to(s.URL+"/", a), []byte(`{}`)))
	}
	require.Equal(t, []string{"/ none ", "/ first ", "/token first vnfm", "/ first Bearer t"}, shown)

	ca.files(t, dir, second)
	require.Eventually(t, func() bool {
		require.NoError(t, c.Send(t.Context(), to(s.URL+"/", byCert), []byte(`{}`)))
		mu.Lock()
		defer mu.Unlock()
		return shown[len(shown)-1] == "/ second "
	}, time.Minute, 10*time.Millisecond)
	e := lcm.AsError(c.CheckTarget(t.Context(), s.URL, byToken))
	require.NotNil(t, e)
	require.Equal(t, "/authentication/paramsOauth2ClientCert/certificateRef/value", e.Params[0].Pointer)
	require.NoError(t, os.WriteFile(files.Cert, []byte("damaged"), 0o600))
	require.NoError(t, c.Send(t.Context(), to(s.URL+"/", byCert), []byte(`{}`)), "the old one stays in use")
}

// TestSendChecksTheCertificateOfTheSubscriber: one that has expired, or that another authority issued, is a failure
// until the subscriber gets a valid one.
func TestSendChecksTheCertificateOfTheSubscriber(t *testing.T) {
	t.Parallel()
	ca, foreign := newAuthority(t), newAuthority(t)
	var mu sync.Mutex
	used := ca.issue(t, "server", time.Now().Add(-time.Hour))
	set := func(c tls.Certificate) {
		mu.Lock()
		defer mu.Unlock()
		used = c
	}
	s := ca.serveTLS(t, func() tls.Certificate {
		mu.Lock()
		defer mu.Unlock()
		return used
	}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	c := newClient(t, ca.files(t, t.TempDir(), ca.issue(t, "node", time.Now().Add(time.Hour))))
	for want, cert := range map[string]tls.Certificate{
		"expired": used, "unknown authority": foreign.issue(t, "server", time.Now().Add(time.Hour)),
	} {
		set(cert)
		var e *notify.SendError
		require.ErrorAs(t, c.Send(t.Context(), to(s.URL, nil), []byte(`{}`)), &e)
		require.Contains(t, e.Reason, "its certificate is not valid")
		require.Contains(t, e.Reason, want)
		require.False(t, e.Permanent)
	}
	set(ca.issue(t, "server", time.Now().Add(time.Hour)))
	require.NoError(t, c.Send(t.Context(), to(s.URL, nil), []byte(`{}`)))
}

// TestSendConnectsOnlyToAllowedAddresses checks the address when it connects, also that of a token endpoint.
func TestSendConnectsOnlyToAllowedAddresses(t *testing.T) {
	t.Parallel()
	reached := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer s.Close()
	c, err := callback.New(callback.Options{
		Timeout: time.Minute, Outbound: &outbound.Policy{}, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	name := "http://localhost:" + port
	require.NoError(t, c.CheckTarget(t.Context(), name, nil), "a name is checked when it is dialled")
	var e *notify.SendError
	require.ErrorAs(t, c.Send(t.Context(), to(name, nil), []byte(`{}`)), &e)
	require.Contains(t, e.Reason, "is not an address that this VNFM connects to")
	auth := &sol.SubscriptionAuthentication{
		AuthType:                      []sol.AuthType{sol.AuthTypeOauth2ClientCredentials},
		ParamsOauth2ClientCredentials: &sol.ParamsOauth2ClientCredentials{ClientID: "c", TokenEndpoint: name},
	}
	require.ErrorAs(t, c.Send(t.Context(), to("http://192.0.2.1/", auth), []byte(`{}`)), &e)
	require.Contains(t, e.Reason, "no token")
	require.Contains(t, e.Reason, "is not an address that this VNFM connects to")
	require.False(t, reached)
}

// TestCheckTarget points at the members that are wrong.
func TestCheckTarget(t *testing.T) {
	t.Parallel()
	c := newClient(t, callback.Files{})
	basic := []sol.AuthType{sol.AuthTypeBasic}
	good := "http://192.0.2.1/callback"
	for name, tt := range map[string]struct {
		url  string
		auth *sol.SubscriptionAuthentication
		want []string
	}{
		"no scheme": {"192.0.2.1/x", nil, []string{"/callbackUri"}},
		"file":      {"file:///etc/passwd", nil, []string{"/callbackUri"}},
		"user":      {"http://u:p@192.0.2.1/", nil, []string{"/callbackUri"}},
		"fragment":  {"http://192.0.2.1/#x", nil, []string{"/callbackUri"}},
		"metadata":  {"http://169.254.169.254/latest", nil, []string{"/callbackUri"}},
		"no type":   {good, &sol.SubscriptionAuthentication{}, []string{"/authentication/authType"}},
		"no params": {good, &sol.SubscriptionAuthentication{AuthType: basic}, []string{"/authentication/paramsBasic"}},
		"no userName": {
			good, &sol.SubscriptionAuthentication{AuthType: basic, ParamsBasic: &sol.ParamsBasic{}},
			[]string{"/authentication/paramsBasic/userName"},
		},
		"no certificate": {
			good, &sol.SubscriptionAuthentication{AuthType: []sol.AuthType{sol.AuthTypeTLSCert}},
			[]string{"/authentication/authType"},
		},
		"params of another way": {good, &sol.SubscriptionAuthentication{
			AuthType: basic, ParamsBasic: &sol.ParamsBasic{UserName: "u"},
			ParamsOauth2ClientCredentials: &sol.ParamsOauth2ClientCredentials{ClientID: "c", TokenEndpoint: good},
		}, []string{"/authentication/paramsOauth2ClientCredentials"}},
		"token endpoint": {good, &sol.SubscriptionAuthentication{
			AuthType: []sol.AuthType{sol.AuthTypeOauth2ClientCredentials},
			ParamsOauth2ClientCredentials: &sol.ParamsOauth2ClientCredentials{
				ClientID: "c", TokenEndpoint: "http://0.0.0.0",
			},
		}, []string{"/authentication/paramsOauth2ClientCredentials/tokenEndpoint"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := lcm.AsError(c.CheckTarget(t.Context(), tt.url, tt.auth))
			require.NotNil(t, e)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			var got []string
			for _, p := range e.Params {
				got = append(got, p.Pointer)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// TestTestNeeds204: another success is not enough, and the reason is in the error.
func TestTestNeeds204(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		204: "", 200: "it answered 200 OK instead of 204", 404: "it answered 404 Not Found",
		301: "it answered 301 Moved Permanently, a redirect, and redirects are not followed",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				status = http.StatusMethodNotAllowed
			}
			w.WriteHeader(status)
		}))
		err := newClient(t, callback.Files{}).Test(t.Context(), to(s.URL, nil))
		s.Close()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		e := lcm.AsError(err)
		require.Equal(t, lcm.CodeUnprocessable, e.Code)
		require.Equal(t, []lcm.InvalidParam{{Pointer: "/callbackUri", Detail: want}}, e.Params)
	}
}
