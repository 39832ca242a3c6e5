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
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// webRequest is what curl and wget have in common.
type webRequest struct {
	method, url           string
	body                  []byte
	header                http.Header
	insecure, fail        bool
	follow, headOnly      bool
	caFile, cert, key     string
	total, connect        time.Duration
	user                  string
	include, silent, show bool
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
	raw := r.url
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, webError{3, "URL using bad/illegal format or missing URL"}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, webError{1, fmt.Sprintf("Protocol \"%s\" not supported or disabled in libcurl", u.Scheme)}
	}
	if r.total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = o.Sys.Clock.WithTimeout(ctx, r.total)
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
	conf := &tls.Config{InsecureSkipVerify: r.insecure}
	if r.caFile != "" {
		b, err := p.ReadFile(r.caFile)
		if err != nil {
			return nil, webError{77, "error setting certificate verify locations:  CAfile: " + r.caFile}
		}
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AppendCertsFromPEM(b)
	} else {
		conf.RootCAs = x509.NewCertPool() // the system's roots know nobody here
	}
	if r.cert != "" {
		certPEM, err1 := p.ReadFile(r.cert)
		keyPEM := certPEM
		var err2 error
		if r.key != "" {
			keyPEM, err2 = p.ReadFile(r.key)
		}
		pair, err3 := tls.X509KeyPair(certPEM, keyPEM)
		if errors.Join(err1, err2, err3) != nil {
			return nil, webError{58, "could not load PEM client certificate"}
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	var dialErr atomic.Pointer[error] // the transport dials on a goroutine of its own
	tr := &http.Transport{
		TLSClientConfig: conf, DisableKeepAlives: true, ForceAttemptHTTP2: false,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			if r.connect > 0 {
				var cancel context.CancelFunc
				ctx, cancel = o.Sys.Clock.WithTimeout(ctx, r.connect)
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
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, webError{3, "URL using bad/illegal format or missing URL"}
	}
	req.Header = r.header
	if name, pw, ok := strings.Cut(r.user, ":"); ok {
		req.SetBasicAuth(name, pw)
	}
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
		return webError{7, fmt.Sprintf("Failed to connect to %s port %s after 0 ms: %s", u.Hostname(), port, process.Reason(dialErr))}
	case errors.As(err, &unknown), errors.As(err, &host):
		return webError{60, "SSL certificate problem: unable to get local issuer certificate"}
	case u.Scheme == "https":
		return webError{35, "OpenSSL SSL_connect: Connection reset by peer in connection to " + u.Host}
	}
	return webError{52, "Empty reply from server"}
}

func (o *OS) curl(ctx context.Context, p *process.Proc) int {
	r := &webRequest{header: http.Header{}}
	out, format, remoteName, retries, urls := "", "", false, 0, []string{}
	args := p.Args[1:]
	flagVal := map[string]string{
		"-o": "o", "--output": "o", "-H": "H", "--header": "H", "-X": "X", "--request": "X", "-d": "d", "--data": "d", "--data-raw": "d", "--data-binary": "d",
		"-w": "w", "--write-out": "w", "-m": "m", "--max-time": "m", "--connect-timeout": "ct", "--retry": "r", "--retry-delay": "", "--retry-max-time": "",
		"--cacert": "ca", "--cert": "E", "-E": "E", "--key": "key", "-u": "u", "--user": "u", "-A": "", "--user-agent": "", "--noproxy": "", "-x": "", "--proxy": "",
		"--resolve": "", "--url": "url", "--tlsv1": "", "-D": "", "--dump-header": "", "--proto": "", "--output-dir": "", "-C": "", "--interface": "", "--limit-rate": "",
	}
	value := func(k, v string) bool {
		switch k {
		case "o":
			out = v
		case "H":
			if f, ok := strings.CutPrefix(v, "@"); ok {
				b, err := p.ReadFile(f)
				if err != nil {
					return false
				}
				v = string(b)
			}
			for l := range strings.Lines(v) {
				name, val, _ := strings.Cut(l, ":")
				r.header.Add(strings.TrimSpace(name), strings.TrimSpace(val))
			}
		case "X":
			r.method = v
		case "d":
			if f, ok := strings.CutPrefix(v, "@"); ok {
				b, err := p.ReadFile(f)
				if err != nil {
					return false
				}
				r.body = b
			} else {
				r.body = append(r.body, v...)
			}
			if r.method == "" {
				r.method = http.MethodPost
			}
		case "w":
			format = v
		case "m", "ct":
			s, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return false
			}
			if k == "m" {
				r.total = seconds(s)
			} else {
				r.connect = seconds(s)
			}
		case "r":
			retries, _ = strconv.Atoi(v)
		case "ca":
			r.caFile = v
		case "E":
			r.cert = v
		case "key":
			r.key = v
		case "u":
			r.user = v
		case "url":
			urls = append(urls, v)
		}
		return true
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if k, ok := flagVal[a]; ok {
			i++
			if i >= len(args) || !value(k, args[i]) {
				p.Errorf("curl: option %s: requires parameter\n", a)
				return 2
			}
			continue
		}
		if strings.HasPrefix(a, "--") {
			switch a {
			case "--fail", "--fail-with-body":
				r.fail = true
			case "--silent":
				r.silent = true
			case "--show-error":
				r.show = true
			case "--location":
				r.follow = true
			case "--insecure":
				r.insecure = true
			case "--head":
				r.headOnly = true
			case "--include":
				r.include = true
			case "--remote-name", "--remote-name-all":
				remoteName = true
			case "--version":
				p.Printf("curl 7.81.0 (x86_64-pc-linux-gnu) libcurl/7.81.0 OpenSSL/3.0.2\n")
				return 0
			}
			continue
		}
		if len(a) > 1 && a[0] == '-' {
			for j := 1; j < len(a); j++ {
				f := "-" + string(a[j])
				if k, ok := flagVal[f]; ok {
					v := a[j+1:]
					if v == "" {
						if i++; i < len(args) {
							v = args[i]
						}
					}
					if !value(k, v) {
						return 2
					}
					break
				}
				switch a[j] {
				case 'f':
					r.fail = true
				case 's':
					r.silent = true
				case 'S':
					r.show = true
				case 'L':
					r.follow = true
				case 'k':
					r.insecure = true
				case 'I':
					r.headOnly = true
				case 'i':
					r.include = true
				case 'O':
					remoteName = true
				}
			}
			continue
		}
		urls = append(urls, a)
	}
	if len(urls) == 0 {
		p.Errorf("curl: no URL specified!\ncurl: try 'curl --help' for more information\n")
		return 2
	}
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.headOnly {
		r.method = http.MethodHead
	}
	status := 0
	for _, u := range urls {
		r.url = u
		target := out
		if remoteName {
			target = path.Base(u)
		}
		for try := 0; ; try++ {
			if status = o.fetchOne(ctx, p, r, target, format); status == 0 || try >= retries || ctx.Err() != nil || status == 22 {
				break
			}
			if o.Sys.Clock.Sleep(ctx, seconds(1)) != nil {
				return 1
			}
		}
	}
	return status
}

