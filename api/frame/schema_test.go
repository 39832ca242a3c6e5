package frame_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

func TestPreloadFindsBodiesWithoutASchema(t *testing.T) {
	t.Parallel()
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler)})
	f.Mount(frame.API{Prefix: "/x", Routes: []frame.Route{{Method: "POST", Path: "/y", Consumes: frame.JSON}}})
	require.ErrorContains(t, f.Preload(), "POST /x/y")
}

func FuzzValidateBody(f *testing.F) {
	b := serve(f)
	for _, s := range []string{
		`{}`, `{"name":"a","kind":"A"}`, `[`, `{"parts":[{}]}`, "\xff", `{"a":"\u0000"}`, `{"address":{"v4":1}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 900 {
			return
		}
		a := b.do(t, "POST", "/things/v2/things", body)
		require.True(t, slices.Contains([]int{201, 400}, a.StatusCode), "%d %s", a.StatusCode, a.body)
	})
}

func BenchmarkGet(b *testing.B) {
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler)})
	f.Mount(frame.API{
		Prefix: "/things/v2", Versions: []version.Version{version.MustParse("2.0.0")},
		Routes: []frame.Route{{
			Method: "GET", Path: "/things/{id}", Produces: frame.JSON,
			Handle: func(w http.ResponseWriter, _ *frame.Request) error {
				return frame.WriteJSON(w, 200, thing{"x"})
			},
		}},
	})
	req := httptest.NewRequest(http.MethodGet, "/things/v2/things/1", http.NoBody)
	req.Header.Set("Version", "2.0.0")
	b.ReportAllocs()
	for b.Loop() {
		f.ServeHTTP(httptest.NewRecorder(), req)
	}
}
