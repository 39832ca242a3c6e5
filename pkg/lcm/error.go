package lcm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code says which kind of answer an Error is to its user; every code maps to one HTTP status.
type Code string

// The codes of an Error.
const (
	CodeInvalid         Code = "invalid"          // malformed request
	CodeUnauthorized    Code = "unauthorized"     // no or bad credentials
	CodeForbidden       Code = "forbidden"        // credentials are good, the right is missing
	CodeNotFound        Code = "not_found"        // no such thing, or not visible to the caller
	CodeConflict        Code = "conflict"         // the state of the resource does not permit the request
	CodePrecondition    Code = "precondition"     // If-Match did not match
	CodeTooLarge        Code = "too_large"        // a limit on size or number
	CodeUnprocessable   Code = "unprocessable"    // well formed, but invalid, or not possible with the VNFD
	CodeUnavailable     Code = "unavailable"      // a system we need does not answer now
	CodeTimeout         Code = "timeout"          // a deadline passed
	CodeUpstream        Code = "upstream"         // the VIM, a node or a script refused or broke
	CodeInternal        Code = "internal"         // a fault of ours
	CodeNotAcceptable   Code = "not_acceptable"   // no representation the client accepts
	CodeUnsupportedType Code = "unsupported_type" // a media type we do not read
	CodeMethod          Code = "method"           // the resource exists, the method does not
	CodeRange           Code = "range"            // the requested byte range is not there
	CodeMisdirected     Code = "misdirected"      // the request names another server
	CodeTooMany         Code = "too_many"         // the client has sent too many requests in a short time
)

var statusOf = map[Code]int{
	CodeInvalid: http.StatusBadRequest, CodeUnauthorized: http.StatusUnauthorized, CodeForbidden: http.StatusForbidden,
	CodeNotFound: http.StatusNotFound, CodeConflict: http.StatusConflict,
	CodePrecondition: http.StatusPreconditionFailed, CodeTooLarge: http.StatusRequestEntityTooLarge,
	CodeUnprocessable: http.StatusUnprocessableEntity, CodeUnavailable: http.StatusServiceUnavailable,
	CodeTimeout: http.StatusGatewayTimeout, CodeUpstream: http.StatusBadGateway,
	CodeInternal: http.StatusInternalServerError, CodeNotAcceptable: http.StatusNotAcceptable,
	CodeUnsupportedType: http.StatusUnsupportedMediaType, CodeMethod: http.StatusMethodNotAllowed,
	CodeRange: http.StatusRequestedRangeNotSatisfiable, CodeMisdirected: http.StatusMisdirectedRequest,
	CodeTooMany: http.StatusTooManyRequests,
}

// Class says whether trying again can help; drivers set it where the error arises, because only they know.
type Class string

// The classes of an Error. The zero value is Permanent: nothing is retried by accident.
const (
	Permanent Class = ""          // the same call will fail again
	Transient Class = "transient" // the other side was away, busy or not ready; the phase is retried with backoff
	Quota     Class = "quota"     // the VIM has no room; an operator has to act
	Auth      Class = "auth"      // credentials were refused
)

// Error is the one error type of the product. Its Title, Detail and Hint are written for the user who
// sent the request or owns the operation, and MUST NOT carry secrets; Cause is for the log.
type Error struct {
	Code   Code
	Class  Class
	Title  string         // short and constant for a kind of failure, e.g. "Stack create failed"
	Detail string         // what failed, on which resource, with the VIM's, node's or script's own text
	Hint   string         // what to do next; may be empty
	Params []InvalidParam // the offending members of a request body, if that is what is wrong
	// RetryAfter is what the other side asked for (Retry-After); 0 when it asked for nothing.
	RetryAfter time.Duration
	// Backoff is the least time until the phase is called again, by a decision of this node. Unlike RetryAfter it has
	// no limit.
	Backoff time.Duration
	Cause   error
}

// InvalidParam points at one offending member of a request body.
type InvalidParam struct {
	Pointer string // RFC 6901 JSON pointer, "" for the whole body
	Detail  string
}

// Error joins title and detail; it is what an operation's error.detail shows when nothing better is known.
func (e *Error) Error() string {
	switch {
	case e.Detail == "":
		return e.Title
	case e.Title == "":
		return e.Detail
	}
	return e.Title + ": " + e.Detail
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// Status is the HTTP status of the error's code; an unknown code is 500.
func (e *Error) Status() int {
	if s, ok := statusOf[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Errorf builds an Error with a code and a formatted detail. A %w operand becomes the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Detail: err.Error(), Cause: errors.Unwrap(err)}
}

// WithHint returns a copy of e that tells the user what to do next.
func (e *Error) WithHint(hint string) *Error {
	c := *e
	c.Hint = hint
	return &c
}

// Changed is the answer to an If-Match that does not match.
func Changed(kind, id string) *Error {
	return &Error{
		Code: CodePrecondition, Title: "Resource has changed",
		Detail: fmt.Sprintf("%s %s has been changed since the version that If-Match names", kind, id),
		Hint:   "read it again and retry",
	}
}

// AsTransient returns a copy of e that the engine will retry.
func (e *Error) AsTransient() *Error {
	c := *e
	c.Class = Transient
	return &c
}

// AsError finds the *Error in err's chain. Anything else becomes CodeInternal with a detail that
// hides the cause from the user; nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeTimeout, Class: Transient, Detail: "a call did not finish in its time", Cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeUnavailable, Class: Transient, Detail: "the work was interrupted", Cause: err}
	}
	return &Error{
		Code: CodeInternal, Title: "Internal error", Detail: "internal error of gybe; the log has the cause",
		Cause: err,
	}
}

// ErrFenced is returned by every fenced write once another node owns the operation. A node that
// gets it MUST stop at once and write nothing more.
var ErrFenced = errors.New("another node owns this operation")

// ErrUnchanged is returned by Infra.Halt for an operation that has not changed anything in the VIM yet.
var ErrUnchanged = errors.New("nothing was changed in the VIM")

// ErrVimUnavailable is the cause of errors of a VIM that was not asked, because it does not answer.
var ErrVimUnavailable = errors.New("the VIM does not answer")

// ErrTickBudget is the cancel cause of a tick's context when its time is used up: not a failure,
// the work goes on in the next tick.
var ErrTickBudget = errors.New("the tick's time is used up")
