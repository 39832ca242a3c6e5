package openstack

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Observe is told of every call to a VIM when its answer begins or none comes: the service's name ("Heat"; "coordination" for a VNF's
// coordination server), the method, the HTTP status, 0 when there was no answer, and how long that took, the time to send a body included.
type Observe func(service, method string, status int, took time.Duration)

// toService is the key under which a context says which service its call is for.
type toService struct{}

// calling says in the context which service is called.
func calling(ctx context.Context, svc service) context.Context {
	return context.WithValue(ctx, toService{}, svc)
}

// observed tells Observe of every call.
type observed struct {
	next http.RoundTripper
	tell Observe
}

// observe puts the observer, if there is one, around rt.
func observe(rt http.RoundTripper, tell Observe) http.RoundTripper {
	if tell == nil {
		return rt
	}
	return observed{rt, tell}
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := o.next.RoundTrip(r)
	status := 0
	if err == nil {
		status = res.StatusCode
	}
	svc, ok := r.Context().Value(toService{}).(service)
	if !ok || strings.HasSuffix(r.URL.Path, "/auth/tokens") { // a new token in the middle of another service's call
		svc = keystone
	}
	o.tell(string(svc), r.Method, status, time.Since(began))
	return res, err
}
