package auth

import (
	"crypto/x509"
	"net/http"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Kind is the form of a Credential.
type Kind string

// The kinds of credentials.
const (
	KindNone        Kind = ""            // the request has no credentials
	KindToken       Kind = "token"       // X-Auth-Token
	KindBearer      Kind = "bearer"      // Authorization: Bearer
	KindCertificate Kind = "certificate" // TLS client certificate
)

// headerToken is the header of Keystone tokens.
const headerToken = "X-Auth-Token"

// maxCredential bounds a token in bytes. Tokens of Keystone have 200 to 2,000; a JWT with many groups can have more.
const maxCredential = 16 << 10

// Credential is what a client presents. It can be kept in a session (sealed) as JSON, except for a certificate, which
// belongs to a connection.
type Credential struct {
	Kind Kind `json:"kind"`
	// Secret is the token; empty for a certificate.
	Secret string `json:"secret,omitempty"`
	// chain of the connection, the client's certificate first.
	chain []*x509.Certificate
}

// String hides the secret in logs and errors.
func (c Credential) String() string { return "credential of the kind " + string(c.Kind) }

// GoString hides the secret from %#v.
func (c Credential) GoString() string { return c.String() }

// FromRequest reads the credentials of a request. A header takes precedence over the certificate of the connection,
// because the client sets it for this request. Two headers, or one that is sent twice, are CodeInvalid (RFC 6750 clause
// 3.1): a proxy in front could have checked the other one.
func FromRequest(r *http.Request) (Credential, error) {
	tokens, authorization := r.Header[headerToken], r.Header["Authorization"]
	switch n := len(tokens) + len(authorization); {
	case n > 1:
		return Credential{}, reject(reasonMalformed, lcm.CodeInvalid,
			"the request has %d X-Auth-Token and Authorization headers; only one is allowed", n)
	case len(tokens) == 1:
		return tokenFrom(KindToken, tokens[0])
	case len(authorization) == 1:
		scheme, value, _ := strings.Cut(authorization[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return Credential{}, reject(reasonUnsupported, lcm.CodeUnauthorized,
				"the authentication scheme %.20q is not supported; use Bearer", scheme)
		}
		return tokenFrom(KindBearer, strings.TrimLeft(value, " "))
	case r.TLS != nil && len(r.TLS.PeerCertificates) > 0:
		return Credential{Kind: KindCertificate, chain: r.TLS.PeerCertificates}, nil
	}
	return Credential{}, nil
}

// tokenFrom checks the characters of a token: a broken one never reaches Keystone or an OpenID provider.
func tokenFrom(kind Kind, s string) (Credential, error) {
	if s == "" || len(s) > maxCredential {
		return Credential{}, reject(reasonMalformed, lcm.CodeInvalid,
			"the token is empty or longer than %d bytes", maxCredential)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return Credential{}, reject(reasonMalformed, lcm.CodeInvalid,
				"the token has characters that tokens cannot have")
		}
	}
	return Credential{Kind: kind, Secret: s}, nil
}

// isJWT says whether a token has the form of a signed JWT: three parts, the first one a JSON object in base64.
func isJWT(s string) bool { return strings.HasPrefix(s, "ey") && strings.Count(s, ".") == 2 }
