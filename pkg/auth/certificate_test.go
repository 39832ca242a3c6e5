package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
	last int64
}

func newAuthority(t *testing.T, name string, parent *authority) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a := &authority{t: t, key: key, last: 100}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(name))), Subject: pkix.Name{CommonName: name}, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	by, signer := template, crypto.Signer(key)
	if parent != nil {
		by, signer = parent.cert, parent.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), signer)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(raw)
	require.NoError(t, err)
	return a
}

// client issues a certificate for a client.
func (a *authority) client(change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	a.last++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: "nfvo", Organization: []string{"Example NFV"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(a.t, err)
	leaf, err := x509.ParseCertificate(raw)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// revoke makes a revocation list.
func (a *authority) revoke(certs ...*x509.Certificate) []byte {
	list := &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour),
	}
	for _, c := range certs {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: c.SerialNumber, RevocationTime: time.Now(),
		})
	}
	raw, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: raw})
}

// tlsWorld is a TLS server that authenticates, and its files.
type tlsWorld struct {
	*world
	server *httptest.Server
	dir    string
	clock  *fakeClock
}

const certificateRules = `# role, project, name
admin	default	cn:nfvo
operator nfv  uri:spiffe://example.com/nfv/*
reader   nfv  o:Example NFV
`

func newTLSWorld(t *testing.T, a *authority, change func(*auth.Options)) *tlsWorld {
	t.Helper()
	w := &tlsWorld{dir: t.TempDir(), clock: newClock()}
	w.write(t, "ca", a.pem())
	w.write(t, "map", []byte(certificateRules))
	w.write(t, "crl", a.revoke())
	opts := auth.Options{Certificates: &auth.CertificateOptions{
		CAFile: w.path("ca"), MapFile: w.path("map"), CRLFile: w.path("crl"), Clock: w.clock.Now,
	}}
	if change != nil {
		change(&opts)
	}
	w.world = newWorld(t, opts)
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p, err := w.Authenticate(r)
		if err != nil {
			e := lcm.AsError(err)
			http.Error(rw, e.Detail, e.Status())
			return
		}
		reply(rw, p)
	}))
	w.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	w.ConfigureTLS(w.server.TLS)
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	return w
}

func (w *tlsWorld) path(name string) string { return filepath.Join(w.dir, name) }

// write replaces a file and lets a second pass.
func (w *tlsWorld) write(t *testing.T, name string, raw []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(w.path(name)+".new", raw, 0o600))
	require.NoError(t, os.Rename(w.path(name)+".new", w.path(name)))
	w.clock.add(time.Second)
}

// client returns a client with a certificate; nil is none.
func (w *tlsWorld) client(t *testing.T, cert *tls.Certificate) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	cfg := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, ServerName: "example.com"}
	if cert != nil { // also if the server asks for other authorities
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	tr := &http.Transport{TLSClientConfig: cfg}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// get sends a request and returns the status and the principal.
func (w *tlsWorld) get(t *testing.T, c *http.Client, headers ...string) (int, lcm.Principal) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL, http.NoBody)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	var p lcm.Principal
	if resp.StatusCode == http.StatusOK {
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&p))
	}
	return resp.StatusCode, p
}

func TestClientCertificateHasTheRoleOfItsFirstRule(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "clients", nil)
	w := newTLSWorld(t, ca, nil)
	cert := ca.client(nil)
	for range 3 {
		status, p := w.get(t, w.client(t, &cert))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, lcm.Principal{
			Subject: "nfvo", Project: "default", Role: lcm.RoleAdmin, Mode: auth.ModeCertificate,
		}, p)
	}
	spiffe, err := url.Parse("spiffe://example.com/nfv/agent")
	require.NoError(t, err)
	cert = ca.client(func(c *x509.Certificate) { c.Subject, c.URIs = pkix.Name{}, []*url.URL{spiffe} })
	_, p := w.get(t, w.client(t, &cert))
	require.Equal(t, lcm.Principal{
		Subject: spiffe.String(), Project: "nfv", Role: lcm.RoleOperator, Mode: auth.ModeCertificate,
	}, p)
	cert = ca.client(func(c *x509.Certificate) { c.Subject.CommonName = "nfvo2" })
	_, p = w.get(t, w.client(t, &cert))
	require.Equal(t, lcm.RoleReader, p.Role)
	cert = ca.client(func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "stranger"} })
	status, _ := w.get(t, w.client(t, &cert))
	require.Equal(t, http.StatusForbidden, status)
}

