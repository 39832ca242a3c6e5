package callback

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/outbound"
)

// Options configure a Client.
type Options struct {
	// Timeout bounds one request with its answer.
	Timeout time.Duration
	// Outbound is the policy of addresses; nil allows all.
	Outbound *outbound.Policy
	// Identity is how the node shows itself to subscribers, and whom it trusts.
	Identity Files
	Log      *slog.Logger
}

// Client sends requests to subscribers. It implements notify.Tester and notify.Sender.
type Client struct {
	options Options
	ways    *ways
	tokens  *tokens
}

var (
	_ notify.Tester = (*Client)(nil)
	_ notify.Sender = (*Client)(nil)
)

// New makes a Client. It fails when the files of its identity cannot be read.
func New(o Options) (*Client, error) {
	w, err := newWays(o)
	if err != nil {
		return nil, err
	}
	return &Client{options: o, ways: w, tokens: newTokens()}, nil
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.ways.close() }

// Test implements notify.Tester: the callback has to answer a GET with 204 (SOL003 clause 5.4.20.3.2).
func (c *Client) Test(ctx context.Context, s *notify.Subscription) error {
	err := c.send(ctx, s, http.MethodGet, nil)
	if err == nil {
		return nil
	}
	reason := "internal error"
	if e, ok := errors.AsType[*notify.SendError](err); ok {
		reason = e.Reason
	}
	e := lcm.Errorf(lcm.CodeUnprocessable, "the test of the callback failed: %s", reason)
	e.Title, e.Params = "Callback test failed", []lcm.InvalidParam{{Pointer: "/callbackUri", Detail: reason}}
	e.Cause = err
	return e.WithHint("the callback has to answer GET with 204 and no redirect")
}

// Send implements notify.Sender.
func (c *Client) Send(ctx context.Context, s *notify.Subscription, body []byte) error {
	return c.send(ctx, s, http.MethodPost, body)
}

// send sends a request; one with a token that the subscriber does not take is repeated with a new one.
func (c *Client) send(ctx context.Context, s *notify.Subscription, method string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	used := chosen(s.Auth, c.ways.certified(ctx))
	if s.Auth != nil && used == "" {
		return &notify.SendError{Reason: "this node has no client certificate (notify.cert_file)"}
	}
	way := c.ways.get(ctx, used.certificate())
	for fresh := false; ; fresh = true {
		status, header, err := c.request(ctx, way, s, used, method, body, fresh)
		if err != nil {
			return err
		}
		if status == http.StatusUnauthorized && used.token() && !fresh {
			continue
		}
		return judge(method, status, header)
	}
}

// maxAnswer bounds what is read of an answer, so that the connection can be used again.
const maxAnswer = 16 << 10

func (c *Client) request(
	ctx context.Context, way *http.Client, s *notify.Subscription, used method, verb string, body []byte, fresh bool,
) (status int, header http.Header, err error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, verb, s.Callback, content)
	if err != nil {
		return 0, nil, &notify.SendError{Reason: "the callback is not a URL", Permanent: true}
	}
	req.Header.Set("User-Agent", "gybe")
	req.Header.Set("Accept", "application/json")
	if s.Version != "" {
		req.Header.Set("Version", s.Version)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.authenticate(ctx, req, way, s, used, fresh); err != nil {
		return 0, nil, &notify.SendError{Reason: "no token: " + reason(err)}
	}
	resp, err := way.Do(req)
	if err != nil {
		return 0, nil, &notify.SendError{Reason: reason(err)}
	}
	defer func() { _ = resp.Body.Close() }() // nothing is lost
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	return resp.StatusCode, resp.Header, nil
}

// judge says what a status means. A test needs 204; for a notification every other success is one, too.
func judge(method string, status int, header http.Header) error {
	e := &notify.SendError{Reason: fmt.Sprintf("it answered %d %s", status, http.StatusText(status))}
	switch {
	case status == http.StatusNoContent, method == http.MethodPost && status/100 == 2:
		return nil
	case status/100 == 2:
		e.Reason += " instead of 204"
	case status/100 == 3:
		e.Permanent = true
		e.Reason += ", a redirect, and redirects are not followed"
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status/100 == 5:
		e.RetryAfter = retryAfter(header)
	default:
		e.Permanent = true
	}
	return e
}

// maxRetryAfter bounds how long a subscriber can let a node wait.
const maxRetryAfter = time.Hour

// retryAfter reads a Retry-After header; 0 when there is none that can be read.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	seconds, err := strconv.Atoi(text)
	wait := time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	if err != nil {
		at, err := http.ParseTime(text)
		if err != nil {
			return 0
		}
		wait = time.Until(at)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// reason is an error as the user sees it: without the URL, which can hold a secret.
func reason(err error) string {
	if e, ok := errors.AsType[*outbound.Error](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return "it did not answer in time"
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate is not valid: " + e.Err.Error()
	}
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is not valid: " + e.Error()
	}
	for {
		e, ok := errors.AsType[*url.Error](err)
		if !ok {
			break
		}
		err = e.Err
	}
	const longest = 300
	text := err.Error()
	return text[:min(len(text), longest)]
}
