// Package tackerapi reads one VNF instance from the API of OpenStack Tacker, so that it can be adopted: the instance
// and its operation occurrences through version 1 or 2 of the VNF lifecycle management interface, its package, and the
// VIMs that it uses. It sends nothing but GET requests. It tolerates where Tacker differs from SOL003: members that are
// absent or null, links of other hosts, lists in envelopes, operationParams as a string.
package tackerapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/redirect"
)

const (
	// version2 is the version of the lifecycle interface that is sent for version 2; Tacker requires it.
	version2 = "2.0.0"
	// maxAnswer bounds a JSON answer in bytes. Tacker limits those of version 2 to 1,000,000.
	maxAnswer = 32 << 20
	// maxErrorBody bounds the part of an error response that is read.
	maxErrorBody = 64 << 10
	// defaultTimeout bounds one JSON exchange, and the time in which a download brings nothing.
	defaultTimeout = time.Minute
	// defaultContent bounds the content of a package in bytes.
	defaultContent = 32 << 30
)

// Credentials authenticate requests. They MUST be safe for concurrent use.
type Credentials interface {
	// Apply puts the credentials into the header of a request.
	Apply(ctx context.Context, h http.Header) error
	// Renew gets new credentials after Tacker has rejected those of a request (401). challenges are the values of
	// WWW-Authenticate. It returns false if there are no others; then the rejection is the result.
	Renew(ctx context.Context, challenges []string) (bool, error)
}

// Options configure a Client. All are optional.
type Options struct {
	// HTTP sends the requests. Redirects to another server are refused whatever it says.
	HTTP *http.Client
	// Credentials are nil for a Tacker without authentication.
	Credentials Credentials
	// Timeout bounds one JSON exchange, and the time in which a download brings nothing; a minute when zero.
	Timeout time.Duration
	// MaxContent bounds the content of a package in bytes; 32 GiB when zero.
	MaxContent int64
}

// Client reads from one Tacker. It is safe for concurrent use.
type Client struct {
	base        string // without a slash at the end
	http        http.Client
	credentials Credentials
	timeout     time.Duration
	maxContent  int64
}

// New returns a client of the Tacker at an address such as http://192.0.2.1:9890.
func New(address string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.80q is not the address of a Tacker, such as http://192.0.2.1:9890", address)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the address of Tacker, %s, has more than a scheme, a host, a port and a path",
			(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
	}
	c := &Client{
		base: strings.TrimRight(u.String(), "/"), credentials: o.Credentials,
		timeout: o.Timeout, maxContent: o.MaxContent,
	}
	if o.HTTP != nil {
		c.http = *o.HTTP
	}
	c.http.CheckRedirect = redirect.SameServer // answers contain passwords, and requests a token
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	if c.maxContent == 0 {
		c.maxContent = defaultContent
	}
	return c, nil
}

// Address is the address of Tacker.
func (c *Client) Address() string { return c.base }

// send sends a GET request and returns the response if it is a success; its body is then the caller's to close. path
// starts with a slash and can have a query.
func (c *Client) send(ctx context.Context, path, accept string) (*http.Response, error) {
	for renewed := false; ; renewed = true {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", accept)
		req.Header.Set("User-Agent", "gybe")
		if strings.HasPrefix(path, "/vnflcm/v2/") {
			req.Header.Set("Version", version2)
		}
		if c.credentials != nil {
			if err := c.credentials.Apply(ctx, req.Header); err != nil {
				return nil, fmt.Errorf("log in for Tacker at %s: %w", c.base, err)
			}
		}
		res, err := c.http.Do(req)
		if err != nil {
			return nil, c.unreachable(ctx, path, err)
		}
		if res.StatusCode == http.StatusOK {
			return res, nil
		}
		if res.StatusCode == http.StatusUnauthorized && c.credentials != nil && !renewed {
			_ = res.Body.Close()
			ok, err := c.credentials.Renew(ctx, res.Header.Values("WWW-Authenticate"))
			if err != nil {
				return nil, fmt.Errorf("log in for Tacker at %s: %w", c.base, err)
			}
			if ok {
				continue
			}
			return nil, c.answerError(path, res, nil)
		}
		raw, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // a part is better than nothing
		_ = res.Body.Close()
		return nil, c.answerError(path, res, raw)
	}
}

// get reads a JSON document.
func (c *Client) get(ctx context.Context, path string, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	res, err := c.send(ctx, path, "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, c.unreachable(ctx, path, err)
	}
	if len(raw) > maxAnswer {
		return nil, c.unusable(path, fmt.Sprintf("the response is larger than %d MiB", maxAnswer>>20))
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, c.unusable(path, "the response is not the JSON of Tacker: "+jsonError(err))
	}
	return res.Header, nil
}

// jsonError is the text of a decoder without parts of the document, which can be secrets.
func jsonError(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("it has a value of the wrong type (%s) at offset %d", kindOf(e.Value), e.Offset)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("syntax error at offset %d", e.Offset)
	}
	return "it cannot be decoded"
}

// kindOf is the first word of a decoder's description: it can be followed by the value.
func kindOf(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}
