package nfvo

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Login is how a client authenticates; its zero value does not, or with the client certificate alone. Files with
// secrets are read whenever a secret is needed, so that it can be replaced.
type Login struct {
	// TokenFile holds a bearer token.
	TokenFile string
	// Username and PasswordFile are for HTTP Basic.
	Username, PasswordFile string
	// TokenURL, ClientID, SecretFile and Scopes are for OAuth 2.0 client credentials. Without SecretFile the client
	// certificate authenticates (RFC 8705).
	TokenURL, ClientID, SecretFile string
	Scopes                         []string
}

// authorize puts credentials into a request, and returns the access token if it has one.
func (c *Client) authorize(req *http.Request) (token string, err error) {
	l := c.login
	switch {
	case l.TokenURL != "":
		if token, err = c.tokens.get(req.Context(), c); err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	case l.TokenFile != "":
		secret, err := readSecret(l.TokenFile)
		if err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "Bearer "+secret)
	case l.Username != "":
		secret, err := readSecret(l.PasswordFile)
		if err != nil {
			return "", err
		}
		req.SetBasicAuth(l.Username, secret)
	}
	return token, nil
}

func readSecret(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the secret for the NFVO: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// tokens keeps the access token until it expires.
type tokens struct {
	mu      sync.Mutex
	token   string
	expires time.Time
}

// margin is how long before its end a token is renewed.
const margin = 10 * time.Second

// get returns a valid token.
func (t *tokens) get(ctx context.Context, c *Client) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && time.Now().Before(t.expires) {
		return t.token, nil
	}
	token, lifetime, err := c.fetchToken(ctx)
	if err != nil {
		return "", err
	}
	t.token, t.expires = token, time.Now().Add(lifetime-margin)
	return token, nil
}

// forget drops a token that the NFVO has rejected, and reports whether there was one.
func (t *tokens) forget(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
	return token != ""
}

// loginError is the refusal of a token by the authorization server.
type loginError struct {
	status int
	text   string
}

// Error implements error.
func (e *loginError) Error() string {
	return fmt.Sprintf("the authorization server answers %d: %s", e.status, e.text)
}

// fetchToken fetches an access token (RFC 6749 clause 4.4).
func (c *Client) fetchToken(ctx context.Context) (string, time.Duration, error) {
	l := c.login
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(l.Scopes) > 0 {
		form.Set("scope", strings.Join(l.Scopes, " "))
	}
	if l.SecretFile == "" {
		form.Set("client_id", l.ClientID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, fmt.Errorf("request a token: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if l.SecretFile != "" {
		secret, err := readSecret(l.SecretFile)
		if err != nil {
			return "", 0, err
		}
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(secret))
	}
	res, err := c.read(req)
	if err != nil {
		return "", 0, fmt.Errorf("request a token: %w", err)
	}
	var out struct {
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"`
		Error       string  `json:"error"`
		Description string  `json:"error_description"`
	}
	bad := json.Unmarshal(res.body, &out)
	if res.status != http.StatusOK {
		return "", 0, &loginError{res.status, shorten(strings.TrimSpace(out.Error + " " + out.Description))}
	}
	if bad != nil || out.AccessToken == "" {
		return "", 0, &loginError{res.status, "the answer has no access_token"}
	}
	lifetime := time.Duration(out.ExpiresIn) * time.Second
	return out.AccessToken, min(max(lifetime, margin+time.Second), time.Hour), nil
}

// trusted trusts the authorities of a PEM file beside those of the system.
func trusted(path string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if path == "" {
		return cfg, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the authorities of the NFVO: %w", err)
	}
	if cfg.RootCAs, err = x509.SystemCertPool(); err != nil {
		cfg.RootCAs = x509.NewCertPool()
	}
	if !cfg.RootCAs.AppendCertsFromPEM(bytes.TrimSpace(raw)) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", path)
	}
	return cfg, nil
}
