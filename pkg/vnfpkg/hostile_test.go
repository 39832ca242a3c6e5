package vnfpkg_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/download"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// TestHostileServersEndDownloads has a row for each way in which a server can keep a node busy or lead it astray. Every
// download ends, the package says why and can be uploaded again, and nothing is left on the disk.
func TestHostileServersEndDownloads(t *testing.T) {
	t.Parallel()
	data := large("vnfd-1")
	length := func(n int) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(n))
			_, _ = w.Write(data[:min(n, len(data))])
		}
	}
	for name, tt := range map[string]struct {
		answer func(n int, w http.ResponseWriter, r *http.Request)
		idle   time.Duration // of the client; a minute when 0
		limit  time.Duration // of the download; 6 h when 0
		status int
		detail string
		most   int // requests
	}{
		"it does not answer": {
			func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			50 * time.Millisecond, 0, 502, "did not answer in time", 12,
		},
		"it stalls in the middle": {func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:1000])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, 50 * time.Millisecond, 0, 502, "sent nothing for too long", 12},
		"it sends one byte at a time": {func(_ int, w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
					_, _ = w.Write([]byte{'P'})
					_ = http.NewResponseController(w).Flush()
				}
			}
		}, 0, time.Second, 504, "it was not complete after 1s", 1},
		"it announces more than it sends": {length(len(data) + 1), 0, 0, 502, "the connection broke", 12},
		"it announces less than it has":   {length(len(data) - 1), 0, 0, 422, "", 1},
		"it always has other content": {func(n int, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			send(w, r, data, `"`+strconv.Itoa(n)+`"`, 1000)
		}, 0, 0, 502, "12 attempts in a row brought nothing new", 30},
		"it sends a range of other content for ever": {func(n int, w http.ResponseWriter, r *http.Request) {
			if n > 0 {
				r.Header.Set("Range", "bytes=1-")
			}
			send(w, r, data, `"a"`, 1000)
		}, 0, 0, 502, "12 attempts in a row brought nothing new", 30},
		"it redirects for ever": {func(n int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+strconv.Itoa(n), http.StatusFound)
		}, 0, 0, 502, "redirects more than", 6},
		"it redirects to a private address": {func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://10.1.2.3:9890/gybe/v1/vims", http.StatusTemporaryRedirect)
		}, 0, 0, 422, "10.1.2.3", 1},
		"it redirects to another scheme": {func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, 0, 0, 502, "unsupported protocol scheme", 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *vnfpkg.Options) {
				o.DownloadTime = tt.limit
				o.Fetcher = download.New(download.Options{Idle: tt.idle, Policy: &outbound.Policy{
					Loopback: true, Deny: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
				}})
			})
			o := serveOrigin(t, tt.answer)
			b.requireRefused(t, o.URL, tt.status, tt.detail)
			require.LessOrEqual(t, len(o.seen()), tt.most)
			require.NotEmpty(t, o.seen())
		})
	}
	t.Run("its certificate is expired", func(t *testing.T) {
		t.Parallel()
		certificate, roots := expired(t)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("the request was sent")
		}))
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.StartTLS()
		t.Cleanup(s.Close)
		b := setup(t, func(o *vnfpkg.Options) {
			o.Fetcher = download.New(download.Options{
				Policy: &outbound.Policy{Loopback: true}, TLS: &tls.Config{RootCAs: roots},
			})
		})
		b.requireRefused(t, s.URL, 502, "certificate has expired")
	})
}

// requireRefused downloads from a server and checks that nothing comes of it.
func (b *bundle) requireRefused(t *testing.T, address string, status int, detail string) {
	t.Helper()
	id := b.create(t)
	require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(address)))
	b.download(t)
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.NotNil(t, p.Failure)
	require.Equal(t, status, p.Failure.Status, p.Failure.Detail)
	require.Contains(t, p.Failure.Detail, detail)
	require.Nil(t, p.Source)
	require.Nil(t, p.Download)
	require.Empty(t, b.partials(t))
	require.Empty(t, b.digests(t))
	require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(large("vnfd-1"))), "it can be uploaded again")
}

// expired is a certificate for this machine that a client trusts, but for its validity.
func expired(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	now := time.Now()
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, roots
}
