package conformance_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
)

// generatedCases describes them in the report.
const generatedCases = `
## Generated cases

These cases are not of a list. The tests make them from the routes of a node and from its data types:

| cases | for | expected |
| --- | --- | --- |
| methods | each of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS and TRACE that a resource does not have | 405 with Allow |
| unknown resources | each method of a path with an identifier, with an unknown one | 404 |
| Accept | each method that answers with a body | 406 for a type that it does not produce |
| Content-Type | each method that reads a body | 415 for a type that it does not read, and without one |
| Version | each method that needs the header: missing, garbled, unsupported, twice | 400 or 406 |
| HEAD, If-None-Match, gzip | each GET of a resource that exists | the headers of the GET; an ETag, and 304 to a client that has it; the same body |
| filters | each operator on each attribute of the lists | the resources that match; 400 for a value of another type |
| selectors | each selector on each attribute of the lists | the attributes that are selected, and all simple and mandatory ones |
`

// route is one of the routes of the node below the prefixes of the standard's interfaces.
type route struct{ method, path string }

func (n *node) routes() []route {
	var out []route
	for _, r := range n.app.Routes() {
		if strings.HasPrefix(r.Route, "/vnflcm") || strings.HasPrefix(r.Route, "/vnfpkgm") {
			out = append(out, route{r.Method, r.Route})
		}
	}
	return out
}

var variable = regexp.MustCompile(`\{[^}]*\}|\*$`)

// unknown puts identifiers of nothing into the path.
func (r route) unknown() string { return variable.ReplaceAllString(r.path, uuid.NewString()) }

// body is the name of a body that the route reads; "" if it reads none.
func (r route) body() string {
	last := r.path[strings.LastIndex(r.path, "/")+1:]
	switch r.method {
	case http.MethodGet, http.MethodDelete:
		return ""
	case http.MethodPatch:
		if strings.HasPrefix(r.path, "/vnflcm/v2/vnf_snapshots/") {
			return "snapshot_package"
		}
		return map[bool]string{true: "disable", false: "modify"}[strings.HasPrefix(r.path, "/vnfpkgm")]
	}
	switch last {
	case "retry", "rollback", "fail":
		return ""
	case "vnf_instances":
		return "create"
	case "vnf_snapshots":
		return "empty"
	case "create_snapshot", "revert_to_snapshot":
		return "of_snapshot"
	case "vnf_packages":
		return "create_package"
	case "package_content":
		return "archive"
	case "upload_from_uri":
		return "uri"
	case "subscriptions":
		return map[bool]string{true: "package_subscription", false: "subscription"}[strings.HasPrefix(
			r.path, "/vnfpkgm")]
	case "instantiate", "change_ext_conn", "change_flavour":
		if strings.HasPrefix(r.path, "/vnflcm/v1/") {
			return last + "_v1"
		}
		return last
	case "change_vnfpkg":
		return "change_vnfpkg"
	default:
		return last
	}
}

// TestRoutes makes cases from the routes of a node.
func TestRoutes(t *testing.T) {
	n := startNode(t, nil)
	routes := n.routes()
	require.Greater(t, len(routes), 40)
	of := map[string][]string{}
	for _, r := range routes {
		of[r.path] = append(of[r.path], r.method)
	}
	t.Run("methods", func(t *testing.T) {
		for path, has := range of {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
				if slices.Contains(has, method) || method == http.MethodHead && slices.Contains(has, http.MethodGet) {
					continue
				}
				a, err := n.send(t.Context(), message{method: method, path: route{method, path}.unknown()})
				require.NoError(t, err)
				require.Equal(t, http.StatusMethodNotAllowed, a.status, "%s %s", method, path)
				allow := strings.Split(a.header.Get("Allow"), ", ")
				if slices.Contains(has, "GET") {
					has = append(slices.Clone(has), "HEAD")
				}
				want := slices.Compact(slices.Sorted(slices.Values(has)))
				require.ElementsMatch(t, want, allow, "%s %s", method, path)
			}
		}
	})
	t.Run("unknown resources", func(t *testing.T) { n.testUnknown(t, routes) })
	t.Run("media types", func(t *testing.T) { n.testMediaTypes(t, routes) })
	t.Run("versions", func(t *testing.T) { n.testVersions(t, routes) })
	t.Run("reads", func(t *testing.T) { n.testReads(t, routes) })
}

