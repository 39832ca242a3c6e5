package app_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// TestNodeRejectsRequestsOfOtherSites: a web page that a user visits can neither read answers by DNS rebinding nor
// change something.
func TestNodeRejectsRequestsOfOtherSites(t *testing.T) {
	t.Parallel()
	cfg := settings(t, devpg.EmptyURL(t))
	cfg.PublicURL, cfg.Hosts = "https://vnfm.example.org/nfv", []string{"gybe.nfv.svc"}
	n, _, _ := start(t, cfg)
	api, debug := "http://"+n.Addr(), "http://"+n.DebugAddr()
	const packages = "/vnfpkgm/v1/vnf_packages"
	for _, tt := range []struct {
		name, method, url, host string
		headers                 map[string]string
		status                  int
		text                    string
	}{
		{"address", "GET", api + packages, "", nil, 200, ""},
		{"public URL", "GET", api + packages, "vnfm.example.org", nil, 200, ""},
		{"setting", "GET", api + packages, "gybe.nfv.svc:9890", nil, 200, ""},
		{"another name", "GET", api + packages, "rebind.attacker.example", nil, 421, "GYBE_HOSTS"},
		{"another name, console", "GET", api + "/ui/", "rebind.attacker.example", nil, 421, "GYBE_HOSTS"},
		{"another name, no resource", "GET", api + "/x", "rebind.attacker.example", nil, 421, "GYBE_HOSTS"},
		{"metrics", "GET", debug + "/metrics", "localhost:9891", nil, 200, ""},
		{"another name, metrics", "GET", debug + "/metrics", "rebind.attacker.example", nil, 421, "loopback"},
		{"another name, profile", "GET", debug + "/debug/pprof/", "rebind.attacker.example", nil, 421, "loopback"},
		{"a program", "POST", api + packages, "", nil, 201, ""},
		{
			"a page of the console", "POST", api + packages, "vnfm.example.org",
			map[string]string{"Origin": "https://vnfm.example.org", "Sec-Fetch-Site": "same-origin"},
			201, "",
		},
		{
			"a page of another site", "POST", api + packages, "",
			map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
			403, "another web site",
		},
		{
			"a page of another site, no such resource", "POST", api + "/ui/", "",
			map[string]string{"Sec-Fetch-Site": "cross-site"},
			403, "",
		},
		{"no type", "POST", api + packages, "", map[string]string{"Content-Type": ""}, 415, "Content-Type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, strings.NewReader("{}"))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			for name, value := range tt.headers {
				req.Header.Set(name, value)
			}
			if tt.headers["Content-Type"] == "" && tt.status == 415 {
				req.Header.Del("Content-Type")
			}
			req.Host, req.Close = tt.host, true
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer res.Body.Close()
			var body bytes.Buffer
			_, err = body.ReadFrom(res.Body)
			require.NoError(t, err)
			require.Equal(t, tt.status, res.StatusCode, body.String())
			require.Contains(t, body.String(), tt.text)
			if strings.HasPrefix(tt.url, api+"/vnfpkgm") && tt.status >= 400 {
				var p sol.ProblemDetails
				require.NoError(t, json.Unmarshal(body.Bytes(), &p))
			}
		})
	}
}

// TestStartReportsTheMemoryLimit: an operator sees in the first line which limit holds, and where it comes from.
func TestStartReportsTheMemoryLimit(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "3000MiB") // the limit of the test process stays as it is
	var log bytes.Buffer
	cfg := settings(t, devpg.EmptyURL(t))
	n, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	stop := run(t, n)
	stop()
	require.Contains(t, log.String(), "memory_limit=3000MiB memory_limit_from=GOMEMLIMIT")
}
