package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// maxAnswer bounds a response of Keystone or an OpenID provider in bytes.
const maxAnswer = 1 << 20

// newHTTPClient returns a client that keeps credentials on their server and limits responses.
func newHTTPClient(trust *tls.Config, conns int) *http.Client {
	return &http.Client{
		Transport: limitAnswers{&http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:     trust,
			TLSHandshakeTimeout: 5 * time.Second,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        conns,
			MaxIdleConnsPerHost: conns,
			IdleConnTimeout:     time.Minute,
		}},
		CheckRedirect: redirect.SameServer,
	}
}

// trustFile returns a configuration that trusts the authorities of a PEM file beside those of the system; an empty path
// is only the latter.
func trustFile(path string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if path == "" {
		return cfg, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if cfg.RootCAs, err = x509.SystemCertPool(); err != nil {
		cfg.RootCAs = x509.NewCertPool()
	}
	if !cfg.RootCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", path)
	}
	return cfg, nil
}

// limitAnswers fails the reading of a response that is too large.
type limitAnswers struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limitAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &limitedBody{res.Body, maxAnswer}
	return res, nil
}

// CloseIdleConnections closes those of the transport; http.Client looks for it.
func (l limitAnswers) CloseIdleConnections() {
	if c, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

var errAnswerTooLarge = errors.New("the response is larger than 1 MiB")

type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errAnswerTooLarge
	}
	return n, err
}
