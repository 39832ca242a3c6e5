package kubernetes

import (
	"fmt"
	"io"
	"net/http"
)

// maxAnswer bounds an answer of an API server, in bytes. client-go reads answers into memory without a limit, and the
// API servers run on machines of VNFs.
const maxAnswer = 16 << 20

// limitedAnswers is a transport whose answers fail when they are too large.
type limitedAnswers struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limitedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if err == nil {
		res.Body = &limitedBody{ReadCloser: res.Body, left: maxAnswer}
	}
	return res, err
}

// limitedBody fails when a body is longer than left.
type limitedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (l *limitedBody) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, fmt.Errorf("the answer of the API server is larger than %d MiB", maxAnswer>>20)
	}
	return n, err
}
