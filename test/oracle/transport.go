package oracle

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// Transport sends requests of a test, and fails the test if a response differs from the published documents.
type Transport struct {
	TB   testing.TB
	Next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if list, _ := describing(r.URL.Path); len(list) == 0 {
		return resp, nil
	}
	var raw []byte
	if m := mediaType(resp.Header); m == "application/json" || m == "application/problem+json" {
		if raw, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(raw))
	}
	Check(t.TB, r, resp.StatusCode, resp.Header, raw)
	return resp, nil
}

// Check fails a test if a response differs from the published documents.
func Check(tb testing.TB, r *http.Request, status int, header http.Header, body []byte) {
	tb.Helper()
	if header.Get("Content-Encoding") != "" {
		return // its client asked for a coding, and reads it itself
	}
	for _, finding := range Response(r.Method, r.URL.Path, status, header, body) {
		tb.Errorf("differs from the standard: %s", finding)
	}
}

// Client returns a client for a test whose responses are compared with the published documents.
func Client(tb testing.TB) *http.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: Transport{TB: tb, Next: transport}}
}
