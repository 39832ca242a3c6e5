package keystone_test

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serviceType is the type by which the client finds a VNF Manager.
const serviceType = "nfv-orchestration"

// offer makes the node an endpoint of the catalog: on a real Keystone as its administrator does it.
func (w *world) offer() {
	w.t.Helper()
	if !w.real {
		w.cloud.Offer(serviceType, w.node.URL())
		return
	}
	token := w.token(alice())
	resp, answer := w.call(http.MethodPost, w.keystone+"/services", token, nil, obj{
		"service": obj{"type": serviceType, "name": "gybe", "description": w.t.Name()},
	})
	require.Equal(w.t, http.StatusCreated, resp.StatusCode, answer)
	service, _ := answer["service"].(obj)
	id, _ := service["id"].(string)
	// Keystone removes the endpoints of a service with it.
	w.t.Cleanup(func() {
		resp, answer := w.call(http.MethodDelete, w.keystone+"/services/"+id, w.token(alice()), nil, nil)
		require.Equal(w.t, http.StatusNoContent, resp.StatusCode, answer)
	})
	for _, kind := range []string{"public", "internal"} {
		resp, answer = w.call(http.MethodPost, w.keystone+"/endpoints", token, nil, obj{"endpoint": obj{
			"service_id": id, "interface": kind, "url": w.node.URL(), "region_id": env("OS_REGION_NAME", "RegionOne"),
		}})
		require.Equal(w.t, http.StatusCreated, resp.StatusCode, answer)
	}
}

// openstack runs the program of this machine with an environment of its own, and returns both outputs.
func openstack(t *testing.T, vars map[string]string, line string) (out, errs string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/usr/bin/openstack", strings.Fields(line)...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "no_proxy=*"}
	for name, value := range vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	t.Logf("$ openstack %s\n%s%s", line, &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

// refused requires that a command fails with texts for the user.
func refused(t *testing.T, vars map[string]string, line string, texts ...string) {
	t.Helper()
	out, errs, err := openstack(t, vars, line)
	require.Error(t, err, out)
	for _, text := range texts {
		require.Contains(t, out+errs, text)
	}
	require.NotContains(t, errs, "Traceback")
}

// TestTheOpenstackCommandFindsTheNodeInTheCatalog: a user with a password lists instances in both versions. Keystone
// refuses a wrong password, and the node a token that was revoked.
func TestTheOpenstackCommandFindsTheNodeInTheCatalog(t *testing.T) {
	if raw, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c",
		"import openstackclient, tackerclient").CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: the openstack client is not installed, so it was not tried: "+
			"apt-get install python3-openstackclient python3-tackerclient: %s", raw)
	}
	w := start(t, time.Second)
	vars := map[string]string{
		"OS_AUTH_URL": w.keystone, "OS_IDENTITY_API_VERSION": "3", "OS_USERNAME": alice().name,
		"OS_PASSWORD": password(), "OS_PROJECT_NAME": alice().project, "OS_USER_DOMAIN_ID": "default",
		"OS_PROJECT_DOMAIN_ID": "default", "OS_REGION_NAME": env("OS_REGION_NAME", "RegionOne"),
	}
	refused(t, vars, "vnflcm list", serviceType) // the catalog has no endpoint yet
	w.offer()

	token := w.token(alice())
	resp, made := w.call(http.MethodPost, w.node.URL()+"/vnfpkgm/v1/vnf_packages", token, nil, obj{})
	require.Equal(t, http.StatusCreated, resp.StatusCode, made)
	out, errs, err := openstack(t, vars, "vnf package list -f value -c Id")
	require.NoError(t, err, errs)
	require.Equal(t, made["id"], strings.TrimSpace(out), "the package of the project")
	for _, version := range []string{"1", "2"} {
		out, errs, err = openstack(t, vars, "vnflcm list -f json --os-tacker-api-version "+version)
		require.NoError(t, err, errs)
		require.JSONEq(t, "[]", out, version)
	}

	wrong := maps.Clone(vars)
	wrong["OS_PASSWORD"] = "wrong-password"
	refused(t, wrong, "vnflcm list", "requires authentication", "HTTP 401") // the texts are Keystone's

	subject := map[string]string{"X-Subject-Token": token}
	resp, _ = w.call(http.MethodDelete, w.keystone+"/auth/tokens", token, subject, nil)
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Eventually(t, func() bool {
		return w.status(token).StatusCode == http.StatusUnauthorized
	}, time.Minute, 100*time.Millisecond)
	revoked := map[string]string{"OS_AUTH_TYPE": "admin_token", "OS_ENDPOINT": w.node.URL(), "OS_TOKEN": token}
	for _, version := range []string{"1", "2"} {
		refused(t, revoked, "vnflcm list --os-tacker-api-version "+version,
			"Keystone does not accept the token", "log in again", "the Keystone that this node uses")
	}
}
