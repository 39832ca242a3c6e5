package auth_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestOIDCTokenHasTheClaimsOfTheSettings(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	token := p.sign(p.claims(nil))
	for range 10 {
		require.Equal(t, lcm.Principal{
			Subject: "alice", Project: "p1", Role: lcm.RoleOperator, Mode: auth.ModeOIDC,
		}, w.accepted(t, bearer(t, token)))
	}
	require.EqualValues(t, 1, p.reads.Load())

	for name, tt := range map[string]struct {
		claims map[string]any
		want   lcm.Principal
	}{
		"no name": {map[string]any{"preferred_username": nil}, lcm.Principal{Subject: "4711", Project: "p1"}},
		"name with a line break": {
			map[string]any{"preferred_username": "a\nb"}, lcm.Principal{Subject: "4711", Project: "p1"},
		},
		"no role":      {map[string]any{"realm_access": nil}, lcm.Principal{Subject: "alice", Project: "p1"}},
		"odd role":     {map[string]any{"realm_access": []int{1}}, lcm.Principal{Subject: "alice", Project: "p1"}},
		"project list": {map[string]any{"project": []string{"p2"}}, lcm.Principal{Subject: "alice", Project: "p2"}},
		"roles as text": {
			map[string]any{"realm_access": map[string]any{"roles": "x nfv-operator nfv-admin"}},
			lcm.Principal{Subject: "alice", Project: "p1", Role: lcm.RoleAdmin},
		},
		"claim with dots in its name": {
			map[string]any{"realm_access": nil, "realm_access.roles": []string{"nfv-admin"}},
			lcm.Principal{Subject: "alice", Project: "p1", Role: lcm.RoleAdmin},
		},
	} {
		got := w.accepted(t, bearer(t, p.sign(p.claims(tt.claims))))
		tt.want.Mode = auth.ModeOIDC
		if tt.want.Role == "" && name != "no role" && name != "odd role" {
			tt.want.Role = lcm.RoleOperator
		}
		require.Equal(t, tt.want, got, name)
	}
}

func TestOIDCTokenWithoutOneProjectIsForbidden(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	for _, project := range []any{nil, []string{"a", "b"}, "a b", "../x", 7} {
		w.rejected(t, lcm.CodeForbidden, bearer(t, p.sign(p.claims(map[string]any{"project": project}))))
	}
	opts := p.options(clock)
	opts.Claims.DefaultProject = "shared"
	w = newWorld(t, auth.Options{OIDC: opts})
	require.Equal(t, "shared", w.accepted(t, bearer(t, p.sign(p.claims(map[string]any{"project": nil})))).Project)
}

