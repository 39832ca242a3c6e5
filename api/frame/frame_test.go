package frame_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/paging"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

const document = `
openapi: 3.0.3
info: {title: test, version: "1"}
servers: [{url: /things/v2}]
paths:
  /things:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Thing'}
      responses: {"201": {description: made}}
components:
  schemas:
    Thing:
      type: object
      required: [name, kind]
      properties:
        name: {type: string, maxLength: 5}
        kind: {type: string, enum: [A, B]}
        count: {type: integer, minimum: 1}
        parts:
          type: array
          items: {$ref: '#/components/schemas/Part'}
        byKey:
          type: object
          additionalProperties: {$ref: '#/components/schemas/Part'}
        address:
          oneOf:
            - {type: object, required: [v4], properties: {v4: {type: string}}}
            - {type: object, required: [v6], properties: {v6: {type: string}}}
        both:
          allOf:
            - {type: object, properties: {x: {type: integer}}}
            - {type: object, properties: {y: {type: integer}}}
    Part:
      type: object
      required: [id]
      properties: {id: {type: string}, "a/b": {type: integer}}
`

// logBuffer is a place for the log that many goroutines may write to.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

type bench struct {
	url    string
	client *http.Client
	log    *logBuffer
}

type thing struct {
	Name string `json:"name"`
}

func serve(tb testing.TB, routes ...frame.Route) bench {
	tb.Helper()
	b := bench{log: &logBuffer{}}
	signer, err := paging.NewSigner([]byte("0123456789abcdef"))
	require.NoError(tb, err)
	f := frame.New(frame.Options{
		Log:       slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		PublicURL: "https://nfv.example/gybe/", MaxBody: 1000, PageSize: 2, Markers: signer,
	})
	doc := frame.NewDocument(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData([]byte(document)) })
	routes = append(routes,
		frame.Route{Method: "GET", Path: "/things", Produces: frame.JSON, Query: frame.ListParams, Handle: things(5)},
		frame.Route{
			Method: "POST", Path: "/things", Consumes: frame.JSON, Produces: frame.JSON,
			Handle: func(w http.ResponseWriter, r *frame.Request) error {
				v, err := frame.Decode[thing](r)
				if err != nil {
					return err
				}
				w.Header().Set("Location", r.Public("/things/v2/things/"+v.Name))
				return frame.WriteJSON(w, http.StatusCreated, v)
			},
		})
	f.Mount(frame.API{
		Prefix: "/things/v2", Versions: []version.Version{version.MustParse("2.0.0")}, Document: doc, Routes: routes,
	})
	s := httptest.NewServer(f)
	tb.Cleanup(s.Close)
	b.url, b.client = s.URL, s.Client()
	return b
}

// things lists n instances with ids 0, 1, 2 …
func things(n int) frame.Handler {
	l := frame.List[sol.VnfInstance]{
		Path: "/things/v2/things", Selectors: selector.VnfInstances,
		ID: func(v *sol.VnfInstance) string { return v.ID },
		Fetch: func(_ context.Context, q frame.Fetch) ([]sol.VnfInstance, error) {
			var out []sol.VnfInstance
			for i := range n {
				id := fmt.Sprint(i)
				if id > q.After && len(out) < q.Limit {
					out = append(out, sol.VnfInstance{
						ID: id, VnfProvider: []string{"even", "odd"}[i%2], Metadata: sol.KeyValuePairs{"k": id},
					})
				}
			}
			return out, nil
		},
	}
	return l.Serve
}

type answer struct {
	*http.Response
	body    string
	problem sol.ProblemDetails
}

