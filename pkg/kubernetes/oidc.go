package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// tokenMargin is the time before its end from which on an ID token is not used any more.
const tokenMargin = 30 * time.Second

// idTokens gets ID tokens of an OpenID provider for a user name and a password (grant type password, RFC 6749 clause
// 4.3, with the scope openid), and adds them to the requests of a client.
type idTokens struct {
	access Access
	http   *http.Client

	mu    sync.Mutex
	token string
	until time.Time
}

// newIDTokens uses a transport. It trusts the CA of the API server beside the system's.
func newIDTokens(a Access, t *http.Transport) *idTokens {
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if len(a.CA) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(a.CA)
		t.TLSClientConfig.RootCAs = roots
	}
	t.TLSClientConfig.InsecureSkipVerify = a.Insecure // the user asked for it in the connection
	t.DisableKeepAlives = true                        // a token lasts for minutes
	return &idTokens{access: a, http: &http.Client{
		Transport: limitedAnswers{t}, Timeout: requestTimeout, CheckRedirect: redirect.SameServer,
	}}
}

// wrap adds a token to the requests of a transport.
func (s *idTokens) wrap(next http.RoundTripper) http.RoundTripper { return &withIDToken{s, next} }

type withIDToken struct {
	tokens *idTokens
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *withIDToken) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.tokens.get(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(r)
}

// get returns a token that is valid now.
func (s *idTokens) get(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && time.Until(s.until) > tokenMargin {
		return s.token, nil
	}
	o := s.access.OIDC
	client := oauth2.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: []string{"openid"},
		Endpoint: oauth2.Endpoint{TokenURL: o.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}
	t, err := client.PasswordCredentialsToken(
		context.WithValue(ctx, oauth2.HTTPClient, s.http), s.access.Username, s.access.Password,
	)
	if err != nil {
		return "", s.refusal(err)
	}
	id, _ := t.Extra("id_token").(string)
	if id == "" {
		return "", s.failure(lcm.Permanent, "gave no id_token").WithHint(
			"the client has to be one of OpenID Connect, with the scope openid")
	}
	s.token, s.until = id, expiry(id, t.Expiry)
	return id, nil
}

// errProvider is the cause of errors of the OpenID provider.
var errProvider = errors.New("the OpenID provider failed")

// failure is an error of the OpenID provider.
func (s *idTokens) failure(class lcm.Class, why string) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Class: class, Title: "OpenID login failed", Cause: errProvider,
		Detail: fmt.Sprintf(
			"log in as %s: the OpenID provider at %s %s", s.access.Username, s.access.OIDC.TokenURL, why,
		),
	}
}

// maxProviderText bounds the part of an error that the provider writes, in bytes.
const maxProviderText = 300

// refusal explains an error. Of an answer it has only the error document (RFC 6749 clause 5.2): the rest of it can have
// anything.
func (s *idTokens) refusal(err error) error {
	if refused, ok := errors.AsType[*outbound.Error](err); ok {
		e := s.failure(lcm.Permanent, "cannot be used: "+refused.Error())
		e.Cause = fmt.Errorf("%w: %w", errProvider, refused)
		return e
	}
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		e := s.failure(lcm.Transient, "cannot be used: "+innermost(err).Error())
		e.Code, e.Cause = lcm.CodeUnavailable, fmt.Errorf("%w: %w", errProvider, innermost(err))
		return e
	}
	text := "answered " + answer.Response.Status
	switch {
	case answer.Response.StatusCode >= http.StatusInternalServerError:
		return s.failure(lcm.Transient, text)
	case answer.ErrorCode == "":
		return s.failure(lcm.Permanent, text).WithHint("check oidc_token_url")
	}
	said := strings.TrimSuffix(answer.ErrorCode+": "+answer.ErrorDescription, ": ")
	return s.failure(lcm.Auth, text+": "+said[:min(len(said), maxProviderText)]).
		WithHint("check username, password, client_id and client_secret")
}

// innermost is an error without the method and URL that net/http puts around it.
func innermost(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return innermost(at.Err)
	}
	return err
}

// expiry reads when a JWT ends, without a check of its signature, which is the API server's task. Otherwise it is the
// end of the access token; one of an unknown end is used once.
func expiry(jwt string, otherwise time.Time) time.Time {
	parts := strings.Split(jwt, ".")
	var claims struct {
		Exp int64 `json:"exp"`
	}
	if len(parts) == 3 {
		if raw, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil &&
			json.Unmarshal(raw, &claims) == nil && claims.Exp > 0 {
			return time.Unix(claims.Exp, 0)
		}
	}
	return otherwise
}
