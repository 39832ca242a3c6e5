package auth

import (
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// reason is why a request was not authenticated: a label of the metric, so there are few.
type reason string

const (
	reasonMissing     reason = "missing"     // no credentials
	reasonMalformed   reason = "malformed"   // they cannot be read
	reasonUnsupported reason = "unsupported" // no configured mode accepts this form
	reasonInvalid     reason = "invalid"     // unknown, wrong signature, issuer or audience
	reasonExpired     reason = "expired"
	reasonRevoked     reason = "revoked"
	reasonNoProject   reason = "no_project"  // valid, but not for a project
	reasonUnavailable reason = "unavailable" // Keystone or the provider does not answer
	reasonLimited     reason = "limited"     // too many checks, or too many failures from one address
)

// rejection is the error of a request that is not authenticated.
type rejection struct {
	problem    *lcm.Error // for the client
	mode       string
	reason     reason
	challenges []string
}

// Error implements error.
func (r *rejection) Error() string { return r.problem.Error() }

// Unwrap gives the error for the client.
func (r *rejection) Unwrap() error { return r.problem }

// Challenges are the values of WWW-Authenticate for this error.
func (r *rejection) Challenges() []string { return r.challenges }

func reject(why reason, code lcm.Code, format string, args ...any) *rejection {
	return &rejection{problem: lcm.Errorf(code, format, args...), reason: why}
}

// hint returns a copy that tells the client what to do.
func (r *rejection) hint(text string) *rejection {
	out := *r
	out.problem = r.problem.WithHint(text)
	return &out
}

// retryAfter is what clients are asked to wait when a check is not possible now.
const retryAfter = 5 * time.Second

// later returns a copy that tells the client when to try again.
func (r *rejection) later() *rejection {
	out, e := *r, *r.problem
	e.RetryAfter = retryAfter
	out.problem = &e
	return &out
}
