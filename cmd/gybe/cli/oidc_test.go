package cli_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
)

// provider is an OpenID provider with one client, and a server that accepts its newest access token.
type provider struct {
	*httptest.Server
	t      *testing.T
	signer jose.Signer
	key    *ecdsa.PrivateKey

	mu        sync.Mutex
	issued    int
	ttl       int
	polls     int
	challenge string // of PKCE
	nonce     string
	refresh   string // the valid refresh token
	// claims makes access tokens JWTs, for a node.
	claims map[string]any
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"},
	}, nil)
	require.NoError(t, err)
	p := &provider{t: t, signer: signer, key: key, ttl: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"device_authorization_endpoint": p.URL + "/device", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		public := jose.JSONWebKey{Key: &key.PublicKey, KeyID: "1", Algorithm: "ES256", Use: "sig"}
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	})
	mux.HandleFunc("POST /device", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.challenge = r.FormValue("code_challenge")
		answer(w, map[string]any{
			"device_code": "device-secret", "user_code": "WDJB-MJHT", "verification_uri": p.URL + "/activate",
			"expires_in": 60, "interval": 1,
		})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		q := r.URL.Query()
		p.challenge, p.nonce = q.Get("code_challenge"), q.Get("nonce")
		back := q.Get("redirect_uri") + "?" + url.Values{"code": {"code-secret"}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back, http.StatusFound)
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client reports what is wrong
}

// token is the token endpoint: the first poll of a device is too early, and PKCE is checked.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	reject := func(code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
	}
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	verified := base64.RawURLEncoding.EncodeToString(sum[:]) == p.challenge
	switch r.FormValue("grant_type") {
	case "urn:ietf:params:oauth:grant-type:device_code":
		if p.polls++; p.polls == 1 {
			reject("authorization_pending")
			return
		}
		if r.FormValue("device_code") != "device-secret" || !verified {
			reject("invalid_grant")
			return
		}
	case "authorization_code":
		if r.FormValue("code") != "code-secret" || !verified {
			reject("invalid_grant")
			return
		}
	case "refresh_token":
		if p.refresh == "" || r.FormValue("refresh_token") != p.refresh {
			reject("invalid_grant")
			return
		}
	default:
		reject("unsupported_grant_type")
		return
	}
	p.issued++
	p.refresh = fmt.Sprintf("refresh-secret-%d", p.issued)
	claims, _ := json.Marshal(map[string]any{
		"iss": p.URL, "aud": "gybe-cli", "sub": "ada", "nonce": p.nonce, "exp": time.Now().Add(time.Hour).Unix(),
		"iat": time.Now().Unix(),
	})
	signed, err := p.signer.Sign(claims)
	if err != nil {
		p.t.Error(err)
		return
	}
	id, _ := signed.CompactSerialize()
	access := p.accessToken()
	if p.claims != nil {
		access = p.accessJWT()
	}
	answer(w, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": p.ttl, "refresh_token": p.refresh,
		"id_token": id,
	})
}

func (p *provider) accessToken() string { return fmt.Sprintf("access-secret-%d", p.issued) }

// accessJWT makes an access token with the claims.
func (p *provider) accessJWT() string {
	claims := maps.Clone(p.claims)
	claims["iss"], claims["sub"], claims["iat"] = p.URL, "ada", time.Now().Unix()
	claims["exp"] = time.Now().Add(time.Duration(p.ttl) * time.Second).Unix()
	raw, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	signed, err := p.signer.Sign(raw)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	token, _ := signed.CompactSerialize()
	return token
}

