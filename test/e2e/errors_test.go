package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// Every kind of request that cannot be answered gets the status that the standard has for it and a problem document
// that says what is wrong, and leaves the server as it was.
func TestEveryKindOfHTTPError(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *config.Config) { c.Limits.Body = 64 * config.KiB })
	vnfd := w.onboard(plainSource)
	id := w.create(vnfd)
	packages, err := w.api.Packages(t.Context(), "", false)
	require.NoError(t, err)
	content := "/vnfpkgm/v1/vnf_packages/" + packages[0].ID + "/package_content"
	const instances = "/vnflcm/v2/vnf_instances"
	plain := string(encode(t, w.plain("default")))
	headers := func(kv ...string) http.Header {
		h := http.Header{"Version": {"2.0.0"}, "Content-Type": {"application/json"}}
		for i := 0; i < len(kv); i += 2 {
			if h.Set(kv[i], kv[i+1]); kv[i+1] == "" {
				h.Del(kv[i])
			}
		}
		return h
	}
	for name, tc := range map[string]struct {
		method, path string
		header       http.Header
		body         string
		status       int
		detail       string
		pointer      string
		answer       string // header of the answer that must be there, "Name: value"
	}{
		"no such resource": {"GET", "/vnflcm/v2/nothing", headers(), "", 404, "/vnflcm/v2/nothing", "", ""},
		"no such instance": {
			"GET", instances + "/" + uuid.NewString(), headers(), "", 404, "there is no VNF instance", "", "",
		},
		"id that can be none":   {"GET", instances + "/a%00b", headers(), "", 404, "", "", ""},
		"method":                {"PUT", instances, headers(), "{}", 405, "PUT", "", "Allow: GET, HEAD, POST"},
		"no version":            {"GET", instances, headers("Version", ""), "", 400, "Version", "", ""},
		"malformed version":     {"GET", instances, headers("Version", "two"), "", 400, "two", "", ""},
		"version of the future": {"GET", instances, headers("Version", "9.0.0"), "", 406, "9.0.0", "", ""},
		"nothing acceptable": {
			"GET", instances, headers("Accept", "image/png"), "", 406, "application/json", "", "",
		},
		"media type":     {"POST", instances, headers("Content-Type", "text/csv"), "a;b", 415, "text/csv", "", ""},
		"no JSON":        {"POST", instances, headers(), `{"vnfdId": `, 400, "", "", ""},
		"no body":        {"POST", instances, headers(), "", 400, "", "", ""},
		"missing member": {"POST", instances, headers(), "{}", 400, "vnfdId", "", ""},
		"member of a wrong type": {
			"POST", instances, headers(), `{"vnfdId": "x", "vnfInstanceName": 7}`, 400, "", "/vnfInstanceName", "",
		},
		"body over the limit": {
			"POST", instances, headers(), `{"vnfdId": "` + strings.Repeat("x", 70<<10) + `"}`, 413, "65536", "", "",
		},
		"unknown VNFD": {"POST", instances, headers(), `{"vnfdId": "nobody"}`, 422, "nobody", "/vnfdId", ""},
		"unknown flavour": {
			"POST", instances + "/" + id + "/instantiate", headers(),
			strings.Replace(plain, `"default"`, `"huge"`, 1), 422, "huge", "/flavourId", "",
		},
		"not instantiated": {
			"POST", instances + "/" + id + "/terminate", headers(), `{"terminationType":"FORCEFUL"}`,
			409, "NOT_INSTANTIATED", "", "",
		},
		"changed by another": {"DELETE", instances + "/" + id, headers("If-Match", `"other"`), "", 412, "", "", ""},
		"range": {
			"GET", content, headers("Version", "", "Range", "bytes=999999999-"), "", 416, "", "", "",
		},
		"malformed filter": {"GET", instances + "?filter=(eq,id", headers(), "", 400, "", "", ""},
		"unknown selector": {"GET", instances + "?fields=colour", headers(), "", 400, "colour", "", ""},
		"unknown marker":   {"GET", instances + "?nextpage_opaque_marker=zzz", headers(), "", 400, "", "", ""},
		"package in use": {
			"DELETE", "/vnfpkgm/v1/vnf_packages/" + packages[0].ID, headers("Version", ""), "", 409, "", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(
				t.Context(), tc.method, w.node.URL()+tc.path, strings.NewReader(tc.body),
			)
			require.NoError(t, err)
			req.Header = tc.header
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			raw, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, tc.status, resp.StatusCode, "%s", raw)
			require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
			var p sol.ProblemDetails
			require.NoError(t, json.Unmarshal(raw, &p), "%s", raw)
			require.Equal(t, tc.status, p.Status)
			require.NotEmpty(t, p.Detail)
			require.Contains(t, string(raw), tc.detail)
			if tc.pointer != "" {
				require.Len(t, p.InvalidParams, 1, "%s", raw)
				require.Equal(t, tc.pointer, p.InvalidParams[0].Pointer)
			}
			if name, value, ok := strings.Cut(tc.answer, ": "); ok {
				require.Equal(t, value, resp.Header.Get(name))
			}
		})
	}
	list, err := w.api.Instances(t.Context(), "", false)
	require.NoError(t, err)
	require.Len(t, list, 1, "no half of a record is left")
	require.NoError(t, w.api.Ready(t.Context()))
	w.gone()
}
