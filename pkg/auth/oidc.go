package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Algorithms are the signatures of JWTs that a configuration may allow: asymmetric ones only. With HS256, the public
// key of the provider would be a password that signs tokens.
var Algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512,
	oidc.EdDSA,
}

// OIDCOptions configure the mode OpenID.
type OIDCOptions struct {
	// Issuer is the URL of the provider, as it is in the claim iss.
	Issuer string
	// CAFile has authorities that are trusted beside the system's.
	CAFile string
	// Audience has to be in the claim aud.
	Audience string
	// Algorithms are those that are accepted; none means all of Algorithms.
	Algorithms []string
	// ClockSkew is how long a token is accepted after its expiry.
	ClockSkew time.Duration
	// Claims say what is read from a token.
	Claims ClaimOptions
	// ClientID and ClientSecret are those of Gybe at the provider, for introspection and the login at the console.
	ClientID, ClientSecret string
	// Scopes of the login at the console, beside openid.
	Scopes []string
	// Introspect asks the provider about tokens that are not JWTs.
	Introspect bool
	// Remote limits introspection, and has the clock and the cache time for both kinds of tokens.
	Remote RemoteOptions
}

// openID checks bearer tokens: JWTs with the keys of the provider, other tokens by introspection.
type openID struct {
	opts   OIDCOptions
	claims claimReader
	issuer *issuer
	client *http.Client
	remote *remote
	log    *slog.Logger
}

func newOpenID(o OIDCOptions, log *slog.Logger) (*openID, error) {
	o.Remote.defaults()
	if len(o.Algorithms) == 0 {
		o.Algorithms = Algorithms
	}
	for _, a := range o.Algorithms {
		if !slices.Contains(Algorithms, a) {
			return nil, fmt.Errorf("oidc: the algorithm %q is not one of %s", a, strings.Join(Algorithms, ", "))
		}
	}
	if o.Issuer == "" || o.Audience == "" {
		return nil, errors.New("oidc: issuer and audience are required")
	}
	trust, err := trustFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	v := &openID{
		opts: o, claims: claimReader{o.Claims}, client: newHTTPClient(trust, o.Remote.Checks), log: log,
	}
	v.client.Timeout = o.Remote.Timeout
	v.issuer = &issuer{
		url: o.Issuer, client: v.client, clock: o.Remote.Clock, timeout: o.Remote.Timeout, log: log,
		lock: make(chan struct{}, 1),
	}
	v.remote = newRemote("the OpenID provider", o.Remote, log, v.introspect)
	return v, nil
}

func (v *openID) name() string { return ModeOIDC }

func (v *openID) challenge() string { return bearerChallenge }

func (v *openID) accepts(c Credential) bool {
	return c.Kind == KindBearer && !strings.HasPrefix(c.Secret, TokenPrefix) && (isJWT(c.Secret) || v.opts.Introspect)
}

func (v *openID) check(ctx context.Context, c Credential, from string) (lcm.Principal, error) {
	if !isJWT(c.Secret) {
		return v.remote.check(ctx, c.Secret, from)
	}
	key, now := digestOf(c.Secret), v.opts.Remote.Clock()
	m, err := v.issuer.get(ctx) // also keeps the keys up to date
	if err != nil {
		return lcm.Principal{}, v.unavailable(err)
	}
	if e, _, ok := m.verified.get(key, now); ok {
		return e.principal, nil
	}
	res, err := v.verify(ctx, c.Secret, v.opts.Audience)
	if err != nil {
		return lcm.Principal{}, err
	}
	until := now.Add(v.opts.Remote.Keep)
	if end := res.expires.Add(v.opts.ClockSkew); end.Before(until) {
		until = end
	}
	m.verified.put(entry{key: key, principal: res.principal, until: until})
	return res.principal, nil
}

// verify checks a JWT and reads its claims.
func (v *openID) verify(ctx context.Context, raw, audience string) (result, error) {
	t, err := v.idToken(ctx, raw, audience)
	if err != nil {
		return result{}, err
	}
	claims := map[string]any{}
	if err := t.Claims(&claims); err != nil {
		return result{}, reject(reasonInvalid, lcm.CodeUnauthorized, "the claims of the token cannot be read")
	}
	p, err := v.claims.principal(claims)
	return result{principal: p, expires: t.Expiry}, err
}

// idToken checks signature, issuer, audience and times of a JWT.
func (v *openID) idToken(ctx context.Context, raw, audience string) (*oidc.IDToken, error) {
	keys := &keySet{issuer: v.issuer, algorithms: v.opts.Algorithms}
	t, err := oidc.NewVerifier(v.opts.Issuer, keys, &oidc.Config{
		ClientID: audience, SupportedSigningAlgs: v.opts.Algorithms,
		Now: func() time.Time { return v.opts.Remote.Clock().Add(-v.opts.ClockSkew) },
	}).Verify(ctx, raw)
	if err == nil {
		return t, nil
	}
	if keys.err != nil {
		return nil, v.unavailable(keys.err)
	}
	if _, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return nil, reject(reasonExpired, lcm.CodeUnauthorized, "the token has expired")
	}
	no := reject(reasonInvalid, lcm.CodeUnauthorized, "the token is not valid: %s", cutPrefix(shorten(err)))
	return nil, no.hint("the issuer must be " + v.opts.Issuer + " and the audience " + audience)
}

// cutPrefix removes the name of the library from its text.
func cutPrefix(s string) string { return strings.TrimPrefix(s, "oidc: ") }

func (v *openID) unavailable(err error) *rejection {
	no := v.remote.unavailable()
	no.problem.Cause = err
	return no
}

// keySet verifies signatures with the keys of the issuer.
type keySet struct {
	issuer     *issuer
	algorithms []string
	err        error // set if the keys are not available: the verifier does not pass errors on
}

var errSignature = errors.New("the signature is not by a key of the issuer")

// VerifySignature implements oidc.KeySet.
func (s *keySet) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	allowed := make([]jose.SignatureAlgorithm, 0, len(s.algorithms))
	for _, a := range s.algorithms {
		allowed = append(allowed, jose.SignatureAlgorithm(a))
	}
	signed, err := jose.ParseSignedCompact(raw, allowed)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errors.Join(errSignature, err)
	}
	head := signed.Signatures[0].Header
	m, err := s.issuer.get(ctx)
	if m == nil {
		s.err = err
		return nil, err
	}
	keys := m.keysFor(head)
	if len(keys) == 0 {
		if m, s.err = s.issuer.getForKey(ctx); s.err != nil {
			return nil, s.err
		}
		keys = m.keysFor(head)
	}
	for i := range keys {
		if payload, err := signed.Verify(&keys[i]); err == nil {
			return payload, nil
		}
	}
	return nil, errSignature
}
