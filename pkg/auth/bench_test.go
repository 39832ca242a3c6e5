package auth_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// BenchmarkAuthenticate measures a request of each mode, with and without a cached result where there is one.
func BenchmarkAuthenticate(b *testing.B) {
	t := &testing.T{} // the helpers of the tests report to it
	dir := b.TempDir()
	file := func(name string, raw []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	tokens := filepath.Join(dir, "tokens")
	static, _ := addToken(t, tokens, lcm.RoleAdmin, time.Time{})
	ca := newAuthority(t, "clients", nil)
	cert := ca.client(nil)
	w := newWorld(t, auth.Options{
		Tokens: &auth.TokenOptions{File: tokens},
		Certificates: &auth.CertificateOptions{
			CAFile: file("ca", ca.pem()), MapFile: file("map", []byte(certificateRules)),
		},
	})
	get := func() *http.Request { return httptest.NewRequest(http.MethodGet, "/", http.NoBody) }
	header := get()
	header.Header.Set("Authorization", "Bearer "+static)
	connection := get()
	connection.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert.Leaf}}
	for name, r := range map[string]*http.Request{"static token": header, "client certificate": connection} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.Authenticate(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
