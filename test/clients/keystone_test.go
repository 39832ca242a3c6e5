package clients_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// TestALoginWithKeystone: the client logs in, finds Gybe in the catalogue, and sends the token, as the guides do. A
// client without a login reads why it is refused, also for the commands that have no other error.
func TestALoginWithKeystone(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := startWith(t, cloud, func(c *config.Config) {
		c.Auth.Keystone.URL, c.Auth.Keystone.Username = cloud.AuthURL(), simcloud.Username
		c.Auth.Keystone.Password, c.Auth.Keystone.Project = simcloud.Password, simcloud.Project
	})
	for _, line := range []string{"vnflcm versions", "vim list", "vnf package list", "vnflcm list"} {
		w.refused(line, "Keystone does not accept the token: it is not valid, has expired or was revoked",
			"log in again")
	}

	cloud.Offer("nfv-orchestration", w.url)
	w.login = nil
	maps.Copy(w.env, map[string]string{
		"OS_AUTH_URL": cloud.AuthURL(), "OS_USERNAME": simcloud.Username, "OS_PASSWORD": simcloud.Password,
		"OS_PROJECT_NAME": simcloud.Project, "OS_USER_DOMAIN_NAME": simcloud.Domain,
		"OS_PROJECT_DOMAIN_NAME": simcloud.Domain, "OS_IDENTITY_API_VERSION": "3",
	})
	require.Contains(t, w.run("vnflcm versions"), "isDeprecated")
	w.run("vnf package create")
	require.Len(t, w.list("vnf package list"), 1)
	w.vimFile("vim.yaml", simcloud.Password)
	w.run("vim register --config-file vim.yaml --is-default VIM0")
	vims := w.list("vim list")
	require.Len(t, vims, 1)
	require.NotEqual(t, "default", vims[0]["Tenant_id"], "it is the project of the user")
	require.Empty(t, w.list("vnflcm list --os-tacker-api-version 2"))

	w.env["OS_PASSWORD"] = "wrong-password"
	w.refused("vnflcm list", "401")
}
