package oracle

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// recording is a test whose errors are kept.
type recording struct {
	testing.TB

	mu  sync.Mutex
	got []string
}

// Errorf implements testing.TB.
func (r *recording) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, fmt.Sprintf(format, args...))
}

// errors returns the errors so far, and forgets them.
func (r *recording) errors() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

// TestLayersFindDifferences: the layer around a node and the one around a client find the same, also in a body that is
// compressed or written in parts, and change nothing.
func TestLayersFindDifferences(t *testing.T) {
	t.Parallel()
	Require(t)
	wrong := strings.Replace(instance, "NOT_INSTANTIATED", "OTHER", 1)
	for name, tt := range map[string]struct {
		path, body string
		gzip       bool
		findings   int
	}{
		"good":                {"/vnflcm/v2/vnf_instances/i", instance, false, 0},
		"wrong":               {"/vnflcm/v2/vnf_instances/i", wrong, false, 2},
		"wrong, compressed":   {"/vnflcm/v2/vnf_instances/i", wrong, true, 2},
		"not of the standard": {"/gybe/v1/vnf_instances/i", wrong, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := []byte(tt.body)
			if tt.gzip {
				var z bytes.Buffer
				w := gzip.NewWriter(&z)
				_, err := w.Write(sent)
				require.NoError(t, err)
				require.NoError(t, w.Close())
				sent = z.Bytes()
			}
			node, client := &recording{TB: t}, &recording{TB: t}
			s := httptest.NewServer(Handler(node)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if tt.gzip {
					w.Header().Set("Content-Encoding", "gzip")
				}
				for part := range bytes.SplitSeq(sent, []byte(",")) {
					if !bytes.HasPrefix(sent, part) {
						part = append([]byte(","), part...)
					}
					_, _ = w.Write(part) // the client reads all
					_ = http.NewResponseController(w).Flush()
				}
			})))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+tt.path, http.NoBody)
			require.NoError(t, err)
			req.Header.Set("Accept-Encoding", "identity") // the transport must not decompress
			resp, err := Transport{Report: client.Errorf, Next: http.DefaultTransport}.RoundTrip(req)
			require.NoError(t, err)
			raw, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			s.Close() // its handler has returned
			require.Equal(t, sent, raw)
			require.Len(t, node.errors(), tt.findings)
			require.Len(t, client.errors(), tt.findings)
		})
	}
}

func TestSubscriberFindsDifferences(t *testing.T) {
	t.Parallel()
	Require(t)
	for body, findings := range map[string]int{created: 0, strings.Replace(created, `"id":"n",`, "", 1): 1} {
		got := &recording{TB: t}
		var read []byte
		h := Subscriber(got, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			read, _ = io.ReadAll(r.Body) // compared below
			w.WriteHeader(http.StatusNoContent)
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body)))
		require.Equal(t, http.StatusNoContent, w.Code)
		require.Equal(t, body, string(read))
		require.Len(t, got.errors(), findings)
	}
}
