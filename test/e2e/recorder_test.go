package e2e_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/gybe-nfv/gybe/test/apitest"
)

// recorder is a transport that keeps everything that the server answers.
type recorder struct {
	into *apitest.Log
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(r.into, "%s %s\n%s %v\n", req.Method, req.URL, resp.Status, resp.Header)
	resp.Body = tee{io.TeeReader(resp.Body, r.into), resp.Body}
	return resp, nil
}

// tee is a body that is copied while it is read.
type tee struct {
	io.Reader
	io.Closer
}
