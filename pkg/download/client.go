// Package download fetches the content of packages from HTTP servers that requests name. It connects only to the
// addresses that pkg/outbound allows, sends credentials only to the server that they are for, and does not wait for
// ever.
package download

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/redirect"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Options configure a Client.
type Options struct {
	// Policy bounds the addresses; nil allows all.
	Policy *outbound.Policy
	// TLS is the configuration of connections; nil trusts the authorities of the system.
	TLS *tls.Config
	// Idle bounds the time in which a server sends nothing; a minute when zero.
	Idle time.Duration
}

// Client fetches content. It implements vnfpkg.Fetcher.
type Client struct {
	policy *outbound.Policy
	http   *http.Client
	tokens *http.Client
	idle   time.Duration
}

const (
	dialTimeout = 15 * time.Second
	maxHeader   = 64 << 10
	// maxHops bounds the redirects of a request.
	maxHops = 5
)

// New creates a Client.
func New(o Options) *Client {
	if o.Idle == 0 {
		o.Idle = time.Minute
	}
	t := &http.Transport{
		TLSClientConfig: o.TLS, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: o.Idle,
		MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: time.Minute, MaxIdleConns: 10,
		// The bytes have to be those that the server has: ranges count them.
		DisableCompression: true, ForceAttemptHTTP2: true,
	}
	o.Policy.Route(t, dialTimeout)
	return &Client{
		policy: o.Policy, idle: o.Idle, http: &http.Client{Transport: t, CheckRedirect: follow},
		tokens: &http.Client{Transport: t, CheckRedirect: redirect.SameServer, Timeout: o.Idle},
	}
}

// errDowngrade is returned for a redirect to a connection without encryption.
var errDowngrade = errors.New("redirects from https to http are not followed")

// errHops is returned for a server that redirects too often.
var errHops = fmt.Errorf("the server redirects more than %d times", maxHops)

// follow decides about a redirect. Servers of content often redirect to a storage server, which gets no credentials.
func follow(req *http.Request, via []*http.Request) error {
	if len(via) > maxHops {
		return errHops
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errDowngrade
	}
	req.Header.Del("Referer") // the query of an address can be a secret
	if redirect.SameServer(req, via) != nil {
		req.Header.Del("Authorization")
	}
	return nil
}

// Check rejects a source that is not valid or not allowed: CodeInvalid or CodeUnprocessable.
func (c *Client) Check(src *sol.UploadVnfPackageFromUriRequest) error {
	if err := c.checkURL("/addressInformation", src.AddressInformation); err != nil {
		return err
	}
	oauth := src.ParamsOauth2ClientCredentials
	switch {
	case src.Password != "" && src.UserName == "":
		return invalid("/userName", "is required with a password")
	case strings.Contains(src.UserName, ":"):
		return invalid("/userName", "must not contain a colon")
	case src.UserName != "" && (oauth != nil || src.AuthType != ""):
		return invalid("/userName", "cannot be used together with OAuth 2.0")
	case src.AuthType == "" && oauth != nil:
		return invalid("/authType", "is required with paramsOauth2ClientCredentials")
	case src.AuthType == "":
		return nil
	case src.AuthType != string(sol.AuthTypeOauth2ClientCredentials):
		return invalid("/authType", "must be "+string(sol.AuthTypeOauth2ClientCredentials))
	case oauth == nil || oauth.ClientID == "" || oauth.ClientPassword == "" || oauth.TokenEndpoint == "":
		return invalid(
			"/paramsOauth2ClientCredentials", "clientId, clientPassword and tokenEndpoint are required: this node has "+
				"none of its own",
		)
	}
	return c.checkURL("/paramsOauth2ClientCredentials/tokenEndpoint", oauth.TokenEndpoint)
}

func invalid(pointer, detail string) error {
	e := *lcm.AsError(lcm.Unprocessable(lcm.InvalidParam{Pointer: pointer, Detail: detail}))
	e.Code, e.Title = lcm.CodeInvalid, "Invalid request body"
	return &e
}

