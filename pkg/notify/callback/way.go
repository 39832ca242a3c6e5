package callback

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Files are how a node shows itself to subscribers, and whom it trusts. All may be empty.
type Files struct {
	// Cert and Key are the client certificate of the node with its chain, and its key, in PEM.
	Cert, Key string
	// CA are the authorities that subscribers' certificates are checked with, in PEM; "" means those of the system.
	CA string
}

// ways are the HTTP clients: one that shows the certificate of the node, and one that does not. They are replaced when
// the files have changed.
type ways struct {
	options Options

	mu      sync.Mutex
	stamp   string // of the files
	checked time.Time
	plain   *http.Client
	mutual  *http.Client // nil without a certificate
	print   string       // thumbprint of the certificate
}

// recheck is the shortest time between two looks at the files.
const recheck = time.Second

func newWays(o Options) (*ways, error) {
	w := &ways{options: o}
	return w, w.load()
}

// get is the client for requests with or without the certificate.
func (w *ways) get(ctx context.Context, certificate bool) *http.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reload(ctx)
	if certificate && w.mutual != nil {
		return w.mutual
	}
	return w.plain
}

// certified says whether the node has a certificate.
func (w *ways) certified(ctx context.Context) bool { return w.thumbprint(ctx) != "" }

// thumbprint is the x5t#S256 of the certificate; "" without one.
func (w *ways) thumbprint(ctx context.Context) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reload(ctx)
	return w.print
}

// reload reads the files again if they have changed. Files that cannot be used leave everything as it is.
func (w *ways) reload(ctx context.Context) {
	if time.Since(w.checked) < recheck {
		return
	}
	if w.stamp == w.stampNow() {
		w.checked = time.Now()
		return
	}
	old := []*http.Client{w.plain, w.mutual}
	if err := w.load(); err != nil {
		w.options.Log.ErrorContext(ctx, "the certificates for notifications have changed and cannot "+
			"be used; the old ones stay in use", "error", err)
		w.stamp, w.checked = w.stampNow(), time.Now()
		return
	}
	w.options.Log.InfoContext(ctx, "the certificates for notifications are reloaded",
		slog.String("thumbprint", w.print))
	for _, c := range old {
		if c != nil {
			c.CloseIdleConnections()
		}
	}
}

// stampNow changes when one of the files does.
func (w *ways) stampNow() string {
	var out strings.Builder
	f := w.options.Identity
	for _, name := range []string{f.Cert, f.Key, f.CA} {
		if name == "" {
			continue
		}
		if i, err := os.Stat(name); err == nil {
			fmt.Fprintln(&out, i.ModTime().UnixNano(), i.Size())
		}
	}
	return out.String()
}

func (w *ways) load() error {
	f := w.options.Identity
	stamp := w.stampNow()
	trusted := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		raw, err := os.ReadFile(f.CA)
		if err != nil {
			return fmt.Errorf("notify.ca_file: %w", err)
		}
		trusted.RootCAs = x509.NewCertPool()
		if !trusted.RootCAs.AppendCertsFromPEM(raw) {
			return errors.New("notify.ca_file: it holds no certificate")
		}
	}
	plain := w.client(trusted)
	var mutual *http.Client
	print := ""
	if f.Cert != "" {
		own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return fmt.Errorf("notify.cert_file: %w", err)
		}
		shown := trusted.Clone()
		shown.Certificates = []tls.Certificate{own}
		mutual = w.client(shown)
		sum := sha256.Sum256(own.Certificate[0])
		print = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	w.plain, w.mutual, w.print, w.stamp, w.checked = plain, mutual, print, stamp, time.Now()
	return nil
}

// client makes a client. It does not follow redirects: they would take a notification, and credentials, to another
// place.
func (w *ways) client(t *tls.Config) *http.Client {
	transport := &http.Transport{
		TLSClientConfig: t, ForceAttemptHTTP2: true, MaxIdleConns: 1000, MaxIdleConnsPerHost: 8,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: w.options.Timeout, MaxResponseHeaderBytes: 64 << 10,
	}
	w.options.Outbound.Route(transport, w.options.Timeout)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (w *ways) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range []*http.Client{w.plain, w.mutual} {
		if c != nil {
			c.CloseIdleConnections()
		}
	}
}
