package ubuntu

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// patience is how long, in real time, an answer may take at least: simulated seconds are too short for a busy host.
const patience = time.Second

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// webRequest is a call of curl.
type webRequest struct {
	url                    string
	header                 http.Header
	insecure, fail, follow bool
	include, silent, show  bool
	caFile, out            string
	total, connect         time.Duration
}

// webAnswer is what came back.
type webAnswer struct {
	code   int
	proto  string
	header http.Header
	body   []byte
}

// webError has curl's exit status.
type webError struct {
	code int
	text string
}

func (e webError) Error() string { return e.text }

// do performs the request. Names of the simulated internet are answered here, addresses over the machine's network.
func (r *webRequest) do(ctx context.Context, o *OS, p *process.Proc) (*webAnswer, error) {
	u, err := url.Parse(r.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, webError{3, "URL using bad/illegal format or missing URL"}
	}
	if r.total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(o.Sys.Clock.Real(r.total), patience))
		defer cancel()
	}
	if _, err := o.Net.Resolve(u.Hostname()); err != nil {
		if o.Net.IsCut() {
			return nil, webError{6, "Could not resolve host: " + u.Hostname()}
		}
		status, body := internet(u)
		if status == 0 {
			return nil, webError{6, "Could not resolve host: " + u.Hostname()}
		}
		return &webAnswer{status, "HTTP/2", http.Header{"Content-Length": {strconv.Itoa(len(body))}}, body}, nil
	}
	return r.overNetwork(ctx, o, p, u)
}

func (r *webRequest) overNetwork(ctx context.Context, o *OS, p *process.Proc, u *url.URL) (*webAnswer, error) {
	// The system's roots sign nothing here.
	conf := &tls.Config{InsecureSkipVerify: r.insecure, RootCAs: x509.NewCertPool()}
	if r.caFile != "" {
		b, err := p.ReadFile(r.caFile)
		if err != nil {
			return nil, webError{77, "error setting certificate verify locations:  CAfile: " + r.caFile}
		}
		conf.RootCAs.AppendCertsFromPEM(b)
	}
	var dialErr atomic.Pointer[error] // the transport dials on a goroutine of its own
	tr := &http.Transport{
		TLSClientConfig: conf, DisableKeepAlives: true, ForceAttemptHTTP2: false,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			if r.connect > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, max(o.Sys.Clock.Real(r.connect), patience))
				defer cancel()
			}
			c, err := o.Net.Dial(ctx, addr)
			if err != nil {
				dialErr.Store(&err)
			}
			return c, err
		},
	}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	if !r.follow {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, webError{3, "URL using bad/illegal format or missing URL"}
	}
	req.Header = r.header
	res, err := client.Do(req)
	if err != nil {
		var derr error
		if e := dialErr.Load(); e != nil {
			derr = *e
		}
		return nil, curlError(ctx, u, err, derr)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return nil, webError{56, "Recv failure: Connection reset by peer"}
	}
	return &webAnswer{res.StatusCode, res.Proto, res.Header, body}, nil
}

func curlError(ctx context.Context, u *url.URL, err, dialErr error) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		return webError{28, "Connection timed out"}
	case dialErr != nil:
		if netstack.NoHost(dialErr) {
			return webError{6, "Could not resolve host: " + u.Hostname()}
		}
		return webError{7, fmt.Sprintf(
			"Failed to connect to %s port %s after 0 ms: %s", u.Hostname(), port, process.Reason(dialErr),
		)}
	case errors.As(err, &unknown), errors.As(err, &host):
		return webError{60, "SSL certificate problem: unable to get local issuer certificate"}
	case u.Scheme == "https":
		return webError{35, "OpenSSL SSL_connect: Connection reset by peer in connection to " + u.Host}
	}
	return webError{52, "Empty reply from server"}
}

// curl fetches one URL.
func (o *OS) curl(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(
		false, "fsSLkio:H:", "fail=f", "silent=s", "show-error=S", "location=L", "insecure=k", "include=i", "output:=o",
		"header:=H", "connect-timeout:=ct", "max-time:=m", "noproxy:=noproxy", "cacert:=ca")
	if !ok || len(f.Args) != 1 {
		p.Errorf("curl: one URL is simulated\n")
		return 2
	}
	r := &webRequest{
		url: f.Args[0], header: http.Header{}, insecure: f.Has("k"), fail: f.Has("f"), follow: f.Has("L"),
		include: f.Has("i"), silent: f.Has("s"), show: f.Has("S"), caFile: f.Val("ca"), out: f.Val("o"),
		total: seconds(float64(f.Num("m", 0))), connect: seconds(float64(f.Num("ct", 0))),
	}
	for _, h := range f.Vals["H"] {
		if name, ok := strings.CutPrefix(h, "@"); ok {
			b, err := p.ReadFile(name)
			if err != nil {
				p.Errorf("curl: Failed to open %s\n", name)
				return 2
			}
			h = string(b)
		}
		name, value, _ := strings.Cut(h, ":")
		r.header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	err := o.fetch(ctx, p, r)
	if err == nil {
		return 0
	}
	var we webError
	if !errors.As(err, &we) {
		we = webError{56, err.Error()}
	}
	if !r.silent || r.show {
		p.Errorf("curl: (%d) %s\n", we.code, we.text)
	}
	return we.code
}

// fetch performs the request and writes the answer.
func (o *OS) fetch(ctx context.Context, p *process.Proc, r *webRequest) error {
	res, err := r.do(ctx, o, p)
	if err != nil {
		return err
	}
	if r.fail && res.code >= 400 {
		return webError{22, fmt.Sprintf("The requested URL returned error: %d", res.code)}
	}
	body := res.body
	if r.include {
		var h bytes.Buffer
		_, _ = fmt.Fprintf(&h, "%s %d \r\n", res.proto, res.code)
		_ = res.header.Write(&h)
		h.WriteString("\r\n")
		body = append(h.Bytes(), body...)
	}
	if r.out != "" {
		err = p.WriteFile(r.out, body, 0o666)
	} else {
		_, err = p.Out().Write(body)
	}
	if err != nil {
		return webError{23, "Failure writing output to destination"}
	}
	return nil
}
