package access_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// TestListsShowOnlyTheProject reads every list of the API and of the console, also with filters that name objects of
// another project.
func TestListsShowOnlyTheProject(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	var paths []string
	for _, route := range w.node.Routes() {
		if route.Method == http.MethodGet && !route.Public && !strings.Contains(route.Route, "{") {
			paths = append(paths, route.Route)
		}
	}
	paths = append(paths, []string{
		"/vnflcm/v2/vnf_instances?filter=(eq,vnfInstanceName,instance-of-red)",
		"/vnflcm/v2/vnf_instances?filter=(eq,vnfdId," + of.vnfd + ")&all_fields",
		"/vnflcm/v2/vnf_instances?filter=(cont,metadata/owner,canary)",
		"/vnflcm/v2/vnf_lcm_op_occs?filter=(eq,vnfInstanceId," + of.instance + ")",
		"/vnflcm/v1/vnf_instances?filter=(eq,vnfInstanceName,instance-of-red)",
		"/vnflcm/v1/vnf_lcm_op_occs?filter=(eq,vnfInstanceId," + of.instance + ")",
		"/vnfpkgm/v1/vnf_packages?filter=(eq,vnfdId," + of.vnfd + ")", "/v1.0/vims?name=vim-of-red",
		"/v1.0/vims?id=" + of.vim,
		"/ui/?after=" + uuid.Nil.String(), "/ui/packages?after=" + uuid.Nil.String(),
		"/gybe/v1/events?since=0-0", "/gybe/v1/events?since=0-0&vnfInstanceId=" + of.instance,
	}...)
	for _, path := range paths {
		a := w.send(t, request{method: http.MethodGet, path: path, token: w.tokens[blue][lcm.RoleAdmin]})
		require.Equal(t, http.StatusOK, a.status, "%s: %s", path, a.body)
		for _, id := range of.identifiers(red) {
			require.NotContains(t, a.body, id, path)
		}
	}
}

// TestEventsAreOfTheProject follows the events from their beginning: those of another project are left out.
func TestEventsAreOfTheProject(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	own := w.fill(t, blue)
	for _, path := range []string{"/gybe/v1/events?since=0-0", "/ui/events/", "/ui/events/packages"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.node.URL()+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+w.tokens[blue][lcm.RoleReader])
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		seen := ""
		end := own.op // its last event is behind all of the other project
		if strings.Contains(path, "/ui/") {
			end = own.idle
		}
		if strings.HasSuffix(path, "packages") {
			end = own.pkg
		}
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			seen += lines.Text() + "\n"
			if strings.Contains(seen, end) && (end != own.op || strings.Contains(seen, "COMPLETED")) {
				break
			}
		}
		cancel()
		require.NoError(t, resp.Body.Close())
		require.Contains(t, seen, end)
		for _, id := range of.identifiers(red) {
			require.NotContains(t, seen, id, path)
		}
	}
}

// TestNamesAreUniqueInTheProject: a project can use every name and vnfdId that another project has, and can have a
// default VIM of its own.
func TestNamesAreUniqueInTheProject(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.fill(t, red)
	c := w.as(t, blue, lcm.RoleOperator)
	vnfd, err := stack.Onboard(t.Context(), c, w.archive)
	require.NoError(t, err)
	_, err = c.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfd, VnfInstanceName: "instance-of-red"})
	require.NoError(t, err)
	a := w.send(t, request{
		method: http.MethodPost, path: "/v1.0/vims", token: w.tokens[blue][lcm.RoleOperator],
		body: fmt.Sprintf(`{"vim": {"name": "vim-of-red", "is_default": true, "type": "openstack", "auth_url": %q,
			"auth_cred": {"username": %q, "password": %q}, "vim_project": {"name": %q}}}`,
			w.cloud.AuthURL(), simcloud.Username, simcloud.Password, simcloud.Project),
	})
	require.Equal(t, http.StatusCreated, a.status, a.body)
	vims, err := w.as(t, red, lcm.RoleReader).Vims(t.Context())
	require.NoError(t, err)
	require.True(t, vims[0].IsDefault, "the default of the other project stays")
}

// TestReferencesToOtherProjects: a VIM and a package of another project cannot be used, and the error is the one for an
// id that does not exist.
func TestReferencesToOtherProjects(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of, own := w.fill(t, red), w.fill(t, blue)
	absent := nothing()
	for path, body := range map[string]string{
		"/vnflcm/v2/vnf_instances/" + own.idle + "/instantiate": `{"flavourId": "default",
			"vimConnectionInfo": {"a": {"vimId": "{vimId}", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}}}`,
		"/vnflcm/v2/vnf_instances/" + own.idle: `{"vnfPkgId": "{vnfPkgId}"}`,
	} {
		var got [2]answer
		for n, o := range []objects{of, absent} {
			r := request{
				method: http.MethodPost, path: path, token: w.tokens[blue][lcm.RoleAdmin], body: fillIn(body, o, ""),
				headers: map[string]string{},
			}
			if !strings.HasSuffix(path, "/instantiate") {
				r.method, r.headers["Content-Type"] = http.MethodPatch, "application/merge-patch+json"
			}
			require.NotContains(t, r.body, "{v", "the ids are filled in")
			got[n] = w.send(t, r)
			for _, id := range []string{o.vim, o.pkg} {
				got[n].body = strings.ReplaceAll(got[n].body, id, "ID")
			}
		}
		require.GreaterOrEqual(t, got[0].status, 400, got[0].body)
		require.Equal(t, got[1].status, got[0].status, got[0].body)
		require.Equal(t, got[1].body, got[0].body)
	}
}

// TestMarkersAreOfTheProject: the link to the next page of a list is not valid in another project, and the console's
// does not tell where an operation of another project would be.
func TestMarkersAreOfTheProject(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *config.Config) { c.Limits.PageSize = 1 })
	w.fill(t, red)
	first := request{
		method: http.MethodGet, path: "/vnflcm/v2/vnf_instances", token: w.tokens[red][lcm.RoleReader],
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(w.send(t, first).header.Get("Link"), "<"+w.node.URL()), ">")
	require.Contains(t, link, "nextpage_opaque_marker")
	next := request{method: http.MethodGet, path: link, token: w.tokens[red][lcm.RoleReader]}
	require.Equal(t, http.StatusOK, w.send(t, next).status)
	next.token = w.tokens[blue][lcm.RoleReader]
	a := w.send(t, next)
	require.Equal(t, http.StatusBadRequest, a.status, a.body)
}

// TestVimsHideCredentials: readers list VIMs, so no answer holds what is secret in them.
func TestVimsHideCredentials(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	for _, path := range []string{
		"/v1.0/vims", "/v1.0/vims.json", "/v1.0/vims/" + of.vim, "/vnflcm/v2/vnf_instances?all_fields",
		"/vnflcm/v2/vnf_instances/" + of.instance, "/ui/instances/" + of.instance,
	} {
		a := w.send(t, request{method: http.MethodGet, path: path, token: w.tokens[red][lcm.RoleReader]})
		require.Equal(t, http.StatusOK, a.status)
		require.NotContains(t, a.body, `"`+simcloud.Password+`"`, path)
		if strings.HasSuffix(path, of.vim) {
			var body map[string]map[string]any
			require.NoError(t, json.Unmarshal([]byte(a.body), &body))
			require.Equal(t, "***", body["vim"]["auth_cred"].(map[string]any)["password"])
		}
	}
}
