package access_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/stack"
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
	"POST /vnflcm/v1/vnf_instances":                   makes,
	"POST /vnflcm/v1/subscriptions":                   makes,
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
	"POST /gybe/v1/adoptions":                         makes,
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

const (
	stream  = "it has no end"
	moves   = "it redirects"
	noStore = "its answer must not be stored"
	brief   = "it is there only while the content is downloaded"
	cluster = "it is there only for clusters: api/gybe compares it"
)

// untagged are the routes with GET of which the test sees no entity tag, each with the reason. The console has pages,
// and no representations of resources.
var untagged = map[string]string{
	"GET /":               moves,
	"GET /openapi":        moves,
	"GET /gybe/v1/events": stream,
	"GET /healthz":        noStore,
	"GET /readyz":         noStore,
	"GET /gybe/v1/vnf_packages/{vnfPkgId}/download":         brief,
	"GET /gybe/v1/vnf_instances/{vnfInstanceId}/kubeconfig": noStore,
	"GET /gybe/v1/vnf_instances/{vnfInstanceId}/nodes":      cluster,
	"GET /gybe/v1/vnf_instances/{vnfInstanceId}/ssh_hosts":  cluster,
}

// TestEveryGetHasAnEntityTag takes the table of routes of a whole node: each GET has an ETag, and answers 304 to a
// client that has this version already.
func TestEveryGetHasAnEntityTag(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	withParts := of
	withParts.pkg, withParts.vnfd = w.onboardWithManifest(t, red)
	seen := map[string]bool{}
	for _, route := range w.node.Routes() {
		name := route.Method + " " + route.Route
		if route.Method != http.MethodGet || strings.HasPrefix(route.Route, "/ui") {
			continue
		}
		if untagged[name] != "" {
			seen[name] = true
			continue
		}
		o := of
		if strings.HasPrefix(route.Route, "/vnfpkgm/") {
			o = withParts
		}
		if list, ok := strings.CutSuffix(route.Route, "/{subscriptionId}"); ok && o == withParts {
			o.subscription = w.subscribeToPackages(t, red, list)
		}
		r := valid(t, route, o)
		r.path = strings.NewReplacer("{file}", "vnflcm-v2.json", "Files/nothing", "Scripts/run.sh").Replace(r.path)
		r.token = w.tokens[red][lcm.RoleAdmin]
		var again answer
		for range 20 { // a heartbeat changes what a node says of itself, also between two requests
			delete(r.headers, "If-None-Match")
			a := w.send(t, r)
			require.Equal(t, http.StatusOK, a.status, "%s: %s", name, a.body)
			require.NotEmpty(t, a.header.Get("ETag"), name)
			r.headers["If-None-Match"] = a.header.Get("ETag")
			if again = w.send(t, r); again.status == http.StatusNotModified {
				break
			}
		}
		require.Equal(t, http.StatusNotModified, again.status, name)
		require.Empty(t, again.body, name)
		r.headers["If-None-Match"] = `"other"`
		require.Equal(t, http.StatusOK, w.send(t, r).status, name)
	}
	require.Len(t, seen, len(untagged))
}

// onboardWithManifest onboards a package with a manifest and an artifact.
func (w *world) onboardWithManifest(t *testing.T, project string) (id, vnfd string) {
	t.Helper()
	vnfd = uuid.NewString()
	files := vnfpkgtest.Files(vnfd)
	files["Definitions/vnfd.mf"] = fmt.Sprintf("metadata:\nvnf_product_name: Small\n\n"+
		"Source: Scripts/run.sh\nAlgorithm: SHA-256\nHash: %x\n", sha256.Sum256([]byte(files["Scripts/run.sh"])))
	files[csar.MetaPath] = strings.Replace(
		files[csar.MetaPath], "\n\nName", "\nETSI-Entry-Manifest: Definitions/vnfd.mf\n\nName", 1,
	)
	archive := filepath.Join(t.TempDir(), "package.zip")
	require.NoError(t, os.WriteFile(archive, vnfpkgtest.Zip(files), 0o600))
	c := w.as(t, project, lcm.RoleOperator)
	_, err := stack.Onboard(t.Context(), c, archive)
	require.NoError(t, err)
	all, err := c.Packages(t.Context(), "(eq,vnfdId,"+vnfd+")", false)
	require.NoError(t, err)
	return all[0].ID, vnfd
}

// subscribeToPackages makes a subscription of a version of the package interface, and returns its id.
func (w *world) subscribeToPackages(t *testing.T, project, list string) string {
	t.Helper()
	subscriber := httptest.NewServer(oracle.Subscriber(t, nil))
	t.Cleanup(subscriber.Close)
	a := w.send(t, request{
		method: http.MethodPost, path: list, token: w.tokens[project][lcm.RoleAdmin],
		body: fmt.Sprintf(`{"callbackUri": %q}`, subscriber.URL+"/"), headers: map[string]string{},
	})
	require.Equal(t, http.StatusCreated, a.status, a.body)
	var made sol.PkgmSubscription
	require.NoError(t, json.Unmarshal([]byte(a.body), &made))
	return made.ID
}
