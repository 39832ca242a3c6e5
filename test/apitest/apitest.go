// Package apitest serves a frame to tests of the HTTP interfaces and holds every answer to our OpenAPI
// documents: status, headers, media type and body.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/paging"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// PublicURL is what links begin with; it is not where the test server listens.
const PublicURL = "https://nfv.example/prefix"

// PageSize of lists.
const PageSize = 3

// MaxBody bounds JSON bodies.
const MaxBody = 64 << 10

// Server is a frame that listens.
type Server struct {
	URL string
	Log *Log
	// Handler is what answers, for benchmarks without a network.
	Handler http.Handler
	client  *http.Client
}

// Log gathers what is logged.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Serve starts a frame with the APIs that mount adds. The options change those of the frame.
func Serve(tb testing.TB, mount func(*frame.Frame), options ...func(*frame.Options)) *Server {
	tb.Helper()
	signer, err := paging.NewSigner([]byte("a key for the markers of tests"))
	require.NoError(tb, err)
	log := &Log{}
	o := frame.Options{
		Log:       slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		PublicURL: PublicURL, MaxBody: MaxBody, PageSize: PageSize, Markers: signer,
	}
	for _, change := range options {
		change(&o)
	}
	f := frame.New(o)
	mount(f)
	require.NoError(tb, f.Preload())
	s := httptest.NewServer(f)
	tb.Cleanup(s.Close)
	return &Server{URL: s.URL, Log: log, Handler: f, client: s.Client()}
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Problem is the body of an error.
	Problem sol.ProblemDetails
}

// Do sends a request and checks the answer. body may be nil, a string, []byte or io.Reader, or any value, which is
// encoded. headers are pairs of name and value; an empty value removes a header that would be sent.
func (s *Server) Do(tb testing.TB, method, path string, body any, headers ...string) Answer {
	tb.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	case io.Reader:
		r = b
	default:
		raw, err := json.Marshal(b)
		require.NoError(tb, err)
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, s.URL+path, r)
	require.NoError(tb, err)
	req.Header.Set("Version", versionFor(path))
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := s.client.Transport.RoundTrip(req) // redirects are not followed
	require.NoError(tb, err)
	defer func() { _ = resp.Body.Close() }() // read to its end
	raw, err := io.ReadAll(resp.Body)
	require.NoError(tb, err)
	a := Answer{Status: resp.StatusCode, Header: resp.Header, Body: raw}
	if a.Status >= http.StatusBadRequest && method != http.MethodHead {
		require.Equal(tb, frame.ProblemType, a.Header.Get("Content-Type"), string(raw))
		require.NoError(tb, json.Unmarshal(raw, &a.Problem))
		require.Equal(tb, a.Status, a.Problem.Status)
		require.NotEmpty(tb, a.Problem.Detail)
		require.NotEmpty(tb, a.Problem.Title)
	}
	Check(tb, req, a)
	return a
}

// versionFor is the version that is sent to an interface.
func versionFor(path string) string {
	switch {
	case strings.HasPrefix(path, "/vnflcm/v1/"):
		return "1.3.0"
	case strings.HasPrefix(path, "/vnfpkgm/v1/"):
		return "1.2.0"
	case strings.HasPrefix(path, "/vnfpkgm/v2/"):
		return "2.4.0"
	}
	return "2.0.0"
}

// JSON decodes the body.
func JSON[T any](tb testing.TB, a Answer) T {
	tb.Helper()
	var v T
	require.NoError(tb, json.Unmarshal(a.Body, &v), string(a.Body))
	return v
}

// Pointers lists where a body was wrong.
func (a Answer) Pointers() []string {
	var out []string
	for _, p := range a.Problem.InvalidParams {
		out = append(out, p.Pointer)
	}
	return out
}

// LocationID is the last part of the Location header, which has to be below PublicURL.
func (a Answer) LocationID(tb testing.TB) string {
	tb.Helper()
	loc := a.Header.Get("Location")
	require.True(tb, strings.HasPrefix(loc, PublicURL+"/"), "Location %q", loc)
	return loc[strings.LastIndex(loc, "/")+1:]
}

var allRouters = sync.OnceValues(func() ([]routers.Router, error) {
	var out []routers.Router
	for _, name := range openapi.Names() {
		doc, err := openapi.Load(name)
		if err != nil {
			return nil, err
		}
		r, err := gorillamux.NewRouter(doc)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
})

// media that the validator does not have to understand.
var opaque = []string{
	"application/zip", "application/yaml", "text/plain", "text/event-stream", "application/octet-stream",
}

// Check holds an answer to the document that describes its resource, if one does, and to the published ones.
func Check(tb testing.TB, req *http.Request, a Answer) {
	tb.Helper()
	oracle.Check(tb, req, a.Status, a.Header, a.Body)
	rs, err := allRouters()
	require.NoError(tb, err)
	probe := req.Clone(context.Background())
	probe.URL.Scheme, probe.URL.Host, probe.Host = "", "", ""
	for _, r := range rs {
		route, params, err := r.FindRoute(probe)
		if err != nil {
			continue
		}
		media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
		err = openapi3filter.ValidateResponse(tb.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{
				Request: probe, PathParams: params, Route: route,
			},
			Status: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body)),
			Options: &openapi3filter.Options{
				IncludeResponseStatus: true, MultiError: true,
				ExcludeResponseBody: len(a.Body) == 0 || slices.Contains(opaque, media) ||
					a.Status == http.StatusNotModified,
			},
		})
		require.NoError(tb, err, "%s %s: %d %s", req.Method, req.URL.Path, a.Status, a.Body)
		return
	}
}
