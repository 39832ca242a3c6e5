package frame_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
)

func TestADeadlineForReadingDoesNotEndTheHandler(t *testing.T) {
	t.Parallel()
	const deadline = 3 * time.Second // a busy machine must read a request within it
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler)})
	wait := func(_ http.ResponseWriter, r *frame.Request) error {
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-time.After(2 * deadline):
			return nil
		}
	}
	f.Mount(frame.API{Prefix: "/x", Routes: []frame.Route{
		{Method: "GET", Path: "/wait", Handle: wait},
		{
			Method: "PUT", Path: "/wait", Consumes: []string{"application/zip"}, Stream: true,
			Handle: func(w http.ResponseWriter, r *frame.Request) error {
				if _, err := io.Copy(io.Discard, frame.StreamBody(w, r.Request, 10, time.Minute)); err != nil {
					return err
				}
				return wait(w, r)
			},
		},
	}})
	s := httptest.NewUnstartedServer(f)
	s.Config.ReadTimeout = deadline
	s.Start()
	t.Cleanup(s.Close)
	slow := httptest.NewUnstartedServer(f)
	slow.Config.WriteTimeout = deadline
	slow.Start()
	t.Cleanup(slow.Close)
	for name, tt := range map[string]struct {
		server *httptest.Server
		method string
		body   io.Reader
	}{
		"a request":         {s, http.MethodGet, http.NoBody},
		"an upload":         {s, http.MethodPut, strings.NewReader("PK")},
		"its answer's time": {slow, http.MethodPut, strings.NewReader("PK")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.server.URL+"/x/wait", tt.body)
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/zip")
			resp, err := tt.server.Client().Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, 200, resp.StatusCode)
		})
	}
}

func TestPreferredMediaType(t *testing.T) {
	t.Parallel()
	offers := []string{"text/plain", "application/zip"}
	for accept, want := range map[string]string{
		"": "text/plain", "*/*": "text/plain", "application/zip": "application/zip", "application/*": "application/zip",
		"text/plain;q=0.1, application/zip": "application/zip", "text/*;q=0.5, */*;q=0.6": "application/zip",
		"text/plain;q=0, */*": "application/zip", "image/png": "", "APPLICATION/ZIP": "application/zip", ",;,": "",
	} {
		got, _ := frame.Preferred([]string{accept}, offers)
		require.Equal(t, want, got, "%q", accept)
	}
}

func TestOneLogLinePerRequestWithoutItsQuery(t *testing.T) {
	t.Parallel()
	b := serve(t)
	b.do(t, "GET", "/things/v2/things?filter=(eq,id,geheim)", "")
	require.Eventually(t, func() bool { return strings.Contains(b.log.String(), "\n") }, time.Minute, time.Millisecond)
	lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
	require.Len(t, lines, 1)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &line))
	require.Equal(t, "request", line["msg"])
	require.Equal(t, "/things/v2/things", line["path"])
	require.EqualValues(t, 200, line["status"])
	require.NotContains(t, lines[0], "geheim")
}
