package frame

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ProblemType is the media type of every error.
const ProblemType = "application/problem+json"

// tackerClient is how the User-Agent of the openstack command begins.
const tackerClient = "python-tackerclient"

// FromTackerClient says that a request was sent by the openstack command. Of a problem the command prints only the
// detail, so for it the hint is in the detail, too.
func (r *Request) FromTackerClient() bool { return strings.HasPrefix(r.UserAgent(), tackerClient) }

// fail answers with an error. If the answer has begun already, the connection is cut, so that the client
// does not take half of it for the whole.
func (r *Request) fail(w *recorder, err error) {
	r.err = err
	if w.code != 0 {
		r.cut = true
		return
	}
	e := lcm.AsError(err)
	h := w.Header()
	for _, name := range []string{
		"ETag", "Last-Modified", "Content-Length", "Content-Disposition", "Location", "Link",
	} {
		h.Del(name)
	}
	if r.other != "" {
		h.Set("Location", r.other)
	}
	if e.Code != lcm.CodeRange {
		h.Del("Content-Range")
	}
	if wait := retryAfter(e); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	// A token that is malformed is 400 with a challenge (SOL013 clause 8.3.6.2).
	if e.Code == lcm.CodeUnauthorized || e.Code == lcm.CodeInvalid && r.challenges != nil {
		h["Www-Authenticate"] = r.challenges
		if r.challenges == nil {
			h.Set("WWW-Authenticate", "Bearer") // RFC 9110 requires one
		}
	}
	p := ProblemOf(e)
	if p.Hint != "" && r.FromTackerClient() {
		p.Detail += "; " + p.Hint
	}
	if r.problem != nil {
		err := r.problem(w, r, p)
		if err == nil {
			return
		}
		r.err = errors.Join(r.err, err)
		if w.code != 0 {
			r.cut = true
			return
		}
	}
	if err := write(w, e.Status(), ProblemType, p); err != nil {
		r.err = errors.Join(r.err, err)
	}
}

// PointTo lets an error name the public URL of another resource, which the client can use instead (Location).
func (r *Request) PointTo(url string) { r.other = url }

// retryAfter is the time that a client is asked to wait: always for 429 and 503, otherwise if the error knows one.
func retryAfter(e *lcm.Error) time.Duration {
	if status := e.Status(); status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return cmp.Or(e.RetryAfter, busyFor)
	}
	return e.RetryAfter
}

// ProblemOf is the one mapping of errors to ProblemDetails (SOL013 clause 6.3). Causes stay inside.
func ProblemOf(err error) *sol.ProblemDetails {
	e := lcm.AsError(err)
	status := e.Status()
	p := &sol.ProblemDetails{
		Title: cmp.Or(e.Title, http.StatusText(status)), Status: status,
		Detail: cmp.Or(e.Detail, e.Title, http.StatusText(status)), Hint: e.Hint,
	}
	for _, ip := range e.Params {
		p.InvalidParams = append(p.InvalidParams, sol.InvalidParam{Pointer: ip.Pointer, Detail: ip.Detail})
	}
	return p
}

// causes is what the log says about an error: the answer's text and everything behind it.
func causes(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}
