package cloud

import (
	"crypto/tls"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/outbound"
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