func (o *OS) fetchOne(ctx context.Context, p *process.Proc, r *webRequest, out, format string) int {
	start := o.Sys.Clock.Now()
	res, err := r.do(ctx, o, p)
	complain := func(code int, text string) int {
		if !r.silent || r.show {
			p.Errorf("curl: (%d) %s\n", code, text)
		}
		return code
	}
	code, status := 0, 0
	var we webError
	switch {
	case errors.As(err, &we):
		status = complain(we.code, we.text)
	case err != nil:
		status = complain(56, err.Error())
	default:
		code = res.code
		body := res.body
		if r.fail && code >= 400 {
			status = complain(22, fmt.Sprintf("The requested URL returned error: %d", code))
			break
		}
		if r.headOnly || r.include {
			var h bytes.Buffer
			_, _ = fmt.Fprintf(&h, "%s %d \r\n", res.proto, code)
			_ = res.header.Write(&h)
			h.WriteString("\r\n")
			body = append(h.Bytes(), body...)
		}
		w := p.Out()
		if out != "" && out != "-" {
			fd, err := p.Open(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
			if err != nil {
				status = complain(23, "Failure writing output to destination")
				break
			}
			defer fd.Close()
			w = fd.Writer(ctx)
		}
		if _, err := w.Write(body); err != nil {
			status = complain(23, "Failure writing output to destination")
		}
	}
	if format != "" {
		p.Printf("%s", strings.NewReplacer("%{http_code}", fmt.Sprintf("%03d", code), "%{response_code}", fmt.Sprintf("%03d", code), `\n`, "\n",
			"%{time_total}", fmt.Sprintf("%.6f", o.Sys.Clock.Now().Sub(start).Seconds()), "%{exitcode}", strconv.Itoa(status)).Replace(format))
	}
	return status
}
