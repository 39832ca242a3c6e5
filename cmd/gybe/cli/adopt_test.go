package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
	"github.com/gybe-nfv/gybe/test/tacker"
)

// TestAnInstanceOfTackerIsAdopted takes the commands of the guide, with a Tacker that requires a login at Keystone.
func TestAnInstanceOfTackerIsAdopted(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	requests, err := stack.NewRequests(t.Context(), cloud)
	require.NoError(t, err)
	theirs := tacker.Start(t, tacker.Options{Keystone: cloud.AuthURL()})
	vim := theirs.Connect(cloud.AuthOptions())
	vnf := vim.Standard(theirs.AddPackage("../../../test/packages/standard"), "standard", requests.Standard("volumes"))
	many := map[string]any{}
	for n := range 200 {
		many["parameter"+strconv.Itoa(n)] = n
	}
	for range 150 { // together more than the body of a request may have
		vnf.AddOperation("MODIFY_INFO", "COMPLETED", many)
	}
	node := startNode(t, apitest.NewVIM(), func(c *config.Config) { c.Auth.None = true })
	file := filepath.Join(t.TempDir(), "vim_config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("auth_url: "+cloud.AuthURL()+"\nusername: "+simcloud.Username+
		"\npassword: "+simcloud.Password+"\nproject_name: "+simcloud.Project+"\nproject_domain_name: "+
		simcloud.Domain+"\nuser_domain_name: "+simcloud.Domain+"\n"), 0o600))

	u := newUser(t, "GYBE_ENDPOINT="+node.URL())
	u.ok("", "vim", "register", file, "--name", "openstack")
	adopt := []string{"adopt", vnf.ID, "--from", theirs.URL}
	require.Contains(t, u.fails(cli.ExitFailed, "", adopt...), "requires authentication")
	u = u.with("OS_AUTH_URL="+cloud.AuthURL(), "OS_USERNAME="+simcloud.Username, "OS_PASSWORD="+simcloud.Password,
		"OS_PROJECT_NAME="+simcloud.Project, "OS_USER_DOMAIN_NAME="+simcloud.Domain,
		"OS_PROJECT_DOMAIN_NAME="+simcloud.Domain)
	require.Contains(t, u.fails(cli.ExitConflict, "", append(adopt, "--vim", "openstack", "--dry-run")...),
		"a dry run uploads none")
	require.Contains(t, u.fails(cli.ExitUsage, "", append(adopt, "--vim", "other=openstack")...),
		`the instance has no connection "other" to an OpenStack; it has vim1`)

	// the package is uploaded before the plan can be shown
	require.Contains(t, u.fails(cli.ExitUsage, "", append(adopt, "--vim", "openstack")...), "confirmation required")
	out := u.ok("", append(adopt, "--vim", "vim1=openstack", "--dry-run")...)
	require.Contains(t, out, vnf.StackName+" "+vnf.StackID+" CREATE_COMPLETE")
	require.Contains(t, out, "FOUND  ACTIVE")
	require.Contains(t, out, "The instance can be adopted. Nothing was changed.")
	require.Contains(t, u.fails(cli.ExitNotFound, "", "vnf", "show", vnf.ID), vnf.ID)

	code, out, errs := u.gybe("", append(adopt, "--vim", "openstack", "--yes", "--name", "mine")...)
	require.Zero(t, code, errs)
	require.Contains(t, out, vnf.ID)
	require.Contains(t, errs, "do not terminate or heal it there")
	require.Contains(t, u.ok("", "vnf", "show", vnf.ID), "mine")
	require.Contains(t, u.ok("", append(adopt, "--vim", "openstack")...), "has been adopted already")

	other := vim.Standard(theirs.AddPackage("../../../test/packages/standard"), "other", requests.Standard("smallest"))
	other.AddOperation("HEAL", "FAILED_TEMP", nil)
	code, out, _ = u.gybe("", "adopt", other.ID, "--from", theirs.URL, "--vim", "openstack", "--yes")
	require.Equal(t, cli.ExitConflict, code)
	require.Contains(t, out, "(HEAL) of the instance is FAILED_TEMP")
	require.Contains(t, out, "The instance cannot be adopted. Nothing was changed.")
}
