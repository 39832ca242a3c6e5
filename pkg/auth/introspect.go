package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// introspect asks the provider about a token (RFC 7662). Issuer and audience have to be right as in a JWT; an answer
// without an issuer is by the issuer that was asked.
func (v *openID) introspect(ctx context.Context, secret string) (result, error) {
	m, err := v.issuer.get(ctx)
	if m == nil {
		return result{}, err
	}
	if m.introspection == "" {
		return result{}, errors.New("the metadata of the provider has no introspection_endpoint")
	}
	form := url.Values{"token": {secret}, "token_type_hint": {"access_token"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.introspection, strings.NewReader(form.Encode()))
	if err != nil {
		return result{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(v.opts.ClientID), url.QueryEscape(v.opts.ClientSecret))
	resp, err := v.client.Do(req)
	if err != nil {
		return result{}, fmt.Errorf("introspection: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or not needed
	if resp.StatusCode != http.StatusOK {
		return result{}, errors.New("introspection: " + resp.Status)
	}
	var claims map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&claims); err != nil {
		return result{}, fmt.Errorf("introspection: %w", err)
	}
	active, ok := claims["active"].(bool)
	if !ok {
		return result{}, errors.New("introspection: the answer does not say whether the token is active")
	}
	if !active {
		return result{}, reject(
			reasonInvalid, lcm.CodeUnauthorized, "the token is not valid, has expired or was revoked",
		)
	}
	return v.introspected(claims)
}

// introspected checks the claims of an active token.
func (v *openID) introspected(claims map[string]any) (result, error) {
	if iss, ok := claims["iss"]; ok && iss != v.opts.Issuer {
		return result{}, reject(reasonInvalid, lcm.CodeUnauthorized, "the token is of another issuer")
	}
	if !slices.Contains(textsOf(claims["aud"]), v.opts.Audience) {
		return result{}, reject(reasonInvalid, lcm.CodeUnauthorized, "the token is for another audience").hint(
			"the audience must be " + v.opts.Audience)
	}
	var expires time.Time
	if exp, ok := claims["exp"].(float64); ok {
		expires = time.Unix(int64(exp), 0)
	}
	p, err := v.claims.principal(claims)
	return result{principal: p, expires: expires}, err
}