func (b bench) do(tb testing.TB, method, path, body string, headers ...string) answer {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(tb, err)
	req.Header.Set("Version", "2.0.0")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := b.client.Do(req)
	require.NoError(tb, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(tb, err)
	a := answer{Response: resp, body: string(raw)}
	if resp.StatusCode >= 400 && method != http.MethodHead {
		require.Equal(tb, frame.ProblemType, resp.Header.Get("Content-Type"), a.body)
		require.NoError(tb, json.Unmarshal(raw, &a.problem))
		require.Equal(tb, resp.StatusCode, a.problem.Status)
		require.NotEmpty(tb, a.problem.Detail)
		require.NotEmpty(tb, a.problem.Title)
	}
	return a
}

func failing(err error) frame.Route {
	return frame.Route{
		Method: "GET", Path: "/fail", Handle: func(http.ResponseWriter, *frame.Request) error { return err },
	}
}

func TestEveryKindOfErrorIsAProblem(t *testing.T) {
	t.Parallel()
	b := serve(t)
	good := `{"name":"a","kind":"A"}`
	tests := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		detail                   string
		pointers                 []string
	}{
		{name: "unknown path", method: "GET", path: "/nowhere", status: 404, detail: "/nowhere"},
		{name: "unknown path of an API", method: "GET", path: "/things/v2/nowhere", status: 404},
		{name: "method", method: "PUT", path: "/things/v2/things", status: 405, detail: "PUT"},
		{name: "own method", method: "FROB", path: "/things/v2/things", status: 405},
		{
			name: "no version", method: "GET", path: "/things/v2/things", headers: []string{"Version", ""}, status: 400,
			detail: "'Version' HTTP header missing",
		},
		{
			name: "malformed version", method: "GET", path: "/things/v2/things", headers: []string{"Version", "two"},
			status: 400, detail: "two",
		},
		{
			name: "malformed implementation", method: "GET", path: "/things/v2/things",
			headers: []string{"Version", "2.0.0-beta"}, status: 400,
		},
		{
			name: "unsupported version", method: "GET", path: "/things/v2/things",
			headers: []string{"Version", "1.0.0"}, status: 406, detail: "2.0.0",
		},
		{
			name: "accept", method: "GET", path: "/things/v2/things", headers: []string{"Accept", "text/html"},
			status: 406, detail: "application/json",
		},
		{
			name: "accept nothing", method: "GET", path: "/things/v2/things",
			headers: []string{"Accept", "application/json;q=0"}, status: 406,
		},
		{
			name: "content type", method: "POST", path: "/things/v2/things", body: good,
			headers: []string{"Content-Type", "text/xml"}, status: 415, detail: "text/xml",
		},
		{
			name: "charset", method: "POST", path: "/things/v2/things", body: good,
			headers: []string{"Content-Type", "application/json; charset=latin1"}, status: 415,
		},
		{
			name: "compressed", method: "POST", path: "/things/v2/things", body: good,
			headers: []string{"Content-Encoding", "gzip"}, status: 415, detail: "gzip",
		},
		{
			name: "too deep", method: "POST", path: "/things/v2/things",
			body: strings.Repeat("[", 101) + strings.Repeat("]", 101), status: 400, detail: "100 levels",
		},
		{
			name: "brackets in text are not deep", method: "POST", path: "/things/v2/things",
			body: `{"name":"a","kind":"\"` + strings.Repeat("[", 200) + `"}`, status: 400, detail: "/kind",
			pointers: []string{"/kind"},
		},
		{
			name: "too large", method: "POST", path: "/things/v2/things", body: `"` + strings.Repeat("x", 2000) + `"`,
			status: 413, detail: "1000",
		},
		{name: "no body", method: "POST", path: "/things/v2/things", status: 400, detail: "no body"},
		{
			name: "not JSON", method: "POST", path: "/things/v2/things", body: "{\n \"a\": b}", status: 400,
			detail: "line 2, column 7",
		},
		{
			name: "cut off", method: "POST", path: "/things/v2/things", body: `{"name":`, status: 400,
			detail: "ends too early",
		},
		{
			name: "two values", method: "POST", path: "/things/v2/things", body: good + " {}", status: 400,
			detail: "more text after",
		},
		{
			name: "not UTF-8", method: "POST", path: "/things/v2/things", body: "{\"name\":\"\xff\"}", status: 400,
			detail: "UTF-8",
		},
		{
			name: "NUL", method: "POST", path: "/things/v2/things", body: `{"name":"\u0000","kind":"A"}`, status: 400,
			pointers: []string{"/name"},
		},
		{
			name: "not an object", method: "POST", path: "/things/v2/things", body: `[]`, status: 400,
			detail: "the body: value must be", pointers: []string{""},
		},
		{
			name: "missing members", method: "POST", path: "/things/v2/things", body: `{}`, status: 400,
			pointers: []string{"/kind", "/name"},
		},
		{
			name: "everything wrong at once", method: "POST", path: "/things/v2/things",
			body:   `{"name":"too long","kind":"C","count":0,"parts":[{"id":"x"},{}],"byKey":{"a/b":{"id":1}},"address":{},"both":{"x":"1","y":"2"}}`,
			status: 400,
			pointers: []string{
				"/address", "/both/x", "/both/y", "/byKey/a~1b/id", "/count", "/kind", "/name", "/parts/1/id",
			},
		},
		{
			name: "null", method: "POST", path: "/things/v2/things", body: `{"name":null,"kind":"A"}`, status: 400,
			pointers: []string{"/name"},
		},
		{name: "filter syntax", method: "GET", path: "/things/v2/things?filter=(eq,id", status: 400, detail: "filter"},
		{
			name: "filter attribute", method: "GET", path: "/things/v2/things?filter=(eq,nope,1)", status: 400,
			detail: "nope",
		},
		{name: "two filters", method: "GET", path: "/things/v2/things?filter=(eq,id,1)&filter=(eq,id,2)", status: 400},
		{name: "selector", method: "GET", path: "/things/v2/things?fields=nope", status: 400, detail: "nope"},
		{
			name: "selectors that exclude each other", method: "GET", path: "/things/v2/things?all_fields&fields=id",
			status: 400,
		},
		{
			name: "marker", method: "GET", path: "/things/v2/things?nextpage_opaque_marker=x", status: 400,
			detail: "marker",
		},
		{name: "unknown parameter", method: "GET", path: "/things/v2/things?colour=red", status: 400, detail: "colour"},
		{name: "query escape", method: "GET", path: "/things/v2/things?filter=%zz", status: 400, detail: "query"},
		{name: "query not UTF-8", method: "GET", path: "/things/v2/things?filter=%ff", status: 400, detail: "UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := b.do(t, tt.method, tt.path, tt.body, tt.headers...)
			require.Equal(t, tt.status, a.StatusCode, a.body)
			require.Contains(t, a.problem.Detail, tt.detail)
			var pointers []string
			for _, p := range a.problem.InvalidParams {
				pointers = append(pointers, p.Pointer)
				require.NotEmpty(t, p.Detail)
			}
			require.Equal(t, tt.pointers, pointers, a.body)
			if strings.HasPrefix(tt.path, "/things/v2/") {
				require.Equal(t, "2.0.0", a.Header.Get("Version"), "errors carry the version, too")
			}
			if tt.status == 405 {
				require.Equal(t, "GET, HEAD, POST", a.Header.Get("Allow"))
			}
		})
	}
}