func TestClientCertificateThatIsNotValidIsRejected(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "clients", nil)
	w := newTLSWorld(t, ca, nil)
	status, _ := w.get(t, w.client(t, nil))
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, 1, w.failed("any/missing"))
	for name, tt := range map[string]struct {
		cert  tls.Certificate
		label string
	}{
		"expired": {
			ca.client(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "certificate/expired",
		},
		"not valid yet": {
			ca.client(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour / 2) }), "certificate/expired",
		},
		"of another authority with the same name": {newAuthority(t, "clients", nil).client(nil), "certificate/invalid"},
		"of a server": {
			ca.client(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
			"certificate/invalid",
		},
	} {
		before := w.failed(tt.label)
		status, _ := w.get(t, w.client(t, &tt.cert))
		require.Equal(t, http.StatusUnauthorized, status, name)
		require.Equal(t, before+1, w.failed(tt.label), name)
	}
	// A certificate without its key ends the handshake.
	stolen := ca.client(nil)
	stolen.PrivateKey = ca.client(nil).PrivateKey
	_, err := w.client(t, &stolen).Get(w.server.URL)
	require.Error(t, err)
}

func TestRevokedCertificateIsRejectedOnAnOpenConnection(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "clients", nil)
	w := newTLSWorld(t, ca, nil)
	cert, other := ca.client(nil), ca.client(nil)
	c := w.client(t, &cert)
	status, _ := w.get(t, c)
	require.Equal(t, http.StatusOK, status)
	w.write(t, "crl", ca.revoke(cert.Leaf))
	status, _ = w.get(t, c)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, 1, w.failed("certificate/revoked"))
	status, _ = w.get(t, w.client(t, &other))
	require.Equal(t, http.StatusOK, status)

	// A list that is not by the authority, or cannot be read, leaves the previous one.
	for _, raw := range [][]byte{newAuthority(t, "clients", nil).revoke(), []byte("nothing"), nil} {
		w.write(t, "crl", raw)
		status, _ = w.get(t, c)
		require.Equal(t, http.StatusUnauthorized, status)
	}
	require.Contains(t, w.logged(), "the previous ones are used")
	w.write(t, "crl", ca.revoke())
	status, _ = w.get(t, c)
	require.Equal(t, http.StatusOK, status)
	w.clock.add(time.Hour)
	status, _ = w.get(t, c)
	require.Equal(t, http.StatusUnauthorized, status, "it expires while the connection is open")
}

func TestIntermediateAuthorityCanBeRevoked(t *testing.T) {
	t.Parallel()
	root := newAuthority(t, "clients", nil)
	middle := newAuthority(t, "department", root)
	w := newTLSWorld(t, root, nil)
	cert := middle.client(nil)
	status, _ := w.get(t, w.client(t, &cert))
	require.Equal(t, http.StatusUnauthorized, status, "the chain is not complete")
	cert.Certificate = append(cert.Certificate, middle.cert.Raw)
	status, _ = w.get(t, w.client(t, &cert))
	require.Equal(t, http.StatusOK, status)
	w.write(t, "crl", root.revoke(middle.cert))
	status, _ = w.get(t, w.client(t, &cert))
	require.Equal(t, http.StatusUnauthorized, status)
}

func TestHeaderTakesPrecedenceOverTheCertificate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "clients", nil)
	file := filepath.Join(t.TempDir(), "tokens")
	secret, _ := addToken(t, file, lcm.RoleReader, time.Time{})
	w := newTLSWorld(t, ca, func(o *auth.Options) { o.Tokens = &auth.TokenOptions{File: file} })
	cert := ca.client(nil)
	c := w.client(t, &cert)
	_, p := w.get(t, c, "X-Auth-Token", secret)
	require.Equal(t, auth.ModeToken, p.Mode)
	for _, broken := range []string{"Bearer " + secret + "x", "Basic eDp5", "Bearer other"} {
		status, _ := w.get(t, c, "Authorization", broken)
		require.Equal(t, http.StatusUnauthorized, status, "the certificate does not replace a broken header")
	}
	_, p = w.get(t, c)
	require.Equal(t, auth.ModeCertificate, p.Mode)
}

func TestCertificateFilesThatAreNotValid(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "clients", nil), t.TempDir()
	file := func(name string, raw []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		return path
	}
	good, rules := file("ca", ca.pem()), file("map", []byte(certificateRules))
	for want, o := range map[string]auth.CertificateOptions{
		"no such file":       {CAFile: filepath.Join(dir, "nope"), MapFile: rules},
		"has no certificate": {CAFile: rules, MapFile: rules},
		"has no rule":        {CAFile: good, MapFile: file("empty", []byte("# nothing\n"))},
		"line 1: the role":   {CAFile: good, MapFile: file("role", []byte("root default cn:x\n"))},
		"line 2: the kind of name \"sn\"": {
			CAFile: good, MapFile: file("kind", []byte("\nadmin default sn:x\n")),
		},
		"the name is empty":      {CAFile: good, MapFile: file("name", []byte("admin default cn:*\n"))},
		"the project":            {CAFile: good, MapFile: file("project", []byte("admin\n"))},
		"has no revocation list": {CAFile: good, MapFile: rules, CRLFile: good},
		"is not signed": {
			CAFile: good, MapFile: rules, CRLFile: file("crl", newAuthority(t, "clients", nil).revoke()),
		},
	} {
		_, err := auth.New(auth.Options{Certificates: &o})
		require.ErrorContains(t, err, want)
	}
}
