package frame

import (
	"errors"
	"net/http"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Principal is who a request comes from.
type Principal = lcm.Principal

// Authenticator finds out who sends a request. It is called before anything else of the request is looked at.
type Authenticator interface {
	// Authenticate returns the principal, or CodeUnauthorized when the request has no valid credentials, CodeInvalid
	// when it has too many, CodeForbidden when they are not for a project, and CodeUnavailable when they cannot be
	// checked now.
	Authenticate(r *http.Request) (Principal, error)
	// Challenges are the values of WWW-Authenticate in the response 401 (RFC 9110 clause 11.6.1), at least one.
	Challenges() []string
}

// challenger is an error of an Authenticator that has the challenges of this request, for example with the parameter
// error of RFC 6750 clause 3.
type challenger interface {
	error
	Challenges() []string
}

// NoAuth accepts every request, for a node that only its own machine reaches, or one behind an authenticating proxy.
type NoAuth struct{}

// Authenticate implements Authenticator.
func (NoAuth) Authenticate(*http.Request) (Principal, error) {
	return Principal{Role: lcm.RoleAdmin}, nil
}

// Challenges implements Authenticator.
func (NoAuth) Challenges() []string { return []string{"Bearer"} }

// authorise authenticates the sender of a request and checks its role.
func (e *endpoint) authorise(r *Request) error {
	if e.Public {
		return nil
	}
	p, err := e.auth.Authenticate(r.Request)
	if err != nil {
		r.challenges = e.auth.Challenges()
		if own, ok := errors.AsType[challenger](err); ok {
			r.challenges = own.Challenges()
		}
		return err
	}
	r.Principal = p
	if err := e.frame.rates.take(r.Request, p, r.began); err != nil {
		return err
	}
	if !p.Role.Includes(e.Role) {
		e.auditRefusal(r)
		return lcm.Errorf(lcm.CodeForbidden, "%s %s requires the role %s", r.Method, e.route, e.Role).WithHint(
			"you have " + roleName(p.Role) + " in the project " + projectName(p),
		)
	}
	return nil
}

func roleName(r lcm.Role) string {
	if r == "" {
		return "no role"
	}
	return "the role " + string(r)
}

func projectName(p Principal) string {
	if p.Project == "" {
		return lcm.DefaultProject
	}
	return p.Project
}

// defaultRole is the role that a route requires when it names none.
func defaultRole(method string) lcm.Role {
	if method == http.MethodGet {
		return lcm.RoleReader
	}
	return lcm.RoleOperator
}

// Access says who may use a route.
type Access struct {
	Method, Route string
	Public        bool     // without authentication
	Role          lcm.Role // required; empty for a public route
	Secret        bool     // the response holds a secret
	Login         bool     // for logins and logouts
	// Condition is the route whose representation If-Match and If-None-Match of a request that modifies are about; ""
	// for none.
	Condition string
}

// Table lists the routes of all mounted APIs in the order in which they were mounted.
func (f *Frame) Table() []Access { return f.table }
