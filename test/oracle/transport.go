package oracle

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// Transport sends requests, and reports each difference of a response from the published documents. Tests whose node is
// another process use it; Handler is for nodes in the process of the test.
type Transport struct {
	// Report gets the differences; the Errorf of a test fails the test.
	Report func(format string, args ...any)
	Next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if list, _ := describing(r.URL.Path); len(list) == 0 || isUnversioned(r) {
		return resp, nil
	}
	var raw []byte
	if isJSON(resp.Header) {
		if raw, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(raw))
	}
	check(t.Report, r.Method, r.URL.Path, resp.StatusCode, resp.Header, raw)
	return resp, nil
}

// isJSON says whether the documents describe the body.
func isJSON(h http.Header) bool {
	m := mediaType(h)
	return m == "application/json" || m == "application/problem+json"
}

// Check fails a test if a response differs from the published documents.
func Check(tb testing.TB, r *http.Request, status int, header http.Header, body []byte) {
	tb.Helper()
	if !isUnversioned(r) {
		check(tb.Errorf, r.Method, r.URL.Path, status, header, body)
	}
}

// isUnversioned says that a request is for version 1 of package management and has no Version header, which the
// standard requires. Only clients of OpenStack Tacker send such requests, and the values of the answers are those that
// these clients print.
func isUnversioned(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/vnfpkgm/v1/") && len(r.Header.Values("Version")) == 0
}

func check(report func(string, ...any), method, path string, status int, header http.Header, body []byte) {
	if header.Get("Content-Encoding") == "gzip" && isJSON(header) && len(body) > 0 {
		plain, err := decompress(body)
		if err != nil {
			report("%s %s: %d: decompress the body: %s", method, path, status, err)
			return
		}
		body = plain
	}
	for _, finding := range Response(method, path, status, header, body) {
		report("differs from the standard: %s", finding)
	}
}

func decompress(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Client returns a client for a test whose responses are compared with the published documents. It is like the one of
// pkg/client otherwise.
func Client(tb testing.TB) *http.Client {
	tb.Helper()
	transport := &http.Transport{ResponseHeaderTimeout: time.Minute}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: Transport{Report: tb.Errorf, Next: transport}, CheckRedirect: redirect.SameServer}
}
