package frame_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// versioned serves an interface with two versions, and one that needs no Version header.
func versioned(t *testing.T) bench {
	t.Helper()
	hello := func(w http.ResponseWriter, _ *frame.Request) error {
		return frame.WriteJSON(w, http.StatusOK, map[string]string{"hello": "world"})
	}
	routes := []frame.Route{{Method: "GET", Path: "/hello", Produces: frame.JSON, Handle: hello}}
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler)})
	f.Mount(frame.API{Prefix: "/two/v2", Routes: routes, Versions: []version.Version{
		version.MustParse("2.3.0"), version.MustParse("2.0.0"),
	}})
	f.Mount(frame.API{
		Prefix: "/lenient/v1", Routes: routes, VersionOptional: true,
		Versions: []version.Version{version.MustParse("1.2.0")},
	})
	query := []frame.Route{
		{Method: "GET", Path: "/hello", Produces: frame.JSON, Handle: hello, Query: []string{"filter"}},
	}
	f.Mount(frame.API{
		Prefix: "/old/v1", Routes: query, VersionOptional: true, AnyMinor: true, LenientQuery: true,
		Versions: []version.Version{version.MustParse("1.3.0")},
	})
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return bench{url: s.URL, client: s.Client()}
}

// TestUnknownQueryParametersAreIgnoredWithAWarning: one Warning header for each, and a bounded number of headers.
func TestUnknownQueryParametersAreIgnoredWithAWarning(t *testing.T) {
	t.Parallel()
	b := versioned(t)
	for query, want := range map[string][]string{
		"":                {},
		"filter=x":        {},
		"exclude-fields=": {`299 gybe "\"exclude-fields\" is not a query parameter of this resource and was ignored; it has filter"`},
		"%C3%A4=1":        {`299 gybe "\"\u00e4\" is not a query parameter of this resource and was ignored; it has filter"`},
	} {
		a := b.do(t, "GET", "/old/v1/hello?"+query, "", "Version", "")
		require.Equal(t, 200, a.StatusCode, query)
		require.ElementsMatch(t, want, a.Header.Values("Warning"), query)
	}
	many := strings.Builder{}
	for n := range 100 {
		fmt.Fprintf(&many, "&p%d=", n)
	}
	a := b.do(t, "GET", "/old/v1/hello?"+many.String(), "", "Version", "")
	require.Equal(t, 200, a.StatusCode)
	require.Len(t, a.Header.Values("Warning"), 8)
	require.Contains(t, a.Header.Values("Warning")[7], "93 more query parameters were ignored")
	require.Equal(t, 400, b.do(t, "GET", "/old/v1/hello?a=%zz", "", "Version", "").StatusCode)
}

func TestVersionIsNegotiatedAndEchoed(t *testing.T) {
	t.Parallel()
	b := versioned(t)
	tests := []struct {
		path, sent string
		status     int
		echoed     string
	}{
		{"/two/v2/hello", "2.0.0", 200, "2.0.0"},
		{"/two/v2/hello", "2.3.0", 200, "2.3.0"},
		{"/two/v2/hello", "2.3.0-impl:example.com:x:1", 200, "2.3.0"},
		{"/two/v2/hello", "2.1.0", 406, "2.0.0"},
		{"/two/v2/hello", "1.0.0", 406, "2.0.0"},
		{"/two/v2/hello", "two", 400, "2.0.0"},
		{"/two/v2/hello", "", 400, "2.0.0"},
		{"/two/v2/nothing", "2.3.0", 404, "2.3.0"},
		{"/two/v2/nothing", "", 404, "2.0.0"},
		{"/lenient/v1/hello", "", 200, "1.2.0"},
		{"/lenient/v1/hello", "1.2.0", 200, "1.2.0"},
		{"/lenient/v1/hello", "2.0.0", 406, "1.2.0"},
		{"/lenient/v1/hello", "1.2", 400, "1.2.0"},
		{"/lenient/v1/hello", "1.1.0", 406, "1.2.0"},
		{"/old/v1/hello", "1.0.0", 200, "1.3.0"},
		{"/old/v1/hello", "1.9.0-impl:x", 200, "1.3.0"},
		{"/old/v1/hello", "2.0.0", 406, "1.3.0"},
		{"/old/v1/hello", "1.x.0", 400, "1.3.0"},
	}
	for _, tt := range tests {
		t.Run(tt.path+" "+tt.sent, func(t *testing.T) {
			t.Parallel()
			a := b.do(t, "GET", tt.path, "", "Version", tt.sent)
			require.Equal(t, tt.status, a.StatusCode)
			require.Equal(t, []string{tt.echoed}, a.Header.Values("Version"))
			require.Equal(t, "none", a.Header.Get("Accept-Ranges"))
		})
	}
}

func TestEveryOtherMethodIsNotAllowed(t *testing.T) {
	t.Parallel()
	b := versioned(t)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
		a := b.do(t, method, "/two/v2/hello", "")
		require.Equal(t, 405, a.StatusCode, method)
		require.Equal(t, "GET, HEAD", a.Header.Get("Allow"), method)
	}
	a := b.do(t, "HEAD", "/two/v2/hello", "")
	require.Equal(t, 200, a.StatusCode)
	get := b.do(t, "GET", "/two/v2/hello", "")
	require.Equal(t, get.Header.Get("Etag"), a.Header.Get("Etag"))
	require.Equal(t, get.Header.Get("Content-Length"), a.Header.Get("Content-Length"))
	require.Empty(t, a.body)
}

