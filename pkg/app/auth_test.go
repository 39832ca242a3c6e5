package app_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// call sends a request with a header and returns the status and the challenges of the response.
func call(t *testing.T, method, url, header, value string) (status int, challenges []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	req.Close = true
	req.Header.Set("Version", "2.0.0")
	if header != "" {
		req.Header.Set(header, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, resp.Header.Values("WWW-Authenticate")
}

// TestNodeWithStaticTokensAuthenticates: a node asks for the credentials that its configuration names, and counts
// failures.
func TestNodeWithStaticTokensAuthenticates(t *testing.T) {
	cfg := settings(t, devpg.TestURL(t))
	cfg.Auth.Tokens.File = filepath.Join(t.TempDir(), "tokens")
	secret, token, err := auth.NewToken("ci", "default", lcm.RoleReader, time.Time{}, time.Now())
	require.NoError(t, err)
	require.NoError(t, auth.AddToken(cfg.Auth.Tokens.File, token))
	n, _, _ := start(t, cfg)
	list := n.URL() + "/vnflcm/v2/vnf_instances"

	status, challenges := call(t, http.MethodGet, list, "", "")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, []string{`Bearer realm="gybe"`}, challenges)
	status, challenges = call(t, http.MethodGet, list, "Authorization", "Bearer "+secret+"x")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, []string{`Bearer realm="gybe", error="invalid_token"`}, challenges)
	status, challenges = call(t, http.MethodGet, list, "Authorization", "Bearer")
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, []string{`Bearer realm="gybe", error="invalid_request"`}, challenges)
	for _, h := range []string{"X-Auth-Token", "Authorization"} {
		value := map[string]string{"X-Auth-Token": secret, "Authorization": "Bearer " + secret}[h]
		status, _ = call(t, http.MethodGet, list, h, value)
		require.Equal(t, http.StatusOK, status)
		status, _ = call(t, http.MethodPost, list, h, value)
		require.Equal(t, http.StatusForbidden, status, "a reader does not create")
	}
	status, _ = call(t, http.MethodGet, n.URL()+"/healthz", "", "")
	require.Equal(t, http.StatusOK, status)

	_, metrics := get(t, "http://"+n.DebugAddr()+"/metrics")
	require.Contains(t, metrics, `gybe_authentication_failures_total{mode="any",reason="missing"} 1`)
	require.Contains(t, metrics, `gybe_authentication_failures_total{mode="token",reason="invalid"} 1`)
}

// TestOpenNodeOnTheNetworkWarns: auth.none on an address that others reach is in the log of every start.
func TestOpenNodeOnTheNetworkWarns(t *testing.T) {
	for listen, warns := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		cfg := settings(t, devpg.TestURL(t))
		cfg.Listen, cfg.Auth.None = listen, true
		var log bytes.Buffer
		n, err := app.New(t.Context(), cfg, app.Options{
			Log: slog.New(slog.NewTextHandler(&log, nil)), SkipPreload: true, WrapAPI: oracle.Handler(t),
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		<-n.Ready()
		status, _ := call(t, http.MethodGet, n.URL()+"/vnflcm/v2/vnf_instances", "", "")
		require.Equal(t, http.StatusOK, status)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, warns, bytes.Contains(log.Bytes(), []byte("every client that reaches this address")), listen)
	}
}

// TestNodeWithKeystoneAuthenticates: a node that is configured for Keystone accepts a token of the cloud, and starts
// while Keystone is away.
func TestNodeWithKeystoneAuthenticates(t *testing.T) {
	cloud := simcloud.StartTest(t, simcloud.Options{})
	cfg := settings(t, devpg.TestURL(t))
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte(simcloud.Password+"\n"), 0o600))
	cfg.Auth.Keystone.URL, cfg.Auth.Keystone.Username = cloud.AuthURL(), "admin"
	cfg.Auth.Keystone.PasswordFile, cfg.Auth.Keystone.Project = password, "admin"
	n, _, stop := start(t, cfg)
	user, err := simcloud.Login(t.Context(), cloud.AuthOptions())
	require.NoError(t, err)
	list := n.URL() + "/vnflcm/v2/vnf_instances"
	status, _ := call(t, http.MethodGet, list, "X-Auth-Token", user.Token())
	require.Equal(t, http.StatusOK, status)
	status, challenges := call(t, http.MethodGet, list, "X-Auth-Token", "gAAAAAB-other")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Len(t, challenges, 1)
	stop()

	cfg.Auth.Keystone.URL = "http://127.0.0.1:1/v3"
	n, _, _ = start(t, cfg)
	status, _ = call(t, http.MethodGet, n.URL()+"/vnflcm/v2/vnf_instances", "X-Auth-Token", user.Token())
	require.Equal(t, http.StatusServiceUnavailable, status)

	require.NoError(t, os.WriteFile(password, nil, 0o600))
	require.ErrorContains(t, app.CheckAuth(cfg), "password is empty")
	cfg.Auth.Keystone.Roles = []string{"member=owner"}
	require.ErrorContains(t, app.CheckAuth(cfg), `auth.keystone: roles: "member=owner"`)
}

// TestNodeWithClientCertificatesAuthenticates: a node with TLS asks clients for a certificate, and serves those without
// one as far as they have other credentials.
func TestNodeWithClientCertificatesAuthenticates(t *testing.T) {
	dir := t.TempDir()
	cfg := settings(t, devpg.TestURL(t))
	var server, client tls.Certificate
	cfg.TLS.CertFile, cfg.TLS.KeyFile, server = selfSigned(t, dir, "server", x509.ExtKeyUsageServerAuth)
	cfg.Auth.Certificates.CAFile, _, client = selfSigned(t, dir, "nfvo", x509.ExtKeyUsageClientAuth)
	cfg.Auth.Certificates.MapFile = filepath.Join(dir, "map")
	require.NoError(t, os.WriteFile(cfg.Auth.Certificates.MapFile, []byte("reader default cn:nfvo\n"), 0o600))
	require.NoError(t, cfg.Validate())

	n, err := app.New(t.Context(), cfg, app.Options{
		Log: slog.New(slog.DiscardHandler), SkipPreload: true, WrapAPI: oracle.Handler(t),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	<-n.Ready()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	roots := x509.NewCertPool()
	roots.AddCert(server.Leaf)
	status := func(path string, certs ...tls.Certificate) int {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: roots, Certificates: certs, MinVersion: tls.VersionTLS12,
		}}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL()+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Version", "2.0.0")
		resp, err := c.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, status("/vnflcm/v2/vnf_instances", client))
	require.Equal(t, http.StatusUnauthorized, status("/vnflcm/v2/vnf_instances"))
	require.Equal(t, http.StatusOK, status("/healthz"))
}

// selfSigned writes a certificate and its key.
func selfSigned(
	t *testing.T, dir, name string, usage x509.ExtKeyUsage,
) (cert, key string, raw tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	raw, err = tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	return cert, key, raw
}
