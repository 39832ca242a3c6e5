package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/redirect"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// DefaultEndpoint is the address of a gybe with the default configuration.
const DefaultEndpoint = "http://127.0.0.1:9890"

// lcmVersion is the version of the VNF LCM interface that this client uses.
const lcmVersion = "2.0.0"

// packagesVersion is the version of VNF package management that this client uses.
const packagesVersion = "1.2.0"

// maxAnswer limits the size of a response that is kept in memory.
const maxAnswer = 256 << 20

// Client is a client of one gybe. It is safe for concurrent use.
type Client struct {
	base        string
	http        *http.Client
	userAgent   string
	credentials Credentials
}

// New returns a client of the gybe at an endpoint such as http://127.0.0.1:9890. hc may be nil.
func New(endpoint string, hc *http.Client) (*Client, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an endpoint such as %s", endpoint, DefaultEndpoint)
	}
	if hc == nil {
		hc = &http.Client{Transport: transport(), CheckRedirect: redirect.SameServer} // bodies hold credentials of VIMs
	}
	return &Client{base: strings.TrimRight(endpoint, "/"), http: hc, userAgent: "gybe"}, nil
}

// transport is the default one with a bound on how long a server may stay silent. There is no bound on a
// whole exchange: uploads and event streams last.
func transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.ResponseHeaderTimeout = time.Minute
	return t
}

// Endpoint is where the client sends its requests.
func (c *Client) Endpoint() string { return c.base }

// request is one exchange.
type request struct {
	method  string
	path    string // below the endpoint, or an absolute URL that a Link header gave
	query   url.Values
	body    any       // encoded as JSON; json.RawMessage and []byte go as they are
	stream  io.Reader // instead of body
	media   string    // of the body; default application/json
	accept  string    // default application/json
	headers map[string]string
}

// do sends a request and returns the answer if it is a success; its body is then the caller's to close.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	target := r.path
	if strings.HasPrefix(target, "/") {
		target = c.base + r.path
	}
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	raw, err := encode(r.body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: encode the body: %w", r.method, target, err)
	}
	resp, err := c.send(ctx, r, func() (*http.Request, error) {
		body := r.stream
		if body != nil {
			body = io.NopCloser(body) // the transport must not close a stream that may be sent again
		} else if r.body != nil {
			body = bytes.NewReader(raw)
		}
		req, err := http.NewRequestWithContext(ctx, r.method, target, body)
		if err != nil {
			return nil, err
		}
		if body != nil {
			req.Header.Set("Content-Type", withDefault(r.media, "application/json"))
		}
		req.Header.Set("Accept", withDefault(r.accept, "application/json")+", application/problem+json;q=0.9")
		switch { // a link is absolute
		case strings.Contains(r.path, "/vnflcm/"):
			req.Header.Set(version.Header, lcmVersion)
		case strings.Contains(r.path, "/vnfpkgm/"):
			req.Header.Set(version.Header, packagesVersion)
		}
		req.Header.Set("User-Agent", c.userAgent)
		for name, value := range r.headers {
			req.Header.Set(name, value)
		}
		return req, nil
	})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode != http.StatusNotModified {
		defer closeBody(resp.Body)
		return nil, responseError(r, resp)
	}
	return resp, nil
}

// call sends a request and decodes the answer into out, which may be nil.
func (c *Client) call(ctx context.Context, r request, out any) (http.Header, error) {
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer closeBody(resp.Body)
	if out == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
		return resp.Header, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		err = fmt.Errorf("%s %s: decode the answer: %w", r.method, r.path, err)
		if isConnectionLost(err) {
			return nil, &Unreachable{Endpoint: c.base, Err: err}
		}
		media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if !strings.HasSuffix(media, "json") {
			detail := "the body is " + withDefault(media, "not JSON")
			problem := sol.ProblemDetails{Status: resp.StatusCode, Detail: detail}
			return nil, &Error{Method: r.method, Path: r.path, Foreign: true, Problem: problem}
		}
		return nil, err
	}
	return resp.Header, nil
}

// isConnectionLost reports whether reading an answer ended because the server or the network went away.
func isConnectionLost(err error) bool {
	_, broken := errors.AsType[net.Error](err)
	return broken || errors.Is(err, io.ErrUnexpectedEOF)
}

// list follows the pages of a list.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	r := request{method: http.MethodGet, path: path, query: query}
	out := []T{}
	for {
		var page []T
		h, err := c.call(ctx, r, &page)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		next := c.next(h)
		if next == "" {
			return out, nil
		}
		r = request{method: http.MethodGet, path: next}
	}
}

// next finds the next page in a Link header. The server writes its public URL, which this client need not
// be able to reach: what follows the API's path is put behind our endpoint.
func (c *Client) next(h http.Header) string {
	for _, link := range h.Values("Link") {
		target, params, ok := strings.Cut(link, ">")
		if !ok || !strings.Contains(params, `rel="next"`) && !strings.Contains(params, "rel=next") {
			continue
		}
		u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(target), "<"))
		if err != nil {
			return ""
		}
		path := u.Path
		for _, api := range []string{"/vnflcm/", "/vnfpkgm/"} {
			if i := strings.Index(path, api); i >= 0 {
				path = path[i:]
			}
		}
		return path + "?" + u.RawQuery
	}
	return ""
}

// locationID is the id at the end of a Location header.
func locationID(h http.Header) (string, error) {
	loc := h.Get("Location")
	u, err := url.Parse(loc)
	if err != nil || loc == "" {
		return "", errors.New("the answer has no Location")
	}
	return u.Path[strings.LastIndex(u.Path, "/")+1:], nil
}

// closeBody closes a body whose rest does not matter.
func closeBody(body io.Closer) { _ = body.Close() }

func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []byte:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(v)
}

func withDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// responseError returns the error of a response that is not a success.
func responseError(r request, resp *http.Response) error {
	e := &Error{Method: r.method, Path: r.path, Problem: sol.ProblemDetails{
		Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode),
	}, Challenges: resp.Header.Values("WWW-Authenticate")}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if strings.HasSuffix(media, "json") {
		var p sol.ProblemDetails
		if json.Unmarshal(raw, &p) == nil && p.Detail != "" {
			e.Problem = p
			e.Problem.Status = resp.StatusCode
			return e
		}
	}
	e.Foreign = true
	e.Problem.Detail = strings.TrimSpace(string(raw[:min(len(raw), 500)]))
	return e
}
