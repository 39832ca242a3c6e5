package nfvo

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/outbound"
)

// Options configure a Client.
type Options struct {
	// URL is the base of the NFVO's interfaces; {URL}/grant/v1 is that of grants.
	URL string
	// CAFile has authorities that are trusted beside those of the system, in PEM form; "" for none.
	CAFile string
	// CertFile and KeyFile are the client certificate; both "" for none. They are read again for every connection.
	CertFile, KeyFile string
	Login             Login
	// Timeout bounds a request with its answer.
	Timeout time.Duration
	// Outbound says which addresses the node may connect to; nil allows all.
	Outbound *outbound.Policy
}

// Client sends requests to an NFVO. Any number of goroutines may use it.
type Client struct {
	base    *url.URL
	http    *http.Client
	timeout time.Duration
	tokens  tokens
	login   Login
	// slots limit the requests at the same time: an NFVO that hangs must not hold all workers of the node.
	slots chan struct{}
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 8 << 20

// maxRequests is the number of requests at the same time.
const maxRequests = 32

// New makes a client. It does not connect.
func New(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(o.URL, "/"))
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of an NFVO", o.URL)
	}
	trust, err := trusted(o.CAFile)
	if err != nil {
		return nil, err
	}
	if o.CertFile != "" {
		trust.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
			return &cert, err
		}
	}
	t := &http.Transport{
		TLSClientConfig: trust, TLSHandshakeTimeout: o.Timeout, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
	}
	o.Outbound.Route(t, o.Timeout)
	return &Client{
		base: base, timeout: o.Timeout, login: o.Login, slots: make(chan struct{}, maxRequests),
		http: &http.Client{
			Transport:     t,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// String is the address of the NFVO, for texts.
func (c *Client) String() string { return c.base.Redacted() }

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// errBusy says that a request was not sent, because the NFVO has as many as it may have at the same time.
var errBusy = errors.New("other requests to the NFVO are under way")

// do sends a request with the login of the client. version is the Version header, body nil for none. A token that the
// NFVO does not accept is renewed once.
func (c *Client) do(ctx context.Context, method string, at *url.URL, version string, body []byte) (*answer, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return nil, errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for renewed := false; ; renewed = true {
		req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("make the request: %w", err)
		}
		req.Header.Set("Accept", "application/json, application/problem+json")
		req.Header.Set("Version", version)
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		token, err := c.authorize(req)
		if err != nil {
			return nil, err
		}
		res, err := c.read(req)
		if err != nil || res.status != http.StatusUnauthorized || renewed || !c.tokens.forget(token) {
			return res, err
		}
	}
}

// read sends a request and reads the answer.
func (c *Client) read(req *http.Request) (*answer, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, plainError(err)
	}
	defer func() { _ = res.Body.Close() }() // read to its end or its limit
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, plainError(err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)
	}
	return &answer{res.StatusCode, res.Header, body}, nil
}

// plainError removes the request from an error of net/http: texts that users see name the NFVO themselves.
func plainError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Errorf("no answer in time: %w", err)
	}
	return err
}

// resolve makes the URL of a Location header. It has to be on the NFVO's own server: the client sends credentials
// there.
func (c *Client) resolve(from *url.URL, location string) (*url.URL, error) {
	u, err := from.Parse(location)
	if err != nil || location == "" {
		return nil, fmt.Errorf("%.200q is not a URL", location)
	}
	if u.Scheme != c.base.Scheme || u.Host != c.base.Host || u.User != nil {
		return nil, fmt.Errorf("%.200s is not on the server of nfvo.url, %s://%s", u.Redacted(), c.base.Scheme,
			c.base.Host)
	}
	return u, nil
}