func TestErrorsOfHandlersBecomeProblems(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp 10.0.0.1: password geheim refused")
	tests := []struct {
		name       string
		err        error
		status     int
		detail     string
		retryAfter string
	}{
		{"conflict", lcm.Errorf(lcm.CodeConflict, "it is busy").WithHint("wait"), 409, "it is busy", ""},
		{"wrapped", fmt.Errorf("while doing: %w", lcm.Errorf(lcm.CodeNotFound, "gone")), 404, "gone", ""},
		{"unavailable", &lcm.Error{
			Code: lcm.CodeUnavailable, Detail: "later", RetryAfter: 1500 * time.Millisecond, Cause: secret,
		}, 503, "later", "2"},
		{"unknown", secret, 500, "internal error of gybe", ""},
		{"unauthorized", &lcm.Error{Code: lcm.CodeUnauthorized}, 401, "Unauthorized", ""},
		{"range", lcm.Errorf(lcm.CodeRange, "no such bytes"), 416, "no such bytes", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, failing(tt.err))
			a := b.do(t, "GET", "/things/v2/fail", "", "X-Request-Id", "req-1")
			require.Equal(t, tt.status, a.StatusCode)
			require.Contains(t, a.problem.Detail, tt.detail)
			require.NotContains(t, a.body, "geheim")
			require.Equal(t, tt.retryAfter, a.Header.Get("Retry-After"))
			require.Equal(t, "req-1", a.Header.Get("X-Request-Id"))
			if tt.status == 401 {
				require.Equal(t, "Bearer", a.Header.Get("WWW-Authenticate"))
			}
			if errors.Is(tt.err, secret) {
				require.Contains(t, b.log.String(), "password geheim", "the log has the cause")
			}
			require.Contains(t, b.log.String(), `"request_id":"req-1"`)
		})
	}
}