func TestJSONHasAnETag(t *testing.T) {
	t.Parallel()
	b := versioned(t)
	tag := b.do(t, "GET", "/two/v2/hello", "").Header.Get("Etag")
	require.NotEmpty(t, tag)
	a := b.do(t, "GET", "/two/v2/hello", "", "If-None-Match", `"x", W/`+tag)
	require.Equal(t, 304, a.StatusCode)
	require.Equal(t, tag, a.Header.Get("Etag"))
	require.Empty(t, a.body)
	require.Equal(t, 200, b.do(t, "GET", "/two/v2/hello", "", "If-None-Match", `"x"`).StatusCode)
}

func TestUnavailableAlwaysNamesATime(t *testing.T) {
	t.Parallel()
	b := serve(t, failing(lcm.Errorf(lcm.CodeUnavailable, "a part of the node does not answer")))
	a := b.do(t, "GET", "/things/v2/fail", "")
	require.Equal(t, 503, a.StatusCode)
	require.Equal(t, "5", a.Header.Get("Retry-After"))
	b = serve(t, failing(errors.New("broken")))
	require.Empty(t, b.do(t, "GET", "/things/v2/fail", "").Header.Get("Retry-After"))
}

// large is more than fits a packet.
var large = strings.Repeat("all work and no play ", 5000)

func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	write := func(text string) frame.Handler {
		return func(w http.ResponseWriter, _ *frame.Request) error {
			frame.SetValidators(w, 7, lcm.SystemClock{}.Now())
			return frame.WriteJSON(w, http.StatusOK, text)
		}
	}
	b := serve(
		t, frame.Route{Method: "GET", Path: "/large", Produces: frame.JSON, Handle: write(large)},
		frame.Route{Method: "GET", Path: "/small", Produces: frame.JSON, Handle: write("x")},
		frame.Route{Method: "GET", Path: "/secret", Produces: frame.JSON, Handle: write(large), Secret: true},
	)
	b.client.Transport = &http.Transport{DisableCompression: true} // or it decodes
	tests := []struct {
		path, accepted string
		compressed     bool
	}{
		{"/large", "gzip", true},
		{"/large", "deflate, gzip;q=0.5", true},
		{"/large", "*", true},
		{"/large", "gzip;q=0, *", false},
		{"/large", "br", false},
		{"/large", "", false},
		{"/small", "gzip", false},
		{"/secret", "gzip", false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.path, " ", tt.accepted), func(t *testing.T) {
			t.Parallel()
			a := b.do(t, "GET", "/things/v2"+tt.path, "", "Accept-Encoding", tt.accepted)
			require.Equal(t, 200, a.StatusCode)
			require.Equal(t, fmt.Sprint(len(a.body)), a.Header.Get("Content-Length"))
			if !tt.compressed {
				require.Empty(t, a.Header.Get("Content-Encoding"))
				require.Equal(t, `"7"`, a.Header.Get("Etag"))
				return
			}
			require.Equal(t, "gzip", a.Header.Get("Content-Encoding"))
			require.Equal(t, "Accept-Encoding", a.Header.Get("Vary"))
			require.Less(t, len(a.body), len(large)/10)
			r, err := gzip.NewReader(strings.NewReader(a.body))
			require.NoError(t, err)
			plain, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Contains(t, string(plain), large)

			tag := a.Header.Get("Etag")
			require.Equal(t, `"7-gzip"`, tag, "other bytes have another strong tag")
			a = b.do(t, "GET", "/things/v2"+tt.path, "", "If-None-Match", tag)
			require.Equal(t, 304, a.StatusCode)
		})
	}
}

func TestIfMatchTakesTheTagsOfEveryRepresentation(t *testing.T) {
	t.Parallel()
	check := func(w http.ResponseWriter, r *frame.Request) error {
		if err := r.Precondition(7, lcm.SystemClock{}.Now()); err != nil {
			return err
		}
		return frame.NoContent(w)
	}
	get := func(w http.ResponseWriter, _ *frame.Request) error {
		frame.SetValidators(w, 7, time.Time{})
		return frame.WriteJSON(w, http.StatusOK, thing{"x"})
	}
	b := serve(t, frame.Route{Method: "GET", Path: "/one", Handle: get, Produces: frame.JSON},
		frame.Route{Method: "DELETE", Path: "/one", Handle: check})
	for tag, status := range map[string]int{
		`"7"`: 204, `"7-gzip"`: 204, `"7.IN_USE"`: 204, `"7.IN_USE-gzip"`: 204, `"6", "7"`: 204, `*`: 204, `W/"7"`: 412,
		`"6"`: 412, `"6-gzip"`: 412, `"77"`: 412, `"6.IN_USE"`: 412, `7`: 412,
	} {
		require.Equal(t, status, b.do(t, "DELETE", "/things/v2/one", "", "If-Match", tag).StatusCode, tag)
	}
}
