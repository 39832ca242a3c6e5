package coordination

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The kinds of authentication that the client has.
const (
	authBasic  = "BASIC"
	authClient = "OAUTH2_CLIENT_CREDENTIALS"
)

// Auth is how the client authenticates, as SOL003's SubscriptionAuthentication says it. Its zero value does not.
type Auth struct {
	AuthType    []string `json:"authType"`
	ParamsBasic struct {
		UserName string `json:"userName"`
		Password string `json:"password"`
	} `json:"paramsBasic"`
	ParamsOauth2ClientCredentials struct {
		ClientID       string `json:"clientId"`
		ClientPassword string `json:"clientPassword"`
		TokenEndpoint  string `json:"tokenEndpoint"`
	} `json:"paramsOauth2ClientCredentials"`
}

// Check finds what is wrong with a as the member at pointer.
func (a Auth) Check(pointer string) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	missing := func(member, value string) {
		if value == "" {
			bad = append(bad, lcm.InvalidParam{Pointer: pointer + "/" + member, Detail: "is missing"})
		}
	}
	basic, oauth := a.ParamsBasic, a.ParamsOauth2ClientCredentials
	switch a.kind() {
	case authBasic:
		missing("paramsBasic/userName", basic.UserName)
		missing("paramsBasic/password", basic.Password)
	case authClient:
		missing("paramsOauth2ClientCredentials/clientId", oauth.ClientID)
		missing("paramsOauth2ClientCredentials/clientPassword", oauth.ClientPassword)
		if u, err := url.Parse(oauth.TokenEndpoint); err != nil || u.Host == "" ||
			u.Scheme != "http" && u.Scheme != "https" {
			bad = append(bad, lcm.InvalidParam{
				Pointer: pointer + "/paramsOauth2ClientCredentials/tokenEndpoint",
				Detail:  "is not an http or https URL",
			})
		}
	default:
		bad = append(bad, lcm.InvalidParam{
			Pointer: pointer + "/authType", Detail: fmt.Sprintf("has to be %s or %s", authBasic, authClient),
		})
	}
	return bad
}

// kind is the strongest kind that a offers and the client has.
func (a Auth) kind() string {
	for _, k := range []string{authClient, authBasic} {
		if slices.Contains(a.AuthType, k) {
			return k
		}
	}
	return ""
}

// apply puts the credentials into a call.
func (a Auth) apply(ctx context.Context, client *http.Client, req *http.Request) error {
	switch a.kind() {
	case authBasic:
		req.SetBasicAuth(a.ParamsBasic.UserName, a.ParamsBasic.Password)
	case authClient:
		token, err := a.token(ctx, client)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// token fetches an access token (RFC 6749 clause 4.4). Calls are rare, so that none is kept.
func (a Auth) token(ctx context.Context, client *http.Client) (string, error) {
	p := a.ParamsOauth2ClientCredentials
	req, err := http.NewRequestWithContext(
		ctx, http.MethodPost, p.TokenEndpoint, strings.NewReader("grant_type=client_credentials"),
	)
	if err != nil {
		return "", fmt.Errorf("request a token: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.ClientPassword))
	res, err := send(client, req)
	if err != nil {
		return "", err
	}
	if res.code != http.StatusOK {
		return "", refusal(http.MethodPost, req.URL, res)
	}
	var out struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(res.body, &out); err != nil || out.AccessToken == "" {
		return "", failure(fmt.Sprintf("POST %s: the answer has no access_token", req.URL.Redacted()))
	}
	return out.AccessToken, nil
}

// untrusted says that a call failed because of the server's certificate.
func untrusted(err error) bool {
	var bad *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &bad) || errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid)
}
