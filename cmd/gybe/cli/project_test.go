package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// TestProjectMoveAfterKeystoneWasTurnedOn: an operator gives the resources from before to a project of Keystone. Its
// users work with them, and users of another project do not see them.
func TestProjectMoveAfterKeystoneWasTurnedOn(t *testing.T) {
	t.Parallel()
	vim := apitest.NewVIM()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte(simcloud.Password+"\n"), 0o600))
	var first config.Config
	before := startNode(t, vim, func(c *config.Config) { first = *c })
	after := startNode(t, vim, func(c *config.Config) {
		c.DatabaseURL, c.DataDir, c.NodeID = first.DatabaseURL, first.DataDir, "node-2"
		c.Auth.Keystone.URL, c.Auth.Keystone.Username = cloud.AuthURL(), simcloud.Username
		c.Auth.Keystone.PasswordFile, c.Auth.Keystone.Project = password, simcloud.Project
	})

	u := newUser(t, "GYBE_ENDPOINT="+before.URL())
	archive, params := filepath.Join(u.home, "plain.zip"), filepath.Join(u.home, "params.json")
	u.ok("", "package", "build", "../../../test/packages/plain", "-o", archive)
	u.ok("", "package", "upload", archive)
	require.NoError(t, os.WriteFile(params, []byte(`{"flavourId": "default", "vimConnectionInfo": {"vim": {"vimType": "`+
		apitest.VimType+`"}}}`), 0o600))
	u.ok("", "vnf", "create", "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a11", "--name", "web")
	u.ok("", "vnf", "instantiate", "web", params, "--wait")

	keystone := func(name, project string) *user {
		return newUser(t, "GYBE_ENDPOINT="+after.URL(), "OS_AUTH_URL="+cloud.AuthURL(), "OS_USERNAME="+name,
			"OS_PASSWORD="+simcloud.Password, "OS_PROJECT_NAME="+project)
	}
	alice := keystone(simcloud.Username, simcloud.Project)
	require.NotContains(t, alice.ok("", "vnf", "list"), "web")
	operator := newUser(t)
	run := func(want int, stdin string, args ...string) string {
		t.Helper()
		code, out, errs := operator.gybe(stdin, append(args, "--database-url", first.DatabaseURL, "--data-dir",
			first.DataDir)...)
		require.Equal(t, want, code, out+errs)
		return out + errs
	}
	require.Regexp(t, `default +1 +1 +0 +1 +0`, run(cli.ExitOK, "", "project", "list"))
	require.Contains(t, run(cli.ExitUsage, "", "project", "move", "default", cloud.ProjectID()), "--yes")
	require.Contains(t, run(cli.ExitUsage, "", "project", "move", "default", "default"), "the same project")
	require.Contains(t, run(cli.ExitUsage, "", "project", "move", "default", "a/b"), "without blanks")

	// While a node works on an operation, nothing is moved.
	vim.Hold(true)
	u.ok("", "vnf", "scale", "web", "--out", "1", "--aspect", "VDU1_scale")
	require.Contains(t, run(cli.ExitConflict, "", "project", "move", "default", cloud.ProjectID(), "--yes"),
		"operations run")
	require.Contains(t, u.ok("", "vnf", "list"), "web")
	op := idOf(u.ok("", "op", "list", "--filter", "(eq,operation,SCALE)"))
	vim.Hold(false)
	u.ok("", "op", "watch", op)

	require.Contains(t, run(cli.ExitOK, "", "project", "move", "default", cloud.ProjectID(), "--yes"),
		"instances 1, operations 2, packages 1, VIMs 0")
	require.Contains(t, run(cli.ExitOK, "", "project", "move", "default", cloud.ProjectID(), "--yes"), "instances 0")
	require.Regexp(t, cloud.ProjectID()+` +1 +2 +0 +1 +0`, run(cli.ExitOK, "", "project", "list"))
	require.NotContains(t, u.ok("", "vnf", "list"), "web")
	require.NotContains(t, u.ok("", "package", "list"), "ONBOARDED")
	require.Contains(t, alice.ok("", "vnf", "list"), "web")
	require.Contains(t, alice.ok("", "op", "show", op), "COMPLETED")
	require.Contains(t, alice.ok("", "audit", "--method", "MOVE"), "default to "+cloud.ProjectID())
	bob := keystone(simcloud.OtherUsername, simcloud.OtherProject)
	require.NotContains(t, bob.ok("", "vnf", "list"), "web")
	bob.fails(cli.ExitNotFound, "", "op", "show", op)

	alice.ok("", "vnf", "terminate", "web", "--yes", "--wait")
	alice.ok("", "vnf", "delete", "web")
	var projects []map[string]any
	require.NoError(t, json.Unmarshal([]byte(run(cli.ExitOK, "", "project", "list", "-o", "json")), &projects))
	require.Len(t, projects, 1)
}
