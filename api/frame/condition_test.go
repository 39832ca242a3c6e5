package frame_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestConditionsOfRequestsThatModify: handlers that know nothing of conditions run only if these hold.
func TestConditionsOfRequestsThatModify(t *testing.T) {
	t.Parallel()
	done := func(w http.ResponseWriter, _ *frame.Request) error { return frame.NoContent(w) }
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler)})
	f.Mount(frame.API{Prefix: "/x", Routes: []frame.Route{
		{
			Method: "GET", Path: "/things/{id}", Produces: frame.JSON,
			Handle: func(w http.ResponseWriter, r *frame.Request) error {
				if r.Param("id") != "a" {
					return lcm.Errorf(lcm.CodeNotFound, "there is no thing")
				}
				return frame.WriteJSON(w, http.StatusOK, map[string]string{"id": "a"})
			},
		},
		{Method: "GET", Path: "/things/{id}/content", Produces: []string{"application/zip"}, Handle: done},
		{Method: "PUT", Path: "/things/{id}/content", Handle: done},
		{Method: "DELETE", Path: "/things/{id}", Handle: done},
		{Method: "POST", Path: "/things/{id}/start", Handle: done},
		{Method: "POST", Path: "/things", Handle: done},
		{Method: "PUT", Path: "/other", Handle: done},
	}})
	send := func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "/x"+path, nil)
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		rec := httptest.NewRecorder()
		f.ServeHTTP(rec, r)
		return rec
	}
	etag := send("GET", "/things/a").Header().Get("ETag")
	require.NotEmpty(t, etag)
	for _, tt := range []struct {
		path, name, value string
		want              int
	}{
		{"/things/a", "If-Match", etag, 204},
		{"/things/a", "If-Match", etag[:len(etag)-1] + `-gzip"`, 204},
		{"/things/a", "If-Match", "*", 204},
		{"/things/a", "If-Match", `"other"`, 412},
		{"/things/a", "If-Match", "W/" + etag, 412},
		{"/things/b", "If-Match", "*", 404},
		{"/things/a", "If-None-Match", `"other"`, 204},
		{"/things/a", "If-None-Match", etag, 412},
		{"/things/a", "If-None-Match", "W/" + etag, 412},
		{"/things/a", "If-None-Match", "*", 412},
		{"/things/b", "If-None-Match", "*", 204},
	} {
		for method, suffix := range map[string]string{"DELETE": "", "POST": "/start", "PUT": "/content"} {
			rec := send(method, tt.path+suffix, tt.name, tt.value)
			require.Equal(t, tt.want, rec.Code, "%s %s %s: %s", method, tt.path+suffix, tt.name, tt.value)
		}
	}
	require.Equal(t, 204, send("POST", "/things", "If-None-Match", "*").Code, "it makes a resource")
	require.Equal(t, 412, send("PUT", "/other", "If-Match", "*").Code)
	require.Equal(t, 204, send("PUT", "/other").Code)
}
