package cloud

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/stubcloud"
)

func TestMessageQuotesOnlyOpenStack(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error": {"code": 401, "message": "m", "title": "Unauthorized"}}`:                                            "m",
		`{"error": {"message": "m", "identity": {"methods": ["password"]}, "code": 401, "title": "x"}}`:                "m",
		`{"explanation": "e", "code": 400, "error": {"message": "m", "traceback": null, "type": "T"}, "title": "Bad"}`: "m",
		`{"itemNotFound": {"code": 404, "message": "m"}}`:                                                              "m",
		`{"overLimit": {"code": 413, "message": "m", "details": "d", "retryAfter": "0"}}`:                              "m",
		`{"NeutronError": {"type": "T", "message": "m", "detail": ""}}`:                                                "m",
		`{"message": "m<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`:                            "m",
		`{"debuginfo": null, "faultcode": "Client", "faultstring": "m"}`:                                               "m",

		"# HELP go_gc_duration_seconds\ngo_gc 1":              "",
		`"a string"`:                                          "",
		`["a", {"message": "m"}]`:                             "",
		`{"status": "success", "data": {"message": "m"}}`:     "",
		`{"password": "p", "message": "m"}`:                   "",
		`{"data": {"message": "m", "password": "p"}}`:         "",
		`{"error": "m"}`:                                      "",
		`{"error": {"message": {"deep": "m"}}}`:               "",
		`{"detail": "m"}`:                                     "",
		`<html><title>m</title><body>intranet</body></html>`:  "",
		`{"message": "m", "code": 1} {"message": "trailing"}`: "",
	} {
		if want == "" {
			require.Contains(t, message([]byte(body), "text/plain"), "no OpenStack error document (text/plain, ", body)
			continue
		}
		require.Equal(t, want, message([]byte(body), "application/json"), body)
	}
	require.Equal(t, "no OpenStack error document (unknown type, 1 bytes)", message([]byte("x"), "secret text/x!"))
}

// TestForeignServersAreNotQuoted connects to servers that are no VIM: a client must not read their answers in our
// errors.
func TestForeignServersAreNotQuoted(t *testing.T) {
	t.Parallel()
	const private = "private-canary"
	for name, answer := range map[string]string{
		"an SSH server":         "SSH-2.0-" + private + "\r\n",
		"a bad header":          "HTTP/1.1 200 OK\r\n" + private + " x\r\n\r\n",
		"a bad length":          "HTTP/1.1 200 OK\r\nContent-Length: " + private + "\r\n\r\n",
		"a bad status":          "HTTP/1.1 " + private + " OK\r\n\r\n",
		"a bad encoding":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + private + "\r\n\r\n",
		"metrics with 200":      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n# HELP " + private + "\n",
		"metrics with 404":      "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n# HELP " + private + "\n",
		"JSON of another API":   "HTTP/1.1 201 Created\r\n\r\n{\"token\": \"" + private + "\"}",
		"a number":              "HTTP/1.1 201 Created\r\n\r\n{\"token\": {\"expires_at\": \"" + private + "\"}}",
		"a redirect to a query": "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/metrics?" + private + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lc net.ListenConfig
			l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 4096))
					_, _ = conn.Write([]byte(answer))
					_ = conn.Close()
				}
			}()
			_, err = testPool(t, Config{}).Connect(t.Context(), "v", stubcloud.VimAt("http://"+l.Addr().String()))
			e := asError(t, err)
			require.NotContains(t, e.Error()+e.Hint, private)
			require.Contains(t, e.Detail, l.Addr().String())
		})
	}
}

// TestMetricsAreNotReadThroughARedirect is an attack: the address in a request is that of the attacker's server, which
// redirects to a server that only this node can reach.
func TestMetricsAreNotReadThroughARedirect(t *testing.T) {
	t.Parallel()
	metrics := newElsewhere(t)
	s := stubcloud.New(t)
	s.Login = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, metrics.URL+"/stolen", http.StatusFound)
	}
	_, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
	metrics.requireRefused(t, err, s.URL+"/identity/v3/auth/tokens")
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"error": {"message": "x"}}`), "application/json")
	f.Add([]byte(`<html><title>x</title>`), "text/html")
	f.Add([]byte(`{"a": {"message": "\ud800"}}`), "")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		m := message(body, contentType)
		if len(m) > MaxText+8 || strings.ContainsAny(m, "\n\r\t") {
			t.Fatalf("%d bytes: %q", len(m), m)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(body, &object) != nil && m != "" && !strings.HasPrefix(m, "no OpenStack error document (") {
			t.Fatalf("quotes a text that is no JSON object: %q", m)
		}
	})
}
