package helm

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// server is an API server with the credentials of one VIM connection. Its sessions share the connections, the token of
// an OpenID provider, and the kinds that the API server serves.
type server struct {
	config    *rest.Config // without a transport
	transport *http.Transport
	next      http.RoundTripper // transport, observed
	kinds     *kinds
	cancel    context.CancelFunc
}

// connect makes a server for a VIM connection. It does not connect.
func (d *Driver) connect(vim sol.VimConnectionInfo) (*server, error) {
	key := lcm.VimKey(vim)
	vim.VimType = kubernetes.VimType
	access, err := kubernetes.FromVim(vim)
	if err != nil {
		return nil, err
	}
	cfg := access.Outbound(d.cfg.Outbound)
	tls, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the credentials of the cluster %s cannot be used: %w", cfg.Host, err)
	}
	s := &server{config: cfg, transport: &http.Transport{
		TLSClientConfig: tls, DialContext: cfg.Dial, Proxy: cfg.Proxy, ForceAttemptHTTP2: true,
		ResponseHeaderTimeout: d.cfg.RequestTimeout, TLSHandshakeTimeout: d.cfg.RequestTimeout,
		IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 16,
		// A connection whose other end is gone without a word would else fail one request after another.
		HTTP2: &http.HTTP2Config{SendPingTimeout: d.cfg.RequestTimeout, PingTimeout: d.cfg.RequestTimeout / 2},
	}}
	s.next = d.cfg.Availability.Wrap(key, s.transport)
	if d.cfg.WrapTransport != nil {
		s.next = d.cfg.WrapTransport(s.next)
	}
	cfg.TLSClientConfig, cfg.Dial, cfg.Proxy = rest.TLSClientConfig{}, nil, nil
	cfg.QPS, cfg.UserAgent, cfg.WarningHandler = -1, "gybe", rest.NoWarnings{}
	ctx, cancel := context.WithCancel(context.Background()) // its requests end with the server
	s.cancel = cancel
	if s.kinds, err = newKinds(s.bounded(ctx, d.cfg.RequestTimeout, nil), d.cfg.now); err != nil {
		s.Close()
		return nil, lcm.Errorf(lcm.CodeUpstream, "the address of the cluster %s cannot be used: %w", cfg.Host, err)
	}
	return s, nil
}

// bounded is the configuration of clients whose requests end with a context, and after a timeout; 0 is none.
// note gets every answer; it may be nil.
func (s *server) bounded(
	ctx context.Context, timeout time.Duration, note func(*http.Request, *http.Response),
) *rest.Config {
	cfg := rest.CopyConfig(s.config)
	cfg.Transport, cfg.Timeout = sameServer{bound{ctx, s.next, note}}, timeout
	return cfg
}

// Close ends the connections.
func (s *server) Close() {
	s.cancel()
	s.transport.CloseIdleConnections()
}
