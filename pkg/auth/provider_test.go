package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// provider is a small OpenID provider.
type provider struct {
	*httptest.Server
	t            testing.TB
	reads        atomic.Int64 // of the keys
	introspected atomic.Int64
	down         atomic.Bool

	mu     sync.Mutex
	keys   []jose.JSONWebKey // private; the first one signs
	opaque map[string]map[string]any
	codes  map[string]code
	// plain says that the provider publishes neither a page that ends sessions nor a revocation endpoint.
	plain   bool
	revoked []string
}

// code is a login that waits for its exchange.
type code struct {
	challenge, nonce string
	claims           map[string]any
}

const (
	clientID     = "gybe-console"
	clientSecret = "s3cret-word"
)

func newProvider(tb testing.TB) *provider {
	tb.Helper()
	p := &provider{t: tb, opaque: map[string]map[string]any{}, codes: map[string]code{}}
	p.rotate("first")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /realm/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := map[string]any{
			"issuer": p.issuer(), "jwks_uri": p.URL + "/keys", "introspection_endpoint": p.URL + "/introspect",
			"authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
		}
		if !p.plain {
			doc["revocation_endpoint"], doc["end_session_endpoint"] = p.URL+"/revoke", p.URL+"/logout?theme=dark"
		}
		reply(w, doc)
	})
	mux.HandleFunc("POST /revoke", p.serveRevocation)
	mux.HandleFunc("GET /keys", p.serveKeys)
	mux.HandleFunc("POST /introspect", p.serveIntrospection)
	mux.HandleFunc("POST /token", p.serveToken)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.down.Load() {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(p.Close)
	return p
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) issuer() string { return p.URL + "/realm" }

// rotate makes a new key that signs from now on; the others stay valid.
func (p *provider) rotate(id string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(p.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append([]jose.JSONWebKey{{Key: key, KeyID: id, Algorithm: "ES256", Use: "sig"}}, p.keys...)
}

// forget removes all keys but the one that signs.
func (p *provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = p.keys[:1]
}

func (p *provider) public() []jose.JSONWebKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []jose.JSONWebKey
	for _, k := range p.keys {
		out = append(out, k.Public())
	}
	return out
}

func (p *provider) serveKeys(w http.ResponseWriter, _ *http.Request) {
	p.reads.Add(1)
	keys := []any{map[string]any{"kty": "new-kind"}} // of a kind that the library does not know
	for _, k := range p.public() {
		keys = append(keys, k)
	}
	reply(w, map[string]any{"keys": keys})
}

func (p *provider) serveIntrospection(w http.ResponseWriter, r *http.Request) {
	p.introspected.Add(1)
	if id, secret, _ := r.BasicAuth(); id != clientID || secret != clientSecret {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	claims, ok := p.opaque[r.PostFormValue("token")]
	p.mu.Unlock()
	if !ok {
		claims = map[string]any{"active": false}
	}
	reply(w, claims)
}

// serveRevocation is RFC 7009.
func (p *provider) serveRevocation(w http.ResponseWriter, r *http.Request) {
	if id, secret, _ := r.BasicAuth(); id != clientID || secret != clientSecret {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoked = append(p.revoked, r.PostFormValue("token"))
	delete(p.opaque, r.PostFormValue("token"))
}

// serveToken exchanges a code.
func (p *provider) serveToken(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	c, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant"}`))
		return
	}
	reply(w, map[string]any{
		"access_token": p.sign(p.claims(c.claims)), "token_type": "Bearer",
		"id_token": p.sign(p.claims(map[string]any{"aud": clientID, "nonce": c.nonce})),
	})
}

// claims are those of alice, changed; nil removes one.
func (p *provider) claims(change map[string]any) map[string]any {
	c := map[string]any{
		"iss": p.issuer(), "aud": []string{"gybe", "account"}, "sub": "4711", "preferred_username": "alice",
		"exp": time.Now().Add(time.Hour).Unix(), "project": "p1",
		"realm_access": map[string]any{"roles": []string{"offline_access", "nfv-operator"}},
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// sign makes a JWT with the current key.
func (p *provider) sign(claims map[string]any) string {
	p.mu.Lock()
	key := p.keys[0]
	p.mu.Unlock()
	return signWith(p.t, jose.ES256, key, claims)
}

func signWith(tb testing.TB, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	tb.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	require.NoError(tb, err)
	raw, err := jwt.Signed(s).Claims(claims).Serialize()
	require.NoError(tb, err)
	return raw
}

// unsigned makes a JWT with a header that go-jose would not write.
func unsigned(tb testing.TB, head, claims map[string]any, signature []byte) string {
	tb.Helper()
	part := func(v any) string {
		raw, err := json.Marshal(v)
		require.NoError(tb, err)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	return part(head) + "." + part(claims) + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// confused makes a JWT whose HMAC has the public key of the provider as its password.
func (p *provider) confused(claims map[string]any) string {
	raw, err := p.public()[0].MarshalJSON()
	require.NoError(p.t, err)
	return signWith(p.t, jose.HS256, jose.JSONWebKey{Key: raw, KeyID: "first"}, claims)
}

func (p *provider) options(clock *fakeClock) *auth.OIDCOptions {
	return &auth.OIDCOptions{
		Issuer: p.issuer(), Audience: "gybe", ClientID: clientID, ClientSecret: clientSecret, Introspect: true,
		ClockSkew: 30 * time.Second,
		Claims: auth.ClaimOptions{
			Subject: "preferred_username", Project: "project", Role: "realm_access.roles",
			Roles: auth.RoleMap{"nfv-operator": lcm.RoleOperator, "nfv-admin": lcm.RoleAdmin},
		},
		Remote: auth.RemoteOptions{Clock: clock.Now, Timeout: time.Minute, Failures: 50},
	}
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return k
}
