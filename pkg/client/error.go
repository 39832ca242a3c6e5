package client

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Error is a response that is not a success.
type Error struct {
	Method  string
	Path    string
	Problem sol.ProblemDetails
	// Challenges are the values of WWW-Authenticate of a response 401.
	Challenges []string
	// Foreign says that the body is not the JSON of a Gybe server: a proxy or another server has answered.
	Foreign bool
}

// Error returns the server's text, with all invalid parameters and the hint.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", e.Problem.Status, cmp.Or(e.Problem.Title, http.StatusText(e.Problem.Status)))
	switch {
	case len(e.Problem.InvalidParams) > 0:
		for _, p := range e.Problem.InvalidParams {
			fmt.Fprintf(&b, "\n  %s: %s", cmp.Or(p.Pointer, "the body"), p.Detail)
		}
	case e.Problem.Detail != "" && e.Problem.Detail != e.Problem.Title:
		b.WriteString(": " + e.Problem.Detail)
	}
	if e.Problem.Hint != "" {
		b.WriteString("\n  hint: " + e.Problem.Hint)
	}
	return b.String()
}

// Status is the HTTP status of the answer.
func (e *Error) Status() int { return e.Problem.Status }

// Unreachable says that no server answered.
type Unreachable struct {
	Endpoint string
	Err      error
}

// Error implements error.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("no Gybe server can be reached at %s: %v", e.Endpoint, e.Err)
}

// Unwrap gives the cause.
func (e *Unreachable) Unwrap() error { return e.Err }
