package client

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// Credentials authenticate requests. They MUST be safe for concurrent use.
type Credentials interface {
	// Apply puts the credentials into the header of a request. Without any, it leaves the header as it is.
	Apply(ctx context.Context, h http.Header) error
	// Renew gets new credentials after the server has rejected those of a request (401). challenges are the values of
	// WWW-Authenticate. It returns false if there are no others; then the rejection is the result.
	Renew(ctx context.Context, challenges []string) (bool, error)
}

// Headers that carry tokens.
const (
	HeaderBearer = "Authorization"
	HeaderToken  = "X-Auth-Token" //nolint:gosec // the name of a header; of Keystone
)

// Token is a token that is sent as it is, and cannot be renewed.
type Token string

// Apply implements Credentials: a token of Keystone has a header of its own.
func (t Token) Apply(_ context.Context, h http.Header) error {
	if strings.HasPrefix(string(t), "gAAAA") { // a Fernet token
		h.Set(HeaderToken, string(t))
	} else {
		h.Set(HeaderBearer, "Bearer "+string(t))
	}
	return nil
}

// Renew implements Credentials.
func (Token) Renew(context.Context, []string) (bool, error) { return false, nil }

// String hides the token.
func (Token) String() string { return "token" }

// GoString hides the token.
func (Token) GoString() string { return "token" }

// WithCredentials returns a client that authenticates its requests; nil sends none.
func (c *Client) WithCredentials(cr Credentials) *Client {
	out := *c
	out.credentials = cr
	return &out
}

// send sends a request with the credentials, and once more with new ones if the server rejects them.
func (c *Client) send(ctx context.Context, r request, build func() (*http.Request, error)) (*http.Response, error) {
	for renewed := false; ; renewed = true {
		req, err := build()
		if err != nil {
			return nil, err
		}
		if c.credentials != nil {
			if err := c.credentials.Apply(ctx, req.Header); err != nil {
				return nil, err
			}
		}
		resp, err := c.http.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &Unreachable{Endpoint: c.base, Err: err}
		}
		if resp.StatusCode != http.StatusUnauthorized || c.credentials == nil || renewed || !rewind(r.stream) {
			return resp, nil
		}
		ok, err := c.credentials.Renew(ctx, resp.Header.Values("WWW-Authenticate"))
		if err != nil || !ok {
			if err != nil {
				closeBody(resp.Body)
				return nil, err
			}
			return resp, nil
		}
		closeBody(resp.Body)
	}
}

// rewind sets a stream to its start; false if that is not possible. A stream that is nil is at its start.
func rewind(stream io.Reader) bool {
	if stream == nil {
		return true
	}
	s, ok := stream.(io.Seeker)
	if !ok {
		return false
	}
	_, err := s.Seek(0, io.SeekStart)
	return err == nil
}