// set changes the provider.
func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// gybeServer accepts the newest access token of the provider.
func (p *provider) gybeServer() *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.issued == 0 || r.Header.Get("Authorization") != "Bearer "+p.accessToken() {
			w.Header().Set("WWW-Authenticate", `Bearer realm="gybe", error="invalid_token"`)
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"status":401,"detail":"the token is not valid"}`))
			return
		}
		answer(w, []string{})
	}))
	p.t.Cleanup(s.Close)
	return s
}

// TestLoginWithDevice: the user opens an address elsewhere; the token is renewed when it is rejected, and the refresh
// token is used once.
func TestLoginWithDevice(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	u := newUser(t, "GYBE_ENDPOINT="+p.gybeServer().URL)
	args := []string{"login", "--oidc", "--issuer", p.URL, "--client-id", "gybe-cli"}
	code, _, errs := u.gybe("", args...)
	require.Equal(t, 0, code, errs)
	require.Contains(t, errs, p.URL+"/activate")
	require.Contains(t, errs, "WDJB-MJHT")
	require.NotContains(t, errs, "secret")
	u.secretFiles()
	u.ok("", "vnf", "list")
	require.Equal(t, 1, p.issued)

	p.mu.Lock()
	p.issued++ // the server does not accept the first token any more
	p.mu.Unlock()
	u.ok("", "vnf", "list")
	require.Equal(t, 3, p.issued, "one renewal")

	p.mu.Lock()
	p.refresh = ""
	p.issued++
	p.mu.Unlock()
	errs = u.fails(cli.ExitLogin, "", "vnf", "list")
	require.Contains(t, errs, "log in with gybe login")
	require.Contains(t, errs, "invalid_grant")
	require.NotContains(t, errs, "secret")
	p.polls = 0
	u.ok("", "login") // as before
	u.ok("", "vnf", "list")
	require.Contains(t, u.ok("", "context", "show"), p.URL)
	require.Contains(t, u.fails(cli.ExitUsage, "", "login", "--oidc", "--issuer", p.URL),
		"use --issuer and --client-id")
}

// TestLoginWithBrowser: the code comes back to a port of the loopback address, with PKCE, state and nonce.
func TestLoginWithBrowser(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	u := newUser(t, "GYBE_ENDPOINT="+p.gybeServer().URL)
	var page string
	open := func(address string) {
		at, err := url.Parse(address)
		require.NoError(t, err)
		for _, wrong := range []string{"?state=x&code=y", "?code=y", ""} { // another page of the browser
			back, err := http.Get(at.Query().Get("redirect_uri") + wrong)
			require.NoError(t, err)
			require.NoError(t, back.Body.Close())
			require.Equal(t, http.StatusBadRequest, back.StatusCode)
		}
		resp, err := http.Get(address)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		var b bytes.Buffer
		_, err = b.ReadFrom(resp.Body)
		require.NoError(t, err)
		page = b.String()
	}
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"login", "--oidc", "--browser", "--issuer", p.URL, "--client-id", "gybe-cli"}
	code := cli.Run(ctx, args, cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: u.env, OpenBrowser: open,
	})
	require.Equal(t, 0, code, errs.String())
	require.Contains(t, page, "You are logged in.")
	require.NotContains(t, errs.String(), "secret")
	u.ok("", "vnf", "list")
	require.Equal(t, 1, p.issued)
}

// TestShortTokensAreRenewed: a token that expires soon is not sent.
func TestShortTokensAreRenewed(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.ttl = 30
	u := newUser(t, "GYBE_ENDPOINT="+p.gybeServer().URL)
	u.ok("", "login", "--oidc", "--issuer", p.URL, "--client-id", "gybe-cli")
	before := p.issued
	u.ok("", "vnf", "list")
	require.Equal(t, before+1, p.issued)
}

// TestCommandsAtTheSameTimeRenewATokenOnce: a refresh token is valid once, so only one command may use it.
func TestCommandsAtTheSameTimeRenewATokenOnce(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	u := newUser(t, "GYBE_ENDPOINT="+p.gybeServer().URL)
	u.ok("", "login", "--oidc", "--issuer", p.URL, "--client-id", "gybe-cli")
	p.mu.Lock()
	p.issued++ // the server does not accept the first token any more
	before := p.issued
	p.mu.Unlock()
	var running sync.WaitGroup
	begin := make(chan struct{})
	var codes [8]int
	for n := range codes {
		running.Go(func() {
			<-begin
			codes[n], _, _ = u.gybe("", "vnf", "list")
		})
	}
	close(begin)
	running.Wait()
	require.Equal(t, [8]int{}, codes)
	require.Equal(t, before+1, p.issued, "one renewal")
}
