package login

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// OIDC is a login at an OpenID provider.
type OIDC struct {
	Settings contexts.OIDC
	HTTP     *http.Client // nil is the default
}

// provider discovers the provider, and returns the client with its context for requests.
func (o *OIDC) provider(ctx context.Context) (context.Context, *oidc.Provider, *oauth2.Config, error) {
	hc := o.HTTP
	if hc == nil {
		hc = &http.Client{Timeout: 30 * time.Second, CheckRedirect: redirect.SameServer}
	}
	ctx = oidc.ClientContext(ctx, hc) // oauth2 uses it, too
	p, err := oidc.NewProvider(ctx, o.Settings.Issuer)
	if err != nil {
		return ctx, nil, nil, fmt.Errorf("OpenID provider %s: %w", o.Settings.Issuer, err)
	}
	scopes := slices.Clone(o.Settings.Scopes)
	if len(scopes) == 0 {
		scopes = []string{oidc.ScopeOpenID, oidc.ScopeOfflineAccess}
	}
	return ctx, p, &oauth2.Config{ClientID: o.Settings.ClientID, Endpoint: p.Endpoint(), Scopes: scopes}, nil
}

// Device logs in on another device (RFC 8628). show gets the address to open and the code to type there.
func (o *OIDC) Device(ctx context.Context, show func(url, code string)) (*Token, error) {
	ctx, p, conf, err := o.provider(ctx)
	if err != nil {
		return nil, err
	}
	if conf.Endpoint.DeviceAuthURL == "" {
		return nil, fmt.Errorf("OpenID provider %s has no device authorization; use --browser", o.Settings.Issuer)
	}
	verifier := oauth2.GenerateVerifier()
	answer, err := conf.DeviceAuth(ctx, oauth2.S256ChallengeOption(verifier))
	if err != nil {
		return nil, explain(o.Settings.Issuer, err)
	}
	url := answer.VerificationURIComplete
	if url == "" {
		url = answer.VerificationURI
	}
	show(url, answer.UserCode)
	t, err := conf.DeviceAccessToken(ctx, answer, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, explain(o.Settings.Issuer, err)
	}
	return o.token(ctx, p, t, "")
}

// Browser logs in with the browser of this machine: the authorization code with PKCE (RFC 7636) comes back to a port of
// the loopback address (RFC 8252). show gets the address to open.
func (o *OIDC) Browser(ctx context.Context, show func(url string)) (*Token, error) {
	ctx, p, conf, err := o.provider(ctx)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	conf.RedirectURL = "http://" + l.Addr().String() + callbackPath
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	codes := make(chan callback, 1)
	server := &http.Server{Handler: callbackHandler(state, codes), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // Close ends it
	defer func() { _ = server.Close() }()

	show(conf.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce)))
	var got callback
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got = <-codes:
	}
	if got.err != nil {
		return nil, fmt.Errorf("OpenID provider %s: %w", o.Settings.Issuer, got.err)
	}
	t, err := conf.Exchange(ctx, got.code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, explain(o.Settings.Issuer, err)
	}
	return o.token(ctx, p, t, nonce)
}

// token takes what the server wants out of an answer of the provider. An ID token is checked.
func (o *OIDC) token(ctx context.Context, p *oidc.Provider, t *oauth2.Token, nonce string) (*Token, error) {
	out := &Token{Value: t.AccessToken, Expires: t.Expiry, Refresh: t.RefreshToken}
	raw, ok := t.Extra("id_token").(string)
	if !ok {
		if o.Settings.IDToken {
			return nil, fmt.Errorf("OpenID provider %s sends no ID token; ask for the scope openid", o.Settings.Issuer)
		}
		return out, nil
	}
	id, err := p.Verifier(&oidc.Config{ClientID: o.Settings.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("OpenID provider %s: the ID token is not valid: %w", o.Settings.Issuer, err)
	}
	if nonce != "" && id.Nonce != nonce {
		return nil, fmt.Errorf("OpenID provider %s: the ID token is that of another login", o.Settings.Issuer)
	}
	if o.Settings.IDToken {
		out.Value, out.Expires = raw, id.Expiry
	}
	return out, nil
}

// Obtain gets a new token with the refresh token of the last one.
func (o *OIDC) Obtain(ctx context.Context, had *Token) (*Token, error) {
	if had == nil || had.Refresh == "" {
		return nil, &ExpiredError{}
	}
	ctx, p, conf, err := o.provider(ctx)
	if err != nil {
		return nil, err
	}
	t, err := conf.TokenSource(ctx, &oauth2.Token{RefreshToken: had.Refresh}).Token()
	if err != nil {
		err = explain(o.Settings.Issuer, err)
		if _, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			return nil, &ExpiredError{err}
		}
		return nil, err
	}
	return o.token(ctx, p, t, "")
}

// Session returns the credentials of the login.
func (o *OIDC) Session(c Cache) *Session {
	return &Session{Cache: c, Header: client.HeaderBearer, Prefix: "Bearer ", Obtain: o.Obtain}
}

// providerError is an error of the provider without the body of its answer.
type providerError struct {
	issuer string
	err    *oauth2.RetrieveError
}

func (e *providerError) Error() string {
	text := "OpenID provider " + e.issuer + " rejects the login"
	if e.err.ErrorCode != "" {
		text += fmt.Sprintf(": %.80s", e.err.ErrorCode)
	}
	if e.err.ErrorDescription != "" {
		text += fmt.Sprintf(" (%.200s)", e.err.ErrorDescription)
	}
	return text
}

func (e *providerError) Unwrap() error { return e.err }

// explain makes an error without the body of the provider's answer.
func explain(issuer string, err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return &providerError{issuer, e}
	}
	return fmt.Errorf("OpenID provider %s: %w", issuer, err)
}
