package frame_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestOriginsAcceptOnlyNamesOfTheServer(t *testing.T) {
	t.Parallel()
	some := []string{"vnfm.example.org:443", "localhost", "*.cluster.local"}
	for _, tt := range []struct {
		host  string
		names []string
		want  bool
	}{
		{"vnfm.example.org", some, true},
		{"VNFM.example.org.:8443", some, true},
		{"localhost:9890", some, true},
		{"gybe.nfv.svc.cluster.local", some, true},
		{"cluster.local", some, false},
		{".cluster.local", some, false},
		{"xcluster.local", some, false},
		{"rebind.attacker.example", some, false},
		{"rebind.attacker.example:9890", some, false},
		{"127.0.0.1.attacker.example", some, false},
		{"vnfm.example.org.attacker.example", some, false},
		{"10.0.0.7:9890", some, true},
		{"[::1]:9890", some, true},
		{"::1", some, true},
		{"", some, true},
		{"rebind.attacker.example", []string{"*"}, true},
	} {
		t.Run(tt.host, func(t *testing.T) {
			t.Parallel()
			o, err := frame.NewOrigins(tt.names, nil)
			require.NoError(t, err)
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Host = tt.host
			err = o.Check(r)
			if tt.want {
				require.NoError(t, err)
				return
			}
			require.Equal(t, lcm.CodeMisdirected, lcm.AsError(err).Code)
			require.Contains(t, lcm.AsError(err).Hint, "hosts")
		})
	}
}

func TestOriginsRejectChangesFromOtherSites(t *testing.T) {
	t.Parallel()
	o, err := frame.NewOrigins([]string{"vnfm.example.org"}, []string{"https://vnfm.example.org"})
	require.NoError(t, err)
	for _, tt := range []struct {
		name, method string
		headers      map[string]string
		want         bool
	}{
		{"a program", "POST", nil, true},
		{"a page of ours", "POST", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "https://x"}, true},
		{"typed by the user", "POST", map[string]string{"Sec-Fetch-Site": "none"}, true},
		{"an old browser behind a proxy", "DELETE", map[string]string{"Origin": "https://vnfm.example.org"}, true},
		{"a page of another site", "POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		{"a page of a site beside ours", "PUT", map[string]string{"Sec-Fetch-Site": "same-site"}, false},
		{"an old browser", "PATCH", map[string]string{"Origin": "http://evil.example"}, false},
		{"a page without an origin", "POST", map[string]string{"Origin": "null"}, false},
		{"reading", "GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tt.method, "/", http.NoBody)
			r.Host = "vnfm.example.org"
			for name, value := range tt.headers {
				r.Header.Set(name, value)
			}
			err := o.Check(r)
			if tt.want {
				require.NoError(t, err)
				return
			}
			require.Equal(t, lcm.CodeForbidden, lcm.AsError(err).Code)
		})
	}
}

func TestNewOriginsRejectsATrustedOriginThatIsNotOne(t *testing.T) {
	t.Parallel()
	_, err := frame.NewOrigins(nil, []string{"vnfm.example.org"})
	require.Error(t, err)
}
