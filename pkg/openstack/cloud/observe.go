package cloud

import (
	"context"
	"net/http"
	"time"
)

// Observe receives every call to a VIM when its answer begins or none comes: the service's name ("Heat"; "coordination"
// for a VNF's coordination server), the method, the HTTP status, 0 when there was no answer, and how long that took,
// the time to send a body included.
type Observe func(service, method string, status int, took time.Duration)

// toService is the key under which a context says which service its call is for.
type toService struct{}

// withService says in the context which service is called.
func withService(ctx context.Context, svc Service) context.Context {
	return context.WithValue(ctx, toService{}, svc)
}

// observed reports every call to Observe.
type observed struct {
	next    http.RoundTripper
	report  Observe
	service Service // "" when the context of a call says it
}

// observe puts the observer, if there is one, around rt.
func observe(rt http.RoundTripper, report Observe, svc Service) http.RoundTripper {
	if report == nil {
		return rt
	}
	return observed{rt, report, svc}
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := o.next.RoundTrip(r)
	status := 0
	if err == nil {
		status = res.StatusCode
	}

	svc := o.service
	if svc == "" {
		svc = serviceOf(r)
	}
	o.report(string(svc), r.Method, status, time.Since(began))
	return res, err
}
