package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// silence is how long a service may leave requests without an answer, and answer no other one, until the VIM counts as
// unavailable. It is shorter than a tick, which ends its requests.
const silence = 25 * time.Second

// watched notes which services answer.
type watched struct {
	next   http.RoundTripper
	health *health
	within time.Duration // the time limit of requests
	wake   func()        // called when operations may go on that wait for the VIM
}

// RoundTrip implements http.RoundTripper. The next one returns when the whole answer is there: a service that begins
// one and does not end it has not answered.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	svc := serviceOf(r)
	if svc != keystone && !sendsImage(r, svc) {
		defer w.health.sent(svc)()
		late := time.AfterFunc(patience(silence, w.within), func() {
			w.missed(r, svc, began, context.DeadlineExceeded)
		})
		defer late.Stop()
	}
	res, err := w.next.RoundTrip(r)
	switch {
	case svc == keystone: // the login reports its outcome itself: an answer can be a 503
	case err == nil, isType[*answerError](err): // one that is too large is an answer, too
		if w.health.answer(svc, time.Now()) {
			w.wake()
		}
	default:
		w.missed(r, svc, began, err)
	}
	return res, err
}

// missed notes a request without an answer if its service has not answered any other one during that time. A request
// that was cut off soon, because its caller ended, says nothing.
func (w watched) missed(r *http.Request, svc Service, began time.Time, err error) {
	if sendsImage(r, svc) {
		return
	}
	e := callInfo{r.Method, svc, r.URL.String()}.unreachable(err)
	timeout := e.Code == lcm.CodeTimeout && r.Context().Err() == nil // of the connection
	if !timeout && time.Since(began) < patience(silence, w.within) || !w.health.silent(svc, began) {
		return
	}
	if !timeout {
		e = callInfo{r.Method, svc, r.URL.String()}.unreachable(context.DeadlineExceeded)
	}
	_ = w.health.fail(e, svc, false) // the caller has an error of its own
}

// sendsImage says whether a request can take hours, because it has the data of an image.
func sendsImage(r *http.Request, svc Service) bool {
	return r.Method == http.MethodPut && svc == Glance
}

// WhileAnswering calls do with a context that ends when a service of the VIM has left requests without an answer for a
// time, and answered no other one. The error is that of an unavailable VIM then.
func (c *Client) WhileAnswering(ctx context.Context, most time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			if svc, d := c.health.silence(); d > most {
				cancel(c.health.silentFor(svc, d))
				return
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	err := do(ctx)
	close(done)
	<-watching
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, lcm.ErrVimUnavailable) {
		return cause
	}
	return err
}

// silentFor is the error of a VIM that is not waited for any longer.
func (h *health) silentFor(svc Service, d time.Duration) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "VIM unavailable", Cause: lcm.ErrVimUnavailable,
		Detail: fmt.Sprintf("VIM %s: %s has not answered for %s", h.url, svc, d.Round(time.Second)),
	}
}

// serviceOf is the service that a request is for.
func serviceOf(r *http.Request) Service {
	svc, _ := r.Context().Value(toService{}).(Service)
	// a new token in the middle of another service's call
	if svc == "" || strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		return keystone
	}
	return svc
}
