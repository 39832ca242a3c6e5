package access_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
)

// aliases are routes that documents do not have, with the path that they serve.
var aliases = map[string]string{"/v1.0/vims.json": "/v1.0/vims"}

// withoutID are routes that answer 404 because of an id in the body.
var withoutID = map[string]bool{"POST /gybe/v1/plan": true}

// TestDocumentsHaveTheAnswersOfAccess compares the OpenAPI documents with the table of routes of a node: each route is
// documented, and has the answers to requests that are not authenticated, have no sufficient role, are about resources
// of another project, or cannot be checked now.
func TestDocumentsHaveTheAnswersOfAccess(t *testing.T) {
	t.Parallel()
	documented := documentedOperations(t)
	for _, name := range openapi.Names() {
		doc, err := openapi.Load(name)
		require.NoError(t, err)
		requireSecurity(t, doc, name)
	}
	served := map[string]bool{}
	for _, route := range start(t, nil).node.Routes() {
		if route.Public || strings.HasPrefix(route.Route, "/ui/") {
			continue
		}
		path := documentedPath(route.Route)
		name := route.Method + " " + path
		op := documented[name]
		require.NotNil(t, op, "%s is in no document", name)
		want := map[int]string{
			http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden",
			http.StatusServiceUnavailable: "Unavailable", http.StatusTooManyRequests: "TooManyRequests",
		}
		if strings.Contains(path, "{") || withoutID[name] {
			want[http.StatusNotFound] = "NotFound"
		}
		for status, response := range want {
			got := op.Responses.Status(status)
			require.NotNil(t, got, "%s lacks %d", name, status)
			require.Equal(t, "#/components/responses/"+response, got.Ref, "%s %d", name, status)
			require.NotNil(t, got.Value.Content.Get("application/problem+json"), "%s %d", name, status)
		}
		served[name] = true
	}
	for name := range documented {
		require.True(t, served[name], "a node has no route %s", name)
	}
}

// documentedOperations are the operations of all documents, by method and path.
func documentedOperations(t *testing.T) map[string]*openapi3.Operation {
	t.Helper()
	out := map[string]*openapi3.Operation{}
	for _, name := range openapi.Names() {
		doc, err := openapi.Load(name)
		require.NoError(t, err)
		for path, item := range doc.Paths.Map() {
			servers := doc.Servers
			if len(item.Servers) > 0 {
				servers = item.Servers
			}
			for method, op := range item.Operations() {
				require.Nil(t, op.Security, "%s %s", method, path)
				for _, server := range servers {
					out[method+" "+server.URL+path] = op
				}
			}
		}
	}
	return out
}

// documentedPath is the path that the documents have for a route.
func documentedPath(route string) string {
	if alias := aliases[route]; alias != "" {
		return alias
	}
	return strings.Replace(route, "/artifacts/*", "/artifacts/{artifactPath}", 1)
}

// requireSecurity requires the ways to authenticate: each header alone, or none with a client certificate.
func requireSecurity(t *testing.T, doc *openapi3.T, name string) {
	t.Helper()
	require.Equal(t, openapi3.SecurityRequirements{{"keystoneToken": {}}, {"bearerToken": {}}, {}}, doc.Security, name)
	schemes := doc.Components.SecuritySchemes
	require.Len(t, schemes, 2, name)
	require.Equal(t, "X-Auth-Token", schemes["keystoneToken"].Value.Name, name)
	require.Equal(t, "bearer", schemes["bearerToken"].Value.Scheme, name)
	require.Contains(t, doc.Extensions, "x-mutualTLS", name)
	unauthorized := doc.Components.Responses["Unauthorized"].Value
	require.Contains(t, unauthorized.Headers, "WWW-Authenticate", name)
	for _, response := range []string{"Unavailable", "TooManyRequests"} {
		require.Contains(t, doc.Components.Responses[response].Value.Headers, "Retry-After", name)
	}
}
