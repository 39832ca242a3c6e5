package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
)

// TestClientCertificate: a server that requires a certificate gets it from flags, variables and the context.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	raw, err := os.ReadFile(cert)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(raw))
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.PeerCertificates[0].Subject.CommonName != "gybe" {
			t.Error("another certificate")
		}
		answer(w, []string{})
	}))
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS13,
	}
	s.StartTLS()
	t.Cleanup(s.Close)

	u := newUser(t, "GYBE_ENDPOINT="+s.URL, "GYBE_CACERT="+cert)
	require.Contains(t, u.fails(cli.ExitUnreachable, "", "vnf", "list"), "use --cert and --key")
	u.ok("", "vnf", "list", "--cert", cert, "--key", key)
	u.with("GYBE_CERT="+cert, "GYBE_KEY="+key).ok("", "vnf", "list")
	require.Contains(t, u.fails(cli.ExitUsage, "", "vnf", "list", "--cert", cert), "the client certificate: ")
	u.ok("", "context", "set", "c", "--endpoint", s.URL, "--cert", cert, "--key", key)
	u.ok("", "vnf", "list")
	require.Contains(t, u.ok("", "context", "list"), "certificate")
}
