package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// TokenCredential makes the credential of a token that a user has entered. A JWT goes to the OpenID provider, any
// other token to the static tokens or Keystone. The error is CodeInvalid.
func TokenCredential(token string) (Credential, error) {
	if isJWT(token) {
		return tokenFrom(KindBearer, token)
	}
	return tokenFrom(KindToken, token)
}

// ClaimedName is the public part of a credential, whether it is valid or not: the id of a static token, or nothing.
func ClaimedName(c Credential) string {
	if id, ok := idOf(c.Secret); ok {
		return "token " + id
	}
	return ""
}

// Revoke revokes a token of a session at Keystone or the OpenID provider, as far as they can. The log says why that is
// not possible. This node does not accept the token any more.
func (a *Authenticator) Revoke(ctx context.Context, c Credential) {
	var err error
	if k := modeOf[*keystone](a); k != nil && k.accepts(c) {
		err = k.revoke(ctx, c.Secret)
	} else if v := modeOf[*openID](a); v != nil && v.accepts(c) {
		err = v.revoke(ctx, c.Secret)
	}
	if err != nil {
		a.opts.Log.WarnContext(ctx, "the token of a session is not revoked; it expires by itself",
			"error", shorten(err))
	}
}

// revoke revokes a token with itself: a user may do that.
func (k *keystone) revoke(ctx context.Context, secret string) error {
	k.remote.forget(secret)
	ctx, cancel := context.WithTimeout(ctx, k.opts.Timeout)
	defer cancel()
	provider, err := k.login.provider(k.client)
	if err != nil {
		return err
	}
	provider.TokenID = secret
	service := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: k.login.base + "/v3/"}
	err = tokens.Revoke(ctx, service, secret).Err
	switch {
	case err == nil, gophercloud.ResponseCodeIs(err, http.StatusUnauthorized),
		gophercloud.ResponseCodeIs(err, http.StatusNotFound): // it is not valid any more
		return nil
	}
	return fmt.Errorf("revoke a token: %w", brief(err))
}

// revoke revokes a token (RFC 7009). A provider without a revocation endpoint cannot.
func (v *openID) revoke(ctx context.Context, secret string) error {
	v.remote.forget(secret)
	m, err := v.issuer.get(ctx)
	if m == nil {
		return err
	}
	m.verified.forget(digestOf(secret))
	if m.revocation == "" {
		return nil
	}
	form := url.Values{"token": {secret}, "token_type_hint": {"access_token"}}
	if v.opts.ClientSecret == "" {
		form.Set("client_id", v.opts.ClientID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if v.opts.ClientSecret != "" {
		req.SetBasicAuth(url.QueryEscape(v.opts.ClientID), url.QueryEscape(v.opts.ClientSecret))
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return fmt.Errorf("revoke a token: %w", err)
	}
	_ = resp.Body.Close() // not needed
	if resp.StatusCode != http.StatusOK {
		return errors.New("revoke a token: " + resp.Status)
	}
	return nil
}

// EndSession returns the page of the OpenID provider on which users end their session there (OpenID Connect
// RP-Initiated Logout); "" if the provider does not publish one. Afterwards the page leads back to redirect.
func (a *Authenticator) EndSession(ctx context.Context, redirect string) string {
	v := modeOf[*openID](a)
	if v == nil {
		return ""
	}
	m, _ := v.issuer.get(ctx) // the log has the error
	if m == nil || m.endSession == "" {
		return ""
	}
	u, err := url.Parse(m.endSession)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	q := u.Query()
	q.Set("client_id", v.opts.ClientID)
	q.Set("post_logout_redirect_uri", redirect)
	u.RawQuery = q.Encode()
	return u.String()
}