// TestAnAPIShowsItsErrors in its own form and with its own headers, also those of paths that it does not have.
func TestAnAPIShowsItsErrors(t *testing.T) {
	t.Parallel()
	var broken error
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler)})
	f.Mount(frame.API{
		Prefix: "/text", Header: http.Header{"X-Kind": {"text"}},
		Problem: func(w http.ResponseWriter, _ *frame.Request, p *sol.ProblemDetails) error {
			if broken == nil {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(p.Status)
				fmt.Fprint(w, "sorry: ", p.Detail)
			}
			return broken
		},
		Routes: []frame.Route{{Method: "GET", Path: "/fail", Handle: func(http.ResponseWriter, *frame.Request) error {
			return lcm.Errorf(lcm.CodeConflict, "no")
		}}},
	})
	get := func(path string) *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		f.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		return rec
	}
	for path, status := range map[string]int{"/text/fail": 409, "/text/nowhere": 404} {
		rec := get(path)
		require.Equal(t, status, rec.Code)
		require.Equal(t, "text/plain", rec.Header().Get("Content-Type"))
		require.Equal(t, "text", rec.Header().Get("X-Kind"))
		require.Contains(t, rec.Body.String(), "sorry: ")
	}
	require.Equal(t, frame.ProblemType, get("/nowhere").Header().Get("Content-Type"))

	broken = errors.New("the template is broken")
	rec := get("/text/fail")
	require.Equal(t, 409, rec.Code)
	require.Equal(t, frame.ProblemType, rec.Header().Get("Content-Type"))
}

func TestAPanicFailsOnlyItsRequest(t *testing.T) {
	t.Parallel()
	b := serve(t,
		frame.Route{
			Method: "GET", Path: "/panic", Handle: func(http.ResponseWriter, *frame.Request) error { panic("oh no") },
		},
		frame.Route{Method: "GET", Path: "/late", Handle: func(w http.ResponseWriter, _ *frame.Request) error {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			return errors.New("the disk is gone")
		}})
	a := b.do(t, "GET", "/things/v2/panic", "")
	require.Equal(t, 500, a.StatusCode)
	require.NotContains(t, a.body, "oh no")
	require.Contains(t, b.log.String(), "oh no")
	require.Contains(t, b.log.String(), "frame_test.go", "the log has the stack")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/things/v2/late", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Version", "2.0.0")
	resp, err := b.client.Do(req)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	require.Error(t, err, "a client must not take half an answer for the whole")
	require.Eventually(
		t, func() bool { return strings.Contains(b.log.String(), "the disk is gone") }, time.Minute, 5*time.Millisecond,
	)

	require.Equal(t, 200, b.do(t, "GET", "/things/v2/things", "").StatusCode)
}

func TestAnswersFollowTheRules(t *testing.T) {
	t.Parallel()
	b := serve(t)
	a := b.do(t, "POST", "/things/v2/things", `{"name":"a","kind":"A","unknown":[1]}`,
		"Version", "2.0.0-impl:acme:1", "Content-Type", "application/json; charset=UTF-8", "Accept",
		"text/html, application/*;q=0.5")
	require.Equal(t, 201, a.StatusCode, a.body)
	require.Equal(t, "2.0.0", a.Header.Get("Version"))
	require.Equal(t, "https://nfv.example/gybe/things/v2/things/a", a.Header.Get("Location"),
		"the prefix of the public URL stays")
	require.Len(t, a.Header.Get("X-Request-Id"), 36)

	a = b.do(t, "POST", "/things/v2/things", `{"name":"a","kind":"A"}`, "Content-Type", "")
	require.Equal(t, 415, a.StatusCode)
	require.Contains(t, a.body, "send Content-Type: application/json")

	a = b.do(t, "HEAD", "/things/v2/things", "")
	require.Equal(t, 200, a.StatusCode)
	require.Empty(t, a.body)
	require.NotEmpty(t, a.Header.Get("Content-Length"))

	a = b.do(t, "GET", "/things/v2/things", "", "X-Request-Id", "no good\"id")
	require.Len(t, a.Header.Get("X-Request-Id"), 36, "an id that could forge log lines is replaced")
}

