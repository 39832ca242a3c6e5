package nfvo_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/nfvo"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
	fake "github.com/gybe-nfv/gybe/test/nfvo"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

func TestLoginWithFiles(t *testing.T) {
	t.Parallel()
	w := start(t)
	password := file(t, "old")
	for _, login := range []nfvo.Login{{TokenFile: password}, {Username: "vnfm", PasswordFile: password}} {
		w.nfvo.Set(fake.Behaviour{Accepts: func(r *http.Request) bool {
			user, pass, _ := r.BasicAuth()
			return r.Header.Get("Authorization") == "Bearer new" || user == "vnfm" && pass == "new"
		}})
		w.use(nfvo.Options{URL: w.nfvo.URL, Login: login})
		w.id = w.create()
		require.NoError(t, os.WriteFile(password, []byte("old"), 0o600))
		op := w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateRolledBack)
		require.Equal(t, http.StatusUnauthorized, op.Error.Status)
		require.NoError(t, os.WriteFile(password, []byte("new"), 0o600))
		w.instantiated()
	}
}

// authority is an authorization server that knows one client; every token is good once.
func authority(t *testing.T, secret string) (url string, issued *atomic.Int32) {
	t.Helper()
	issued = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		id, given, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || id != "vnfm" || given != secret ||
			r.FormValue("scope") != "grants other" {
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = rw.Write([]byte(`{"error":"invalid_client"}`))
			return
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"access_token": fmt.Sprintf("t%d", issued.Add(1)), "expires_in": 3600,
		})
	}))
	t.Cleanup(s.Close)
	return s.URL, issued
}

func TestLoginWithOAuth2(t *testing.T) {
	t.Parallel()
	w := start(t)
	at, issued := authority(t, "s3")
	login := nfvo.Login{TokenURL: at, ClientID: "vnfm", SecretFile: file(t, "s3"), Scopes: []string{"grants", "other"}}
	valid := atomic.Value{}
	valid.Store("Bearer t1")
	w.nfvo.Set(fake.Behaviour{
		Accepts: func(r *http.Request) bool { return r.Header.Get("Authorization") == valid.Load() },
		Looks:   2,
	})
	w.use(nfvo.Options{URL: w.nfvo.URL, Login: login})
	w.instantiated()
	require.EqualValues(t, 1, issued.Load(), "a token is used for many requests")

	valid.Store("Bearer t2") // the NFVO has revoked the first
	w.id = w.create()
	w.instantiated()
	require.EqualValues(t, 2, issued.Load())

	login.SecretFile = file(t, "wrong")
	w.use(nfvo.Options{URL: w.nfvo.URL, Login: login})
	w.id = w.create()
	op := w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateRolledBack)
	require.Equal(t, "No access to the NFVO", op.Error.Title)
	require.Contains(t, op.Error.Detail, "401: invalid_client")
}

func TestLoginWithCertificate(t *testing.T) {
	t.Parallel()
	w := start(t)
	server := httptest.NewUnstartedServer(w.nfvo)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	o := nfvo.Options{
		URL: server.URL, CAFile: write("ca", "CERTIFICATE", server.Certificate().Raw),
		CertFile: write("cert", "CERTIFICATE", pair.Certificate[0]), KeyFile: write("key", "PRIVATE KEY", key),
	}
	w.use(o)
	w.instantiated()

	// without the authority, or without a certificate, the NFVO does not count as one that rejects
	w.Runner.Tuning.InlineWait = time.Nanosecond
	for _, bad := range []nfvo.Options{{URL: o.URL, CertFile: o.CertFile, KeyFile: o.KeyFile}, {
		URL:    o.URL,
		CAFile: o.CAFile,
	}} {
		w.use(bad)
		w.id = w.create()
		op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
		_, again, err := w.Runner.Advance(t.Context(), op.ID)
		require.NoError(t, err)
		require.True(t, again)
		require.Contains(t, w.read(op).Waiting, "waits for the NFVO "+server.URL)
	}
}

// Settings of the operator also hold for the NFVO.
func TestOutboundPolicyHoldsForTheNFVO(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Runner.Tuning.InlineWait = time.Nanosecond
	w.use(nfvo.Options{URL: w.nfvo.URL, Outbound: &outbound.Policy{}})
	op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
	_, _, err := w.Runner.Advance(t.Context(), op.ID)
	require.NoError(t, err)
	require.Contains(t, w.read(op).Waiting, "is not an address that this VNFM connects to")
	require.Empty(t, w.nfvo.Requests(""))
}

func TestNewRejectsBadOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []nfvo.Options{{URL: "nfvo"}, {URL: "http://nfvo", CAFile: "none"}, {
		URL:    "http://nfvo",
		CAFile: file(t, "x"),
	}} {
		_, err := nfvo.New(o)
		require.Error(t, err)
	}
}