func TestOIDCTokenThatIsNotValidIsRejected(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	good := p.claims(nil)
	valid := p.sign(good)
	w.accepted(t, bearer(t, valid))
	claims := func(name string, v any) map[string]any { return p.claims(map[string]any{name: v}) }
	foreign := jose.JSONWebKey{Key: rsaKey(t), KeyID: "first"}
	parts := strings.Split(valid, ".")
	other := strings.Split(p.sign(claims("sub", "admin")), ".")
	for name, tt := range map[string]struct {
		token string
		label string
	}{
		"expired":        {p.sign(claims("exp", time.Now().Add(-time.Minute).Unix())), "oidc/expired"},
		"no expiry":      {p.sign(claims("exp", nil)), "oidc/expired"},
		"not valid yet":  {p.sign(claims("nbf", time.Now().Add(10*time.Minute).Unix())), "oidc/invalid"},
		"other issuer":   {p.sign(claims("iss", "https://evil.example.com")), "oidc/invalid"},
		"no issuer":      {p.sign(claims("iss", nil)), "oidc/invalid"},
		"other audience": {p.sign(claims("aud", "other")), "oidc/invalid"},
		"no audience":    {p.sign(claims("aud", nil)), "oidc/invalid"},
		"no subject": {
			p.sign(p.claims(map[string]any{"sub": nil, "preferred_username": nil})), "oidc/invalid",
		},
		"foreign key":               {signWith(t, jose.RS256, foreign, good), "oidc/invalid"},
		"foreign payload":           {parts[0] + "." + other[1] + "." + parts[2], "oidc/invalid"},
		"alg none":                  {unsigned(t, map[string]any{"alg": "none"}, good, nil), "oidc/invalid"},
		"alg NONE":                  {unsigned(t, map[string]any{"alg": "NoNe"}, good, []byte("x")), "oidc/invalid"},
		"HS256 with the public key": {p.confused(good), "oidc/invalid"},
		"key in the header": {
			unsigned(t, map[string]any{"alg": "RS256", "jwk": map[string]any{"kty": "oct", "k": "AAAA"}}, good,
				[]byte("x")), "oidc/invalid",
		},
		"no signature":    {parts[0] + "." + parts[1] + ".", "oidc/invalid"},
		"payload is null": {unsigned(t, map[string]any{"alg": "ES256"}, nil, []byte("x")), "oidc/invalid"},
		"not base64":      {"eyJ!!!.a.b", "oidc/invalid"},
	} {
		before := w.failed(tt.label)
		_, err := w.Authenticate(bearer(t, tt.token))
		require.Equal(t, lcm.CodeUnauthorized, lcm.AsError(err).Code, name)
		require.Equal(t, before+1, w.failed(tt.label), name)
		require.Equal(t, []string{`Bearer realm="gybe", error="invalid_token"`}, challenges(t, err), name)
	}
	require.NotContains(t, w.logged(), parts[2])
	require.EqualValues(t, 1, p.reads.Load(), "no invalid token makes the provider work")
	w.accepted(t, bearer(t, valid))
}

func TestOIDCClockSkewAndExpiryOfACachedToken(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	token := p.sign(p.claims(map[string]any{"exp": time.Now().Add(time.Minute).Unix()}))
	w.accepted(t, bearer(t, token))
	clock.add(80 * time.Second) // 30 s are allowed
	w.accepted(t, bearer(t, token))
	clock.add(15 * time.Second)
	require.Contains(t, w.rejected(t, lcm.CodeUnauthorized, bearer(t, token)).Detail, "expired")
}

func TestOIDCKeyRotation(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	old := p.sign(p.claims(nil))
	w.accepted(t, bearer(t, old))
	clock.add(time.Minute)
	p.rotate("second")
	fresh := p.sign(p.claims(nil))
	w.accepted(t, bearer(t, fresh)) // its key was not known
	require.EqualValues(t, 2, p.reads.Load())
	w.accepted(t, bearer(t, old))

	// A key that the provider removes is not accepted when the keys have been read again, also for cached tokens.
	p.forget()
	w.accepted(t, bearer(t, old))
	clock.add(5 * time.Minute)
	require.Eventually(t, func() bool {
		_, err := w.Authenticate(bearer(t, old))
		return err != nil
	}, time.Minute, time.Millisecond)
	w.accepted(t, bearer(t, fresh))
	require.EqualValues(t, 3, p.reads.Load())
}

// TestChecksDuringAKeyRotation: a check that began with the keys of before does not bring a removed key back.
func TestChecksDuringAKeyRotation(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	w.accepted(t, bearer(t, p.sign(p.claims(nil))))
	for round := range 10 {
		tokens := make([]string, 400)
		for i := range tokens {
			tokens[i] = p.sign(p.claims(map[string]any{"exp": clock.Now().Add(time.Hour).Unix(), "jti": i}))
		}
		p.rotate(fmt.Sprint("key-", round))
		p.forget()
		clock.add(5 * time.Minute)
		var all sync.WaitGroup
		for part := range slices.Chunk(tokens, 20) {
			all.Go(func() {
				for _, token := range part {
					_, _ = w.Authenticate(bearer(t, token)) // with the keys of before, or with the new ones
				}
			})
		}
		all.Wait()
		require.Eventually(t, func() bool {
			_, err := w.Authenticate(bearer(t, p.sign(p.claims(nil))))
			return err == nil
		}, time.Minute, time.Millisecond)
		for i, token := range tokens {
			_, err := w.Authenticate(bearer(t, token))
			require.Error(t, err, "round %d, token %d", round, i)
		}
	}
}

