package access_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	makes   = "it makes a resource, which has no representation before"
	part    = "the interface has no representation of it: If-Match is 412"
	session = "it ends a session, which has no representation"
	noState = "it changes nothing that is stored"
)

// unconditional are the routes that modify and have no representation to compare, each with the reason.
var unconditional = map[string]string{
	"POST /vnflcm/v2/vnf_instances":                   makes,
	"POST /vnflcm/v2/vnf_snapshots":                   makes,
	"POST /vnflcm/v2/subscriptions":                   makes,
	"POST /vnfpkgm/v1/vnf_packages":                   makes,
	"POST /vnfpkgm/v1/subscriptions":                  makes,
	"POST /vnfpkgm/v2/vnf_packages":                   makes,
	"POST /vnfpkgm/v2/subscriptions":                  makes,
	"POST /v1.0/vims":                                 makes,
	"POST /v1.0/vims.json":                            makes,
	"POST /ui/login":                                  makes,
	"POST /ui/logout":                                 session,
	"POST /gybe/v1/plan":                              noState,
	"PUT /gybe/v1/vnf_packages/{vnfPkgId}/sharing":    part,
	"DELETE /gybe/v1/vnf_packages/{vnfPkgId}/sharing": part,
	"DELETE /gybe/v1/vnf_instances/{vnfInstanceId}/ssh_hosts/{vnfcInstanceId}/host_key": part,
}

// TestEveryRouteThatModifiesIsConditional takes the table of routes of a whole node: the conditions of each request
// that modifies are compared with the answer of a route with GET.
func TestEveryRouteThatModifiesIsConditional(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	routes := map[string]bool{}
	for _, r := range w.node.Routes() {
		routes[r.Method+" "+r.Route] = true
	}
	seen := map[string]bool{}
	for _, r := range w.node.Routes() {
		name := r.Method + " " + r.Route
		switch {
		case r.Method == http.MethodGet:
			require.Empty(t, r.Condition, name)
		case unconditional[name] != "":
			seen[name] = true
			require.Empty(t, r.Condition, name)
		default:
			require.NotEmpty(t, r.Condition, name)
			require.True(t, routes["GET "+r.Condition], name)
			require.True(t, strings.HasPrefix(r.Route, r.Condition), name)
		}
	}
	require.Len(t, seen, len(unconditional))
}
