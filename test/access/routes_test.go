package access_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// bodies are valid requests by method and route; %s is the vnfdId of a package of the project.
var bodies = map[string]string{
	"POST /vnflcm/v2/vnf_instances":                                            `{"vnfdId": "%s"}`,
	"PATCH /vnflcm/v2/vnf_instances/{vnfInstanceId}":                           `{"vnfInstanceName": "x"}`,
	"PUT /gybe/v1/vnf_instances/{vnfInstanceId}/protection":                    `{"reason": "x"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/instantiate":                `{"flavourId": "default"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/scale":                      `{"type": "SCALE_OUT", "aspectId": "VDU1_scale"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/scale_to_level":             `{"instantiationLevelId": "instantiation_level_1"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/change_flavour":             `{"newFlavourId": "groups"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/terminate":                  `{"terminationType": "FORCEFUL"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/heal":                       `{}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/operate":                    `{"changeStateTo": "STOPPED"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/change_ext_conn":            `{"extVirtualLinks": [{"id": "a", "resourceId": "b", "extCps": [{"cpdId": "VDU1_CP1"}]}]}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/change_vnfpkg":              `{"vnfdId": "%s"}`,
	"POST /vnflcm/v2/vnf_lcm_op_occs/{vnfLcmOpOccId}/cancel":                   `{"cancelMode": "FORCEFUL"}`,
	"POST /vnfpkgm/v1/vnf_packages":                                            `{}`,
	"PATCH /vnfpkgm/v1/vnf_packages/{vnfPkgId}":                                `{"operationalState": "DISABLED"}`,
	"PUT /vnfpkgm/v1/vnf_packages/{vnfPkgId}/package_content":                  `PK`,
	"POST /vnfpkgm/v1/vnf_packages/{vnfPkgId}/package_content/upload_from_uri": `{"addressInformation": "http://127.0.0.1:1/x.zip"}`,
	"POST /vnfpkgm/v2/vnf_packages/{vnfPkgId}/package_content/upload_from_uri": `{"addressInformation": "http://127.0.0.1:1/x.zip"}`,
	"POST /vnfpkgm/v2/vnf_packages":                                            `{}`,
	"PATCH /vnfpkgm/v2/vnf_packages/{vnfPkgId}":                                `{"operationalState": "DISABLED"}`,
	"PUT /vnfpkgm/v2/vnf_packages/{vnfPkgId}/package_content":                  `PK`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/create_snapshot":            `{"vnfSnapshotInfoId": "{vnfSnapshotInfoId}"}`,
	"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/revert_to_snapshot":         `{"vnfSnapshotInfoId": "{vnfSnapshotInfoId}"}`,
	"POST /vnflcm/v2/vnf_snapshots":                                            `{}`,
	"PATCH /vnflcm/v2/vnf_snapshots/{vnfSnapshotInfoId}":                       `{"vnfSnapshotPkgId": "x"}`,
	"POST /v1.0/vims":         `{"vim": {"type": "openstack", "auth_url": "http://127.0.0.1:1", "auth_cred": {"username": "a", "password": "b"}, "vim_project": {"name": "c"}}}`,
	"POST /v1.0/vims.json":    `{"vim": {"type": "openstack", "auth_url": "http://127.0.0.1:1", "auth_cred": {"username": "a", "password": "b"}, "vim_project": {"name": "c"}}}`,
	"PUT /v1.0/vims/{vimId}":  `{"vim": {"description": "d"}}`,
	"POST /gybe/v1/adoptions": `{"source": {"system": "tacker", "apiVersion": 2}, "vnfInstance": {"id": "x"}, "vnfPkgId": "x"}`,
	"POST /gybe/v1/plan":      `{"vnfInstanceId": "{vnfInstanceId}", "operation": "TERMINATE", "params": {"terminationType": "FORCEFUL"}}`,

	"POST /vnfpkgm/v1/subscriptions":                                `{"callbackUri": "http://127.0.0.1:1/"}`,
	"POST /vnfpkgm/v2/subscriptions":                                `{"callbackUri": "http://127.0.0.1:1/"}`,
	"POST /vnflcm/v2/subscriptions":                                 `{"callbackUri": "http://127.0.0.1:1/"}`,
	"POST /vnflcm/v1/vnf_instances":                                 `{"vnfdId": "%s"}`,
	"PATCH /vnflcm/v1/vnf_instances/{vnfInstanceId}":                `{"vnfInstanceName": "x"}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/instantiate":     `{"flavourId": "default"}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/scale":           `{"type": "SCALE_OUT", "aspectId": "VDU1_scale", "numberOfSteps": "1"}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/scale_to_level":  `{"instantiationLevelId": "instantiation_level_1"}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/change_flavour":  `{"newFlavourId": "groups"}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/terminate":       `{"terminationType": "FORCEFUL"}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/heal":            `{}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/operate":         `{"changeStateTo": "STOPPED"}`,
	"POST /vnflcm/v1/vnf_instances/{vnfInstanceId}/change_ext_conn": `{"extVirtualLinks": [{"id": "a", "resourceId": "b", "extCps": [{"cpdId": "VDU1_CP1"}]}]}`,
	"POST /vnflcm/v1/vnf_lcm_op_occs/{vnfLcmOpOccId}/cancel":        `{"cancelMode": "FORCEFUL"}`,
	"POST /vnflcm/v1/subscriptions":                                 `{"callbackUri": "http://127.0.0.1:1/"}`,
	"POST /gybe/v1/subscriptions/{subscriptionId}/replay":           `{"since": "2026-01-01T00:00:00Z"}`,
}

// media are the types of bodies that are not JSON.
var media = map[string]string{
	"PUT /vnfpkgm/v1/vnf_packages/{vnfPkgId}/package_content": "application/zip",
	"PUT /vnfpkgm/v2/vnf_packages/{vnfPkgId}/package_content": "application/zip",
}

// variants spoil a request: the checks of access come before those of the rest.
var variants = map[string]func(*request){
	"valid":           func(*request) {},
	"unknown version": func(r *request) { r.headers["Version"] = "9.9.9" },
	"unknown media":   func(r *request) { r.headers["Accept"] = "image/png" },
	"invalid body": func(r *request) {
		if r.body != "" {
			r.body = "{"
		}
	},
	"wrong type of body": func(r *request) { r.headers["Content-Type"] = "text/csv" },
	"unknown query":      func(r *request) { r.path += "?nonsense=1" },
	"HEAD": func(r *request) {
		if r.method == http.MethodGet {
			r.method = http.MethodHead
		}
	},
}

var param = regexp.MustCompile(`\{[A-Za-z]+\}|\*`)

// fillIn puts ids into a route or body.
func fillIn(text string, o objects, route string) string {
	return param.ReplaceAllStringFunc(text, func(name string) string {
		switch name {
		case "{vnfInstanceId}":
			return o.instance
		case "{vnfSnapshotInfoId}":
			return o.snapshot
		case "{vnfLcmOpOccId}":
			return o.op
		case "{vnfPkgId}":
			return o.pkg
		case "{vnfdId}":
			return o.vnfd
		case "{vimId}":
			return o.vim
		case "{subscriptionId}":
			return o.subscription
		case "{vnfcInstanceId}":
			return o.vnfc
		case "{document}":
			return "gybe-v1"
		case "{build}":
			return "x"
		case "{name}":
			return "console.css"
		case "*":
			return "Files/nothing"
		case "{id}": // of the console
			switch {
			case strings.Contains(route, "/instances/"):
				return o.instance
			case strings.Contains(route, "/operations/"):
				return o.op
			default:
				return o.pkg
			}
		}
		return name
	})
}

// valid makes a valid request for a route about the objects of a project.
func valid(t *testing.T, route frame.Access, o objects) request {
	t.Helper()
	key := route.Method + " " + route.Route
	body := bodies[key]
	if strings.Contains(body, "%s") {
		body = fmt.Sprintf(body, o.vnfd)
	}
	r := request{
		method: route.Method, path: fillIn(route.Route, o, route.Route), body: fillIn(body, o, route.Route),
		headers: map[string]string{},
	}
	if m := media[key]; m != "" {
		r.headers["Content-Type"] = m
	}
	return r
}

// nothing are ids that no project has.
func nothing() objects {
	return objects{
		vim: uuid.NewString(), pkg: uuid.NewString(), instance: uuid.NewString(), op: uuid.NewString(),
		vnfc: "VDU1-" + uuid.NewString(), vnfd: uuid.NewString(), subscription: uuid.NewString(),
		snapshot: uuid.NewString(),
	}
}

// TestEveryRouteRequiresItsRole takes the table of routes of a whole node. For each route, with valid and with invalid
// requests: 401 without a token and with an invalid one, and 403, which names the role, with one of a weaker role.
func TestEveryRouteRequiresItsRole(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	public := map[string]bool{}
	for _, route := range w.node.Routes() {
		name := route.Method + " " + route.Route
		if route.Public {
			public[name] = true
			continue
		}
		for kind, spoil := range variants {
			r := valid(t, route, nothing())
			spoil(&r)
			a := w.send(t, r)
			requireUnauthorized(t, a, r, name+", "+kind+", no token")
			for reason, token := range w.invalid {
				r := r
				r.token = token
				a := w.send(t, r)
				requireUnauthorized(t, a, r, name+", "+kind+", "+reason)
			}
			for _, role := range lcm.Roles {
				if role.Includes(route.Role) {
					continue
				}
				r := r
				r.token = w.tokens[red][role]
				a := w.send(t, r)
				require.Equal(t, http.StatusForbidden, a.status, "%s, %s, as %s", name, kind, role)
				if r.method != http.MethodHead {
					require.Contains(
						t, a.body, "requires the role "+string(route.Role), "%s, %s, as %s", name, kind, role,
					)
				}
			}
		}
		if len(bodies[name]) == 0 && !strings.HasSuffix(route.Route, "/sharing") {
			require.NotContains(
				t, []string{http.MethodPatch, http.MethodPut}, route.Method, "%s has no body in the test", name,
			)
		}
	}
	for name := range public {
		require.Contains(t, publicRoutes, name, "a new public route has to be added here, with a reason")
	}
}

// publicRoutes are those that a stranger may use.
var publicRoutes = map[string]bool{
	"GET /healthz": true, "GET /readyz": true, "GET /": true, "GET /ui": true, // probes, and redirects to the console
	"GET /ui/assets/{build}/{name}": true, // the style of the console
	// Documents about the interfaces. They hold nothing of the node or its users.
	"GET /openapi": true, "GET /openapi/": true, "GET /openapi/{file}": true,
	"GET /ui/login": true, "POST /ui/login": true, "POST /ui/logout": true,
}

// requireUnauthorized wants 401 with a challenge. The console can send browsers to its login instead.
func requireUnauthorized(t *testing.T, a answer, r request, what string) {
	t.Helper()
	if strings.HasPrefix(r.path, "/ui/") && a.status == http.StatusSeeOther {
		require.Contains(t, a.header.Get("Location"), "/ui/login", what)
		return
	}
	require.Equal(t, http.StatusUnauthorized, a.status, what)
	require.NotEmpty(t, a.header.Get("WWW-Authenticate"), what)
}

// TestOtherProjectsDoNotExist sends every request of the table of routes about objects of another project. Each answer
// is the one for objects that do not exist, to the letter, and nothing of the other project changes.
func TestOtherProjectsDoNotExist(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	before := w.everything(t, red, of)
	for _, route := range w.node.Routes() {
		if route.Public || !strings.Contains(route.Route, "{") && bodies[route.Method+" "+route.Route] == "" ||
			strings.HasSuffix(route.Route, "/{document}") {
			continue
		}
		name := route.Method + " " + route.Route
		absent := nothing()
		for kind, spoil := range variants {
			var got [2]answer
			for n, o := range []objects{of, absent} {
				r := valid(t, route, o)
				spoil(&r)
				r.token = w.tokens[blue][lcm.RoleAdmin]
				got[n] = w.send(t, r)
				for _, id := range []string{
					o.vim, o.pkg, o.instance, o.op, o.vnfc, o.vnfd, o.subscription, o.snapshot,
				} {
					got[n].body = strings.ReplaceAll(got[n].body, id, "ID")
					got[n].body = strings.ReplaceAll(got[n].body, id[:8], "ID") // the console cuts them
				}
			}
			require.Equal(t, got[1].status, got[0].status, "%s, %s: %s", name, kind, got[0].body)
			if strings.Contains(route.Route, "{") {
				require.Equal(t, got[1].body, got[0].body, "%s, %s", name, kind)
				require.Equal(
					t, got[1].header.Get("Content-Type"), got[0].header.Get("Content-Type"), "%s, %s", name, kind,
				)
				require.Empty(t, got[0].header.Get("ETag"), "%s, %s", name, kind)
			}
			if kind == "valid" && strings.Contains(route.Route, "{") && !strings.Contains(route.Route, "/events/") {
				require.Equal(t, http.StatusNotFound, got[0].status, "%s: %s", name, got[0].body)
			}
		}
	}
	require.Equal(t, before, w.everything(t, red, of), "a request of another project changed something")
}

// everything reads all objects of a project.
func (w *world) everything(t *testing.T, project string, o objects) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, path := range []string{
		"/vnflcm/v2/vnf_instances/" + o.instance, "/vnflcm/v2/vnf_instances/" + o.idle,
		"/vnflcm/v2/vnf_snapshots?all_fields", "/vnflcm/v1/vnf_instances?all_fields",
		"/vnflcm/v1/vnf_instances/" + o.instance, "/vnflcm/v1/vnf_lcm_op_occs?all_fields", "/vnflcm/v1/subscriptions",
		"/vnflcm/v2/vnf_lcm_op_occs?all_fields", "/vnfpkgm/v1/vnf_packages?all_fields", "/v1.0/vims",
		"/vnflcm/v2/subscriptions", "/gybe/v1/subscriptions/" + o.subscription + "/deliveries",
	} {
		a := w.send(t, request{method: http.MethodGet, path: path, token: w.tokens[project][lcm.RoleAdmin]})
		require.Equal(t, http.StatusOK, a.status, a.body)
		out[path] = a.header.Get("ETag") + a.body
	}
	return out
}
