package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Options configure an Authenticator. The modes are those that are set; without any, and without None, every request
// is rejected.
type Options struct {
	Log *slog.Logger
	// Observe counts failed authentications by mode and reason; may be nil.
	Observe func(mode, reason string)
	// None accepts every request as an administrator of the default project. It excludes all modes.
	None bool
	// Tokens enables static tokens.
	Tokens *TokenOptions
	// Keystone enables tokens of Keystone.
	Keystone *KeystoneOptions
	// OIDC enables bearer tokens of an OpenID provider.
	OIDC *OIDCOptions
	// Certificates enables TLS client certificates.
	Certificates *CertificateOptions
}

// Authenticator authenticates requests and the sessions of the console.
type Authenticator struct {
	opts  Options
	modes []mode
}

// mode checks credentials of one form.
type mode interface {
	// name is the Mode of its principals.
	name() string
	// accepts says whether the credential has the form that this mode checks.
	accepts(c Credential) bool
	// check returns the principal, or a *rejection. remote is the address of the client.
	check(ctx context.Context, c Credential, remote string) (lcm.Principal, error)
	// challenge is a value of WWW-Authenticate without parameters of an error; empty if there is none.
	challenge() string
}

// New returns an Authenticator. It reads files, but does not connect to anything: a node starts while Keystone or the
// OpenID provider is unreachable.
func New(opts Options) (*Authenticator, error) {
	if opts.Observe == nil {
		opts.Observe = func(string, string) {}
	}
	a := &Authenticator{opts: opts}
	var bad []error
	if opts.Tokens != nil {
		m, err := newStatic(*opts.Tokens, opts.Log)
		bad = append(bad, err)
		a.modes = append(a.modes, m)
	}
	if opts.Keystone != nil {
		m, err := newKeystone(*opts.Keystone, opts.Log)
		bad = append(bad, err)
		a.modes = append(a.modes, m)
	}
	if opts.OIDC != nil {
		m, err := newOpenID(*opts.OIDC, opts.Log)
		bad = append(bad, err)
		a.modes = append(a.modes, m)
	}
	if opts.Certificates != nil {
		m, err := newCertificates(*opts.Certificates, opts.Log)
		bad = append(bad, err)
		a.modes = append(a.modes, m)
	}
	if opts.None && len(a.modes) > 0 {
		bad = append(bad, errors.New("no authentication and a mode of authentication exclude each other"))
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	return a, nil
}

// Authenticate implements the Authenticator of the API's frame.
func (a *Authenticator) Authenticate(r *http.Request) (lcm.Principal, error) {
	if a.opts.None {
		return lcm.Principal{Project: lcm.DefaultProject, Role: lcm.RoleAdmin}, nil
	}
	c, err := FromRequest(r)
	if err != nil {
		return lcm.Principal{}, a.report(r.Context(), err, c, r.RemoteAddr)
	}
	return a.AuthenticateCredential(r.Context(), c, r.RemoteAddr)
}

// AuthenticateCredential authenticates what a session holds, in the same way as the header of a request. remote is the
// address of the client.
func (a *Authenticator) AuthenticateCredential(
	ctx context.Context, c Credential, remote string,
) (lcm.Principal, error) {
	if a.opts.None {
		return lcm.Principal{Project: lcm.DefaultProject, Role: lcm.RoleAdmin}, nil
	}
	p, err := a.check(ctx, c, remote)
	if err != nil {
		return lcm.Principal{}, a.report(ctx, err, c, remote)
	}
	return p, nil
}

func (a *Authenticator) check(ctx context.Context, c Credential, remote string) (lcm.Principal, error) {
	for _, m := range a.modes {
		if !m.accepts(c) {
			continue
		}
		p, err := m.check(ctx, c, remote)
		if err != nil {
			return lcm.Principal{}, inMode(err, m)
		}
		p.Mode = m.name()
		return p, nil
	}
	if c.Kind == KindNone {
		return lcm.Principal{}, reject(reasonMissing, lcm.CodeUnauthorized, "the request has no credentials").
			hint("this server accepts " + a.accepted())
	}
	return lcm.Principal{}, reject(reasonUnsupported, lcm.CodeUnauthorized,
		"the form of the credentials is not accepted by this server").hint("it accepts " + a.accepted())
}

// inMode names the mode of a rejection. The rejection may be cached, so a copy is returned.
func inMode(err error, m mode) error {
	r, ok := errors.AsType[*rejection](err)
	if !ok {
		return err
	}
	out := *r
	out.mode = m.name()
	return &out
}

// accepted lists the modes for a hint.
func (a *Authenticator) accepted() string {
	var names []string
	for _, m := range a.modes {
		names = append(names, acceptedForms[m.name()])
	}
	return strings.Join(names, ", or ")
}

// report counts and logs a failure, and adds the challenges to it.
func (a *Authenticator) report(ctx context.Context, err error, c Credential, remote string) error {
	r, ok := errors.AsType[*rejection](err)
	if !ok { // a cancelled request
		return err
	}
	out := *r
	out.challenges = a.challengesFor(&out, c)
	by := out.mode
	if by == "" {
		by = "any"
	}
	a.opts.Observe(by, string(out.reason))
	if out.reason != reasonMissing { // a probe without credentials is in the log of requests
		a.opts.Log.InfoContext(ctx, "authentication failed", "mode", by, "reason", string(out.reason),
			"remote", remote, "error", out.problem.Detail)
	}
	return &out
}

// Challenges implements the Authenticator of the API's frame.
func (a *Authenticator) Challenges() []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range a.modes {
		if c := m.challenge(); c != "" && !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	if out == nil {
		out = []string{bearerChallenge}
	}
	return out
}

// bearerChallenge is RFC 6750 clause 3.
const bearerChallenge = `Bearer realm="gybe"`

// challengesFor adds the error to the challenge of the scheme that the client used (RFC 6750 clause 3.1).
func (a *Authenticator) challengesFor(r *rejection, c Credential) []string {
	out := a.Challenges()
	code := "invalid_token"
	if r.problem.Code == lcm.CodeInvalid {
		code = "invalid_request"
	} else if c.Kind != KindBearer {
		return out
	}
	for i, s := range out {
		if strings.HasPrefix(s, "Bearer") {
			out[i] = s + `, error="` + code + `"`
		}
	}
	return out
}

// Names of the modes, in principals, logs and metrics.
const (
	ModeToken       = "token"
	ModeKeystone    = "keystone"
	ModeOIDC        = "oidc"
	ModeCertificate = "certificate"
)

// acceptedForms describes the credentials of each mode for a client.
var acceptedForms = map[string]string{
	ModeToken:       "a token of gybe (Authorization: Bearer, or X-Auth-Token)",
	ModeKeystone:    "a token of Keystone (X-Auth-Token)",
	ModeOIDC:        "a token of the OpenID provider (Authorization: Bearer)",
	ModeCertificate: "a TLS client certificate",
}

// clock is time.Now, or that of a test.
type clock func() time.Time
