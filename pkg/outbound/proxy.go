package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Route makes an HTTP transport connect as the policy allows, and through the proxy of the environment if it names one.
//
// The operator chose the proxy, so its own address is not checked. Behind it, hosts that are addresses are checked. A
// name is resolved by the proxy, which therefore needs rules of its own.
func (p *Policy) Route(t *http.Transport, timeout time.Duration) {
	r := &route{
		policy: p, proxy: http.ProxyFromEnvironment, checked: p.Dialer(timeout), free: (*Policy)(nil).Dialer(timeout),
	}
	t.Proxy, t.DialContext = r.find, r.dial
}

// route connects directly or through a proxy.
type route struct {
	policy        *Policy
	proxy         func(*http.Request) (*url.URL, error)
	checked, free Dialer
	proxies       sync.Map // host:port of the proxies in use
}

var errProxy = errors.New("the address is that of this VNFM's proxy")

// find returns the proxy for a request, nil for none.
func (r *route) find(req *http.Request) (*url.URL, error) {
	via, err := r.proxy(req)
	if err != nil {
		return nil, err
	}
	if via == nil {
		if _, ok := r.proxies.Load(hostPort(req.URL)); ok { // dial could not tell it from a request through the proxy
			return nil, errProxy
		}
		return nil, nil
	}
	if err := r.policy.CheckHost(req.URL.Hostname()); err != nil {
		return nil, err
	}
	r.proxies.Store(hostPort(via), true)
	return via, nil
}

func (r *route) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, ok := r.proxies.Load(addr); ok {
		return r.free.DialContext(ctx, network, addr)
	}
	return r.checked.DialContext(ctx, network, addr)
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