func TestListsArePagedFilteredAndSelected(t *testing.T) {
	t.Parallel()
	b := serve(t)
	follow := func(path string) (ids []string, pages int) {
		for path != "" {
			a := b.do(t, "GET", path, "")
			require.Equal(t, 200, a.StatusCode, a.body)
			var page []sol.VnfInstance
			require.NoError(t, json.Unmarshal([]byte(a.body), &page))
			require.LessOrEqual(t, len(page), 2)
			for _, i := range page {
				ids = append(ids, i.ID)
			}
			pages++
			path = ""
			if link := a.Header.Get("Link"); link != "" {
				require.True(t, strings.HasSuffix(link, `; rel="next"`), link)
				url := strings.TrimPrefix(strings.SplitN(link, ">", 2)[0], "<")
				path = strings.TrimPrefix(url, "https://nfv.example/gybe")
				require.NotEqual(t, url, path)
			}
		}
		return ids, pages
	}
	ids, pages := follow("/things/v2/things")
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, ids)
	require.Equal(t, 3, pages)

	ids, pages = follow("/things/v2/things?filter=(eq,vnfProvider,even)")
	require.Equal(t, []string{"0", "2", "4"}, ids)
	require.Equal(t, 2, pages)

	ids, _ = follow("/things/v2/things?filter=(eq,metadata/k,3)")
	require.Equal(t, []string{"3"}, ids)

	a := b.do(t, "GET", "/things/v2/things?filter=(eq,id,nothing)", "")
	require.Equal(t, "[]\n", a.body, "no match is an empty list")

	require.NotContains(t, b.do(t, "GET", "/things/v2/things", "").body, "metadata")
	require.Contains(t, b.do(t, "GET", "/things/v2/things?all_fields", "").body, "metadata")
	require.Contains(t, b.do(t, "GET", "/things/v2/things?fields=metadata/k", "").body, `"metadata":{"k":"0"}`)

	marker := b.do(t, "GET", "/things/v2/things", "").Header.Get("Link")
	marker = marker[strings.Index(marker, "?")+1 : strings.Index(marker, ">")]
	require.Equal(t, 400, b.do(t, "GET", "/things/v2/things?filter=(eq,id,1)&"+marker, "").StatusCode,
		"a marker of another query")
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	changed := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	b := serve(t,
		frame.Route{
			Method: "GET", Path: "/one", Produces: frame.JSON,
			Handle: func(w http.ResponseWriter, r *frame.Request) error {
				frame.SetValidators(w, 7, changed)
				if frame.NotModified(w, r, 7, changed) {
					return nil
				}
				return frame.WriteJSON(w, 200, thing{"x"})
			},
		},
		frame.Route{Method: "DELETE", Path: "/one", Handle: func(w http.ResponseWriter, r *frame.Request) error {
			if err := r.Precondition(7, changed); err != nil {
				return err
			}
			return frame.NoContent(w)
		}})
	tests := []struct {
		method, header, value string
		status                int
	}{
		{"GET", "If-None-Match", `"7"`, 304},
		{"GET", "If-None-Match", `W/"7"`, 304},
		{"GET", "If-None-Match", `"1", "7"`, 304},
		{"GET", "If-None-Match", `*`, 304},
		{"GET", "If-None-Match", `"6"`, 200},
		{"GET", "If-Modified-Since", "Fri, 02 Jan 2026 03:04:05 GMT", 304},
		{"GET", "If-Modified-Since", "Fri, 02 Jan 2026 03:04:04 GMT", 200},
		{"GET", "If-Modified-Since", "yesterday", 200},
		{"DELETE", "If-Match", `"7"`, 204},
		{"DELETE", "If-Match", `"1", "7"`, 204},
		{"DELETE", "If-Match", `*`, 204},
		{"DELETE", "If-Match", `W/"7"`, 412},
		{"DELETE", "If-Match", `"6"`, 412},
		{"DELETE", "If-Match", `7`, 412},
		{"DELETE", "If-Unmodified-Since", "Fri, 02 Jan 2026 03:04:05 GMT", 204},
		{"DELETE", "If-Unmodified-Since", "Fri, 02 Jan 2026 03:04:04 GMT", 412},
		{"DELETE", "If-Unmodified-Since", "nonsense", 204},
	}
	for _, tt := range tests {
		a := b.do(t, tt.method, "/things/v2/one", "", tt.header, tt.value)
		require.Equal(t, tt.status, a.StatusCode, "%s %s: %s", tt.method, tt.header, tt.value)
		require.Equal(t, "2.0.0", a.Header.Get("Version"))
		if tt.method == "GET" {
			require.Equal(t, `"7"`, a.Header.Get("ETag"))
			require.Equal(t, "Fri, 02 Jan 2026 03:04:05 GMT", a.Header.Get("Last-Modified"))
		}
	}
}