// request is one that would be accepted if the resource existed.
func (n *node) request(t *testing.T, r route) message {
	t.Helper()
	m := message{method: r.method, path: r.unknown(), header: map[string]string{}}
	name := r.body()
	if name == "" {
		return m
	}
	raw, media, err := n.body(name, values{
		"vnfd": uuid.NewString(), "name": uuid.NewString(), "package": uuid.NewString(), "instance": uuid.NewString(),
		"snapshot": uuid.NewString(),
	})
	require.NoError(t, err, "%s %s", r.method, r.path)
	m.body, m.header["Content-Type"] = raw, media
	return m
}

func (n *node) testUnknown(t *testing.T, routes []route) {
	t.Helper()
	for _, r := range routes {
		if !variable.MatchString(r.path) {
			continue
		}
		a, err := n.send(t.Context(), n.request(t, r))
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, a.status, "%s %s: %s", r.method, r.path, a.body)
	}
	for _, path := range []string{
		"/vnflcm/v2/", "/vnflcm/v2/nothing", "/vnflcm/v9/vnf_instances", "/vnfpkgm/v1/nothing",
	} {
		a, err := n.send(t.Context(), message{method: http.MethodGet, path: path})
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, a.status, path)
	}
}

// answersWithBody says whether a success has a body, by the documents that the node serves.
func answersWithBody(t *testing.T, r route) bool {
	t.Helper()
	for status, response := range described(t, r).Responses.Map() {
		if strings.HasPrefix(status, "2") && len(response.Value.Content) > 0 {
			return true
		}
	}
	return false
}

// described is a route in the documents that the node serves.
func described(t *testing.T, r route) *openapi3.Operation {
	t.Helper()
	for prefix, name := range map[string]string{
		"/vnflcm/v1": openapi.VnfLcmV1, "/vnflcm/v2": openapi.VnfLcmV2, "/vnfpkgm/v1": openapi.VnfPkgmV1,
		"/vnfpkgm/v2": openapi.VnfPkgmV2,
	} {
		if path, ok := strings.CutPrefix(r.path, prefix); ok {
			doc, err := openapi.Load(name)
			require.NoError(t, err)
			item := doc.Paths.Value(strings.Replace(path, "*", "{artifactPath}", 1))
			require.NotNil(t, item, r.path)
			return item.GetOperation(r.method)
		}
	}
	return &openapi3.Operation{Responses: openapi3.NewResponses()}
}

func (n *node) testMediaTypes(t *testing.T, routes []route) {
	t.Helper()
	for _, r := range routes {
		at := r.method + " " + r.path
		m := n.request(t, r)
		if m.body != nil {
			for _, media := range []string{"text/x-unknown", ""} {
				m.header["Content-Type"] = media
				a, err := n.send(t.Context(), m)
				require.NoError(t, err)
				require.Equal(t, http.StatusUnsupportedMediaType, a.status, "%s %q: %s", at, media, a.body)
			}
			m = n.request(t, r)
		}
		// The client of an artifact is the only one that knows its type.
		if strings.HasSuffix(r.path, "/artifacts/*") || !answersWithBody(t, r) {
			continue
		}
		for accept, want := range map[string]int{
			"text/x-unknown": 406, "application/json;q=0, text/plain;q=0, application/zip;q=0": 406,
		} {
			m.header["Accept"] = accept
			a, err := n.send(t.Context(), m)
			require.NoError(t, err)
			require.Equal(t, want, a.status, "%s %s: %s", at, accept, a.body)
		}
	}
}

func (n *node) testVersions(t *testing.T, routes []route) {
	t.Helper()
	for _, r := range routes {
		m := n.request(t, r)
		current := versionOf(m.path)
		if current == "" || strings.HasSuffix(r.path, "/api_versions") {
			continue
		}
		for version, want := range map[string]int{
			"": 400, "2": 400, "v2.0.0": 400, "2.0.0.0": 400, "02.0.0": 400, "2.0": 400, "x": 400, "2.0.0-x": 400,
			"9.9.9": 406, "1.0.0": 406, current: 0, current + "-impl:example.org:Client:1": 0,
		} {
			m.header["Version"] = version
			a, err := n.send(t.Context(), m)
			require.NoError(t, err)
			at := fmt.Sprintf("%s %s with Version %q: %s", r.method, r.path, version, a.body)
			if want != 0 {
				require.Equal(t, want, a.status, at)
				continue
			}
			require.NotContains(t, []int{400, 406}, a.status, at)
			require.Equal(t, current, a.header.Get("Version"), at)
		}
	}
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodGet, n.app.URL()+"/vnflcm/v2/vnf_instances", http.NoBody,
	)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+n.token)
	req.Header["Version"] = []string{"2.0.0", "2.0.0"}
	resp, err := n.transport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "400", strconv.Itoa(resp.StatusCode), "the header is there twice")
}