func (c *Client) checkURL(pointer, text string) error {
	problem := ""
	u, err := url.Parse(text)
	switch {
	case err != nil:
		problem = "is not a URI"
	case u.Scheme != "http" && u.Scheme != "https":
		problem = "must begin with https:// or http://"
	case u.Hostname() == "":
		problem = "has no host"
	case u.User != nil:
		problem = "must not contain a user name and a password; use userName and password"
	}
	if problem != "" {
		return invalid(pointer, problem)
	}
	if err := c.policy.CheckHost(u.Hostname()); err != nil {
		return lcm.Unprocessable(lcm.InvalidParam{Pointer: pointer, Detail: err.Error()})
	}
	return nil
}

// Address returns the address of a source without its query, which can have a secret.
func (*Client) Address(src *sol.UploadVnfPackageFromUriRequest) string {
	u, err := url.Parse(src.AddressInformation)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Get asks for the content; header may have Range and If-Range. The response can have any status. Reading its body ends
// with an error when the server sends nothing for some time. An error is lcm.Error, and says whether another attempt
// can help.
func (c *Client) Get(
	ctx context.Context, src *sol.UploadVnfPackageFromUriRequest, header http.Header,
) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err := c.get(ctx, src, header)
	if err != nil {
		err = explain(err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &watched{
		ReadCloser: resp.Body, idle: c.idle, cancel: cancel, ctx: ctx,
		timer: time.AfterFunc(c.idle, func() { cancel(errIdle) }),
	}
	return resp, nil
}

func (c *Client) get(
	ctx context.Context, src *sol.UploadVnfPackageFromUriRequest, header http.Header,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, src.AddressInformation, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	req.Header.Set("Accept", "application/zip, application/octet-stream;q=0.9, */*;q=0.1")
	req.Header.Set("Accept-Encoding", "identity")
	switch oauth := src.ParamsOauth2ClientCredentials; {
	case oauth != nil:
		token, err := c.token(ctx, oauth)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	case src.UserName != "":
		req.SetBasicAuth(src.UserName, src.Password)
	}
	return c.http.Do(req)
}

// token asks the server of tokens for an access token.
func (c *Client) token(ctx context.Context, p *sol.ParamsOauth2ClientCredentials) (string, error) {
	set := clientcredentials.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientPassword, TokenURL: p.TokenEndpoint,
		AuthStyle: oauth2.AuthStyleInHeader,
	}
	t, err := set.Token(context.WithValue(ctx, oauth2.HTTPClient, c.tokens))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		e := failure("the server of tokens answered " + refused.Response.Status)
		e.Hint = "check the OAuth 2.0 client"
		if refused.Response.StatusCode < http.StatusInternalServerError {
			e.Class = lcm.Permanent
		}
		return "", e // its text has the response, which can have a secret
	}
	if err != nil {
		return "", err
	}
	return t.AccessToken, nil
}

func failure(detail string) *lcm.Error {
	return &lcm.Error{Code: lcm.CodeUpstream, Class: lcm.Transient, Title: "The download failed", Detail: detail}
}

// explain makes the error that users see. The text of *url.Error has the whole address, so it is left out.
func explain(err error) error {
	if known, ok := errors.AsType[*lcm.Error](err); ok {
		return known
	}
	inner := err
	for {
		at, ok := errors.AsType[*url.Error](inner)
		if !ok {
			break
		}
		inner = at.Err
	}
	e := failure(inner.Error())
	e.Cause = inner
	_, forbidden := errors.AsType[*outbound.Error](inner)
	_, moved := errors.AsType[*redirect.Error](inner)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](inner)
	_, plain := errors.AsType[tls.RecordHeaderError](inner)
	switch {
	case forbidden:
		e.Class, e.Title, e.Code = lcm.Permanent, "The address is not allowed", lcm.CodeUnprocessable
	case moved, certificate, plain, errors.Is(inner, errDowngrade), errors.Is(inner, errHops):
		e.Class = lcm.Permanent
	}
	if timeout, ok := errors.AsType[net.Error](inner); ok && timeout.Timeout() {
		e.Detail = "the server did not answer in time"
	}
	return e
}
