package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// CodeFlow is a login at the OpenID provider that has begun (authorisation code with PKCE). The console keeps it in a
// sealed cookie of the browser until the provider redirects back.
type CodeFlow struct {
	// URL is where the browser goes.
	URL string `json:"-"`
	// State, Nonce and Verifier bind the answer to this browser.
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// String hides the secrets in logs and errors.
func (CodeFlow) String() string { return "login that has begun" }

// GoString hides the secrets from %#v.
func (f CodeFlow) GoString() string { return f.String() }

// StartCodeFlow begins a login. redirect is the address of the console that the provider redirects to, which has to be
// registered there. It fails with CodeUnprocessable without the mode OpenID or its client_id, and CodeUnavailable if
// the provider does not answer.
func (a *Authenticator) StartCodeFlow(ctx context.Context, redirect string) (CodeFlow, error) {
	v := modeOf[*openID](a)
	if v == nil || v.opts.ClientID == "" {
		return CodeFlow{}, lcm.Errorf(lcm.CodeUnprocessable, "this server does not use an OpenID provider for logins")
	}
	client, err := v.oauth2(ctx, redirect)
	if err != nil {
		return CodeFlow{}, err
	}
	f := CodeFlow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	f.URL = client.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	return f, nil
}

// FinishCodeFlow exchanges the code of the provider's redirect for a credential. The credential is the access token, so
// the claims that count are those of API clients; a provider whose access tokens are not accepted can issue ID tokens
// for the audience instead.
func (a *Authenticator) FinishCodeFlow(
	ctx context.Context, f CodeFlow, redirect, state, code, remote string,
) (Credential, error) {
	v := modeOf[*openID](a)
	if v == nil {
		return Credential{}, lcm.Errorf(lcm.CodeUnprocessable, "this server does not use an OpenID provider for logins")
	}
	c, err := v.exchange(ctx, f, redirect, state, code)
	if err != nil {
		return Credential{}, a.report(ctx, inMode(err, v), Credential{Kind: KindBearer}, remote)
	}
	for _, candidate := range c {
		if _, err = a.check(ctx, candidate, remote); err == nil {
			return candidate, nil
		}
	}
	return Credential{}, a.report(ctx, err, Credential{Kind: KindBearer}, remote)
}

// oauth2 returns the client of the provider.
func (v *openID) oauth2(ctx context.Context, redirect string) (*oauth2.Config, error) {
	m, err := v.issuer.get(ctx)
	if m == nil {
		return nil, v.unavailable(err)
	}
	return &oauth2.Config{
		ClientID: v.opts.ClientID, ClientSecret: v.opts.ClientSecret, Endpoint: m.provider.Endpoint(),
		RedirectURL: redirect, Scopes: append([]string{oidc.ScopeOpenID}, v.opts.Scopes...),
	}, nil
}

// exchange returns the access token and the ID token of a login.
func (v *openID) exchange(ctx context.Context, f CodeFlow, redirect, state, code string) ([]Credential, error) {
	if f.State == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1 || code == "" {
		return nil, reject(reasonInvalid, lcm.CodeUnauthorized, "the answer does not belong to a login of this browser")
	}
	client, err := v.oauth2(ctx, redirect)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, v.client), v.opts.Remote.Timeout)
	defer cancel()
	t, err := client.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < 500 {
		v.log.InfoContext(ctx, "the OpenID provider rejects a login", "code", refused.ErrorCode,
			"status", refused.Response.StatusCode)
		return nil, reject(reasonInvalid, lcm.CodeUnauthorized, "the OpenID provider rejects the login")
	}
	if err != nil {
		return nil, v.unavailable(fmt.Errorf("exchange a code: %s", shorten(err)))
	}
	raw, _ := t.Extra("id_token").(string) // absent is empty, which is not a JWT
	id, err := v.idToken(ctx, raw, v.opts.ClientID)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return nil, reject(reasonInvalid, lcm.CodeUnauthorized, "the ID token does not belong to this login")
	}
	return []Credential{{Kind: KindBearer, Secret: t.AccessToken}, {Kind: KindBearer, Secret: raw}}, nil
}
