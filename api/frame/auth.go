package frame

import "net/http"

// Principal is who a request comes from.
type Principal struct {
	// Subject names the user or client; empty when nobody had to say.
	Subject string
	// Project is what its resources belong to; empty means the one project of an installation without any.
	Project string
}

// Authenticator finds out who sends a request, or refuses it with CodeUnauthorized or CodeForbidden.
type Authenticator interface {
	Authenticate(r *http.Request) (Principal, error)
}

// NoAuth lets everybody in, as an installation behind an authenticating proxy wants it.
type NoAuth struct{}

// Authenticate implements Authenticator.
func (NoAuth) Authenticate(*http.Request) (Principal, error) { return Principal{}, nil }
