package coordination

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestCredentialsDoNotFollowRedirects: neither password nor token nor body reaches another server, also when https
// becomes http, and the error names both addresses.
func TestCredentialsDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		oauth, tls bool
		status     int
	}{
		"basic 302":                {false, false, http.StatusFound},
		"basic 307":                {false, false, http.StatusTemporaryRedirect},
		"token endpoint 302":       {true, false, http.StatusFound},
		"token endpoint 307":       {true, false, http.StatusTemporaryRedirect},
		"basic 307 from https":     {false, true, http.StatusTemporaryRedirect},
		"token endpoint 308 https": {true, true, http.StatusPermanentRedirect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stolen atomic.Int32
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
			t.Cleanup(other.Close)
			redirects := http.RedirectHandler(other.URL+"/stolen", tt.status)
			first := httptest.NewUnstartedServer(redirects)
			if tt.tls {
				first.StartTLS()
			} else {
				first.Start()
			}
			t.Cleanup(first.Close)

			at, err := url.Parse(first.URL)
			require.NoError(t, err)
			client := first.Client()
			client.CheckRedirect = rejectRedirect
			c := Client{HTTP: client, Endpoint: at}
			from := first.URL + "/lcmcoord/v1/coordinations"
			c.Auth.AuthType = []string{authBasic}
			c.Auth.ParamsBasic.UserName, c.Auth.ParamsBasic.Password = "em", "pa55"
			if tt.oauth {
				c.Auth.AuthType = []string{authClient}
				o := &c.Auth.ParamsOauth2ClientCredentials
				o.ClientID, o.ClientPassword, o.TokenEndpoint = "em", "pa55", first.URL+"/token"
				from = o.TokenEndpoint
			}
			_, err = c.Begin(t.Context(), Request{CoordinationActionName: "x"}, "key")
			require.Zero(t, stolen.Load())
			e := lcm.AsError(err)
			require.Contains(t, e.Detail, from+" redirects to "+other.URL+"/stolen")
			require.Equal(t, lcm.CodeUpstream, e.Code)
			require.Equal(t, lcm.Permanent, e.Class)
			require.NotContains(t, e.Error(), "pa55")
		})
	}
}

// TestForeignAnswersAreNotQuoted: an error quotes ProblemDetails and nothing else.
func TestForeignAnswersAreNotQuoted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ answer, want string }{
		"text": {"HTTP/1.1 500 x\r\nContent-Length: 6\r\n\r\ncanary", "500 x, no ProblemDetails (6 bytes)"},
		"JSON": {
			"HTTP/1.1 404 x\r\nContent-Length: 14\r\n\r\n{\"a\":\"canary\"}", "404 x, no ProblemDetails (14 bytes)",
		},
		"result": {
			"HTTP/1.1 200 x\r\nContent-Length: 6\r\n\r\ncanary", "the answer (6 bytes) has no coordinationResult",
		},
		"not HTTP":       {"canary\r\n\r\n", "the server does not speak HTTP"},
		"header":         {"HTTP/1.1 200 x\r\ncanary canary\r\n\r\n", "the server does not speak HTTP"},
		"ProblemDetails": {"HTTP/1.1 409 x\r\nContent-Length: 20\r\n\r\n{\"detail\":\"not now\"}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				_, _ = io.Copy(conn, strings.NewReader(tt.answer))
				_ = conn.Close()
			}))
			t.Cleanup(s.Close)
			at, err := url.Parse(s.URL)
			require.NoError(t, err)
			c := Client{HTTP: s.Client(), Endpoint: at}
			a, err := c.Begin(t.Context(), Request{}, "key")
			if tt.want == "" {
				require.NoError(t, err)
				require.Equal(t, "409 x, not now", a.Detail)
				return
			}
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "canary")
		})
	}
}
