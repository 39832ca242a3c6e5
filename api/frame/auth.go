package frame

import (
	"net/http"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Principal is who a request comes from.
type Principal = lcm.Principal

// Authenticator finds out who sends a request, or refuses it with CodeUnauthorized or CodeForbidden.
type Authenticator interface {
	Authenticate(r *http.Request) (Principal, error)
}

// NoAuth accepts every request, for an installation behind an authenticating proxy.
type NoAuth struct{}

// Authenticate implements Authenticator.
func (NoAuth) Authenticate(*http.Request) (Principal, error) { return Principal{}, nil }