func TestFloodOfUnknownKeysReadsTheProviderOnce(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	w.accepted(t, bearer(t, p.sign(p.claims(nil))))
	clock.add(time.Minute)
	key := rsaKey(t)
	var all sync.WaitGroup
	for client := range 8 {
		all.Go(func() {
			for i := range 20 {
				k := jose.JSONWebKey{Key: key, KeyID: fmt.Sprintf("invented-%d-%d", client, i)}
				_, err := w.Authenticate(bearer(t, signWith(t, jose.RS256, k, p.claims(nil))))
				if lcm.AsError(err).Code != lcm.CodeUnauthorized {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 2, p.reads.Load())
}

func TestOIDCProviderUnreachable(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	p.down.Store(true)
	w := newWorld(t, auth.Options{OIDC: p.options(clock)}) // a node starts without its provider
	token := p.sign(p.claims(nil))
	require.Equal(t, 5*time.Second, w.rejected(t, lcm.CodeUnavailable, bearer(t, token)).RetryAfter)
	p.down.Store(false)
	clock.add(time.Second)
	w.accepted(t, bearer(t, token))

	// Tokens with known keys are accepted during an outage, those with an unknown key are not judged.
	p.down.Store(true)
	clock.add(6 * time.Minute)
	w.accepted(t, bearer(t, token))
	w.accepted(t, bearer(t, p.sign(p.claims(map[string]any{"sub": "other"}))))
	clock.add(time.Minute)
	p.rotate("second")
	w.rejected(t, lcm.CodeUnavailable, bearer(t, p.sign(p.claims(nil))))
	require.Contains(t, w.logged(), "the OpenID provider cannot be read")
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	claims := p.claims(map[string]any{"active": true})
	p.opaque = map[string]map[string]any{
		"good": claims, "other": p.claims(map[string]any{"active": true, "aud": "other"}),
		"nowhere": p.claims(map[string]any{"active": true, "aud": nil}),
		"foreign": p.claims(map[string]any{"active": true, "iss": "https://evil.example.com"}),
		"expired": p.claims(map[string]any{"active": true, "exp": 1}), "odd": p.claims(nil),
		"inactive": p.claims(map[string]any{"active": false}),
	}
	for range 5 {
		require.Equal(t, "alice", w.accepted(t, bearer(t, "good")).Subject)
	}
	require.EqualValues(t, 1, p.introspected.Load())
	for _, s := range []string{"other", "nowhere", "foreign", "expired", "inactive", "unknown"} {
		w.rejected(t, lcm.CodeUnauthorized, bearer(t, s))
	}
	w.rejected(t, lcm.CodeUnavailable, bearer(t, "odd"))

	// Revoked: until the cached answer ends.
	clock.add(3 * time.Second)
	delete(claims, "active")
	claims["active"] = false
	w.accepted(t, bearer(t, "good"))
	clock.add(5 * time.Minute)
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, "good"))
	p.down.Store(true)
	w.rejected(t, lcm.CodeUnavailable, bearer(t, "new"))
	require.NotContains(t, w.logged(), clientSecret)

	opts := p.options(clock)
	opts.Introspect = false
	w = newWorld(t, auth.Options{OIDC: opts})
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, "good"))
	require.Equal(t, 1, w.failed("any/unsupported"))
}

func TestOIDCOptionsThatAreUnsafe(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"HS256", "none", "RS1"} {
		_, err := auth.New(auth.Options{OIDC: &auth.OIDCOptions{
			Issuer: "https://i", Audience: "gybe", Algorithms: []string{alg},
		}})
		require.ErrorContains(t, err, "the algorithm")
	}
	_, err := auth.New(auth.Options{OIDC: &auth.OIDCOptions{Issuer: "https://i"}})
	require.ErrorContains(t, err, "audience")
}

func TestOIDCAlgorithmThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	opts := p.options(clock)
	opts.Algorithms = []string{"RS256"}
	w := newWorld(t, auth.Options{OIDC: opts})
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, p.sign(p.claims(nil)))) // ES256
}

