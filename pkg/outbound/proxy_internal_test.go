package outbound

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRouteThroughAProxy: the proxy of the environment may be on a loopback address. Addresses behind it are checked,
// and a client cannot reach the proxy itself.
func TestRouteThroughAProxy(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		_, _ = io.WriteString(w, "proxied")
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)

	transport := &http.Transport{DisableKeepAlives: true}
	p := &Policy{}
	r := &route{policy: p, checked: p.Dialer(time.Minute), free: (*Policy)(nil).Dialer(time.Minute)}
	r.proxy = func(req *http.Request) (*url.URL, error) {
		if req.URL.Hostname() == "127.0.0.1" { // as http.ProxyFromEnvironment
			return nil, nil
		}
		return at, nil
	}
	transport.Proxy, transport.DialContext = r.find, r.dial
	get := func(target string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		require.NoError(t, err)
		res, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}

	var denied *Error
	require.ErrorAs(t, get(proxy.URL), &denied, "before the proxy is in use")
	require.NoError(t, get("http://vim.example/v3"))
	require.NoError(t, get("http://192.0.2.1/v3"))
	require.ErrorAs(t, get("http://169.254.169.254/latest"), &denied)
	require.ErrorIs(t, get(proxy.URL), errProxy)
	require.Equal(t, []string{"http://vim.example/v3", "http://192.0.2.1/v3"}, asked)
}

func TestHostPort(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://proxy": "proxy:80", "https://proxy": "proxy:443", "socks5://proxy": "proxy:1080",
		"http://[::1]:3128": "[::1]:3128",
	} {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		require.Equal(t, want, hostPort(u))
	}
}
