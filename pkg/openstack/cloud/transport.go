package cloud

import (
	"crypto/tls"
	"io"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/outbound"
)

// Bounds on what a VIM may do to us.
const (
	maxAnswer  = 64 << 20 // bytes of a successful answer
	maxFailure = 64 << 10 // bytes of any other
)

// dialTimeout bounds the time until a TCP connection is there.
const dialTimeout = 10 * time.Second

func newTransport(cfg *tls.Config, policy *outbound.Policy) *http.Transport {
	t := &http.Transport{
		TLSClientConfig:       cfg,
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       60 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	policy.Route(t, dialTimeout)
	return t
}

// Transport returns a transport to a coordination server, which is trusted by these certificates beside the system's
// authorities (PEM).
func (cfg Config) Transport(certificates ...string) (http.RoundTripper, error) {
	trust, err := connection{cas: certificates}.tlsConfig()
	if err != nil {
		return nil, err
	}
	transport := newTransport(trust, cfg.Outbound)
	transport.DisableKeepAlives = true // calls are rare
	var rt http.RoundTripper = transport
	if cfg.WrapTransport != nil {
		rt = cfg.WrapTransport(rt)
	}
	return observe(rt, cfg.Observe, Coordination), nil
}

// bounded cuts answers off that are too large.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		res.Body = cut{io.LimitReader(res.Body, maxFailure), res.Body}
	} else {
		res.Body = &limited{res.Body, maxAnswer}
	}
	return res, nil
}

// cut ends a body early and quietly: the beginning of an error says enough.
type cut struct {
	io.Reader
	io.Closer
}

var errTooLarge = &answerError{"the answer is larger than 64 MiB"}

// limited fails when a body is longer than left.
type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