func TestCodeFlow(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	const redirect = "https://gybe.example.com/ui/login/callback"
	// begin plays the browser and the user at the provider; it returns the code.
	begin := func(access map[string]any) (auth.CodeFlow, string) {
		f, err := w.StartCodeFlow(t.Context(), redirect)
		require.NoError(t, err)
		at, err := url.Parse(f.URL)
		require.NoError(t, err)
		q := at.Query()
		require.Equal(t, []string{clientID, "code", redirect, "S256", f.State}, []string{
			q.Get("client_id"), q.Get("response_type"), q.Get("redirect_uri"), q.Get("code_challenge_method"),
			q.Get("state"),
		})
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", f, f, f), f.Verifier)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.codes["code"] = code{q.Get("code_challenge"), q.Get("nonce"), access}
		return f, "code"
	}
	finish := func(f auth.CodeFlow, state, code string) (auth.Credential, error) {
		return w.FinishCodeFlow(t.Context(), f, redirect, state, code, "192.0.2.1:1")
	}
	f, c := begin(nil)
	credential, err := finish(f, f.State, c)
	require.NoError(t, err)
	who, err := w.AuthenticateCredential(t.Context(), credential, "192.0.2.1:1")
	require.NoError(t, err)
	require.Equal(t, "alice", who.Subject)

	for name, change := range map[string]func(f *auth.CodeFlow, state, code *string){
		"state of another browser": func(_ *auth.CodeFlow, state, _ *string) { *state = "x" },
		"no state":                 func(f *auth.CodeFlow, state, _ *string) { f.State, *state = "", "" },
		"no code":                  func(_ *auth.CodeFlow, _, code *string) { *code = "" },
		"code of another login":    func(_ *auth.CodeFlow, _, code *string) { *code = "x" },
		"verifier":                 func(f *auth.CodeFlow, _, _ *string) { f.Verifier = "x" },
		"nonce":                    func(f *auth.CodeFlow, _, _ *string) { f.Nonce = "x" },
	} {
		f, c := begin(nil)
		state := f.State
		change(&f, &state, &c)
		_, err := finish(f, state, c)
		require.Equal(t, lcm.CodeUnauthorized, lcm.AsError(err).Code, name)
	}
	f, c = begin(map[string]any{"aud": "other"}) // neither the access token nor the ID token is for Gybe
	_, err = finish(f, f.State, c)
	require.Equal(t, lcm.CodeUnauthorized, lcm.AsError(err).Code)
	f, c = begin(nil)
	p.down.Store(true)
	_, err = finish(f, f.State, c)
	require.Equal(t, lcm.CodeUnavailable, lcm.AsError(err).Code)
}

func TestRevokeEndsATokenOfTheProvider(t *testing.T) {
	t.Parallel()
	p, clock := newProvider(t), newClock()
	w := newWorld(t, auth.Options{OIDC: p.options(clock)})
	p.opaque["opaque"] = p.claims(map[string]any{"active": true})
	w.accepted(t, bearer(t, "opaque"))
	w.Revoke(t.Context(), auth.Credential{Kind: auth.KindBearer, Secret: "opaque"})
	require.Equal(t, []string{"opaque"}, p.revoked)
	w.rejected(t, lcm.CodeUnauthorized, bearer(t, "opaque"))
	const redirect = "https://gybe.example.com/ui/login"
	require.Equal(t, p.URL+"/logout?"+url.Values{
		"client_id": {clientID}, "post_logout_redirect_uri": {redirect}, "theme": {"dark"},
	}.Encode(), w.EndSession(t.Context(), redirect))
	p.down.Store(true)
	w.Revoke(t.Context(), auth.Credential{Kind: auth.KindBearer, Secret: "opaque"})
	require.Contains(t, w.logged(), "not revoked")

	plain := newProvider(t)
	plain.plain = true
	w = newWorld(t, auth.Options{OIDC: plain.options(clock)})
	w.Revoke(t.Context(), auth.Credential{Kind: auth.KindBearer, Secret: "opaque"})
	require.Empty(t, plain.revoked)
	require.Empty(t, w.EndSession(t.Context(), redirect))
	require.NotContains(t, w.logged(), "not revoked")
}
