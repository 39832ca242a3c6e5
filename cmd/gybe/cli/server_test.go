package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// serve starts a whole node whose VIM does what a script says, and returns the parameters of scripts that use it.
func serve(t *testing.T, dir string) testscript.Params {
	t.Helper()
	vim := apitest.NewVIM()
	var database string
	node := startNode(t, vim, func(cfg *config.Config) {
		cfg.Engine.RetryBase, cfg.Engine.Retries = time.Millisecond, 2
		database = cfg.DatabaseURL
	})
	p := params(t, dir, map[string]string{
		"GYBE_ENDPOINT": node.URL(), "DATABASE": database,
		"VNFD":     "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a11", // of test/packages/plain
		"STANDARD": "0c3f8b1e-5d0f-4a55-8f0f-6a1f3f0c5d01", // of test/packages/standard
		"NEXT":     "0c3f8b1e-5d0f-4a55-8f0f-6a1f3f0c5d02", // of test/packages/standard-2
	})
	p.Cmds["vim"] = func(ts *testscript.TestScript, _ bool, args []string) {
		none := lcm.Errorf(lcm.CodeUpstream, "No valid host was found").WithHint("add a compute host")
		switch args[0] {
		case "fails":
			vim.Fail(none)
		case "halfway":
			vim.FailHalfway(none)
		case "blind":
			vim.FailInventory(none)
		case "holds":
			vim.Hold(true)
		case "works":
			vim.Fail(nil)
			vim.FailInventory(nil)
			vim.Hold(false)
		default:
			ts.Fatalf("vim %s", args[0])
		}
	}
	// id remembers the id in the output of the last command: id NAME
	p.Cmds["id"] = func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], idOf(ts.ReadFile("stdout")))
	}
	// becomes waits until an operation is in a state: becomes OPERATION STATE
	p.Cmds["becomes"] = func(ts *testscript.TestScript, _ bool, args []string) {
		c, err := client.New(node.URL(), nil)
		ts.Check(err)
		await(ts, func() (bool, string) {
			op, err := c.Operation(t.Context(), args[0])
			ts.Check(err)
			return string(op.OperationState) == args[1], args[0] + " is " + string(op.OperationState)
		})
	}
	return p
}

// await asks again and again whether a condition holds, and fails with the last state after two minutes.
func await(ts *testscript.TestScript, condition func() (holds bool, state string)) {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for last := time.After(2 * time.Minute); ; {
		holds, state := condition()
		if holds {
			return
		}
		select {
		case <-again.C:
		case <-last:
			ts.Fatalf("%s", state)
		}
	}
}

// startCluster starts a simulated Kubernetes cluster, and returns its address and a bootstrap token.
func startCluster(t *testing.T) (url, token string) {
	t.Helper()
	cluster, url := kubeapi.StartTest(t)
	return url, cluster.CreateToken(0)
}

func TestCommands(t *testing.T) {
	t.Parallel()
	p := serve(t, "server")
	url, token := startCluster(t)
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("K8S_URL", url)
		e.Setenv("K8S_TOKEN", token)
		config := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: here,
contexts: [{name: here, context: {cluster: test, user: gybe}}], users: [{name: gybe, user: {token: %s}}],
clusters: [{name: test, cluster: {server: "%s", insecure-skip-tls-verify: true}}]}`, token, url)
		if err := os.WriteFile(filepath.Join(e.WorkDir, "cluster.conf"), []byte(config), 0o600); err != nil {
			return err
		}
		return setup(e)
	}
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}

func TestConfirmationAndProtection(t *testing.T) {
	t.Parallel()
	p := serve(t, "confirm")
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}

func TestCommandsOfTasks(t *testing.T) {
	t.Parallel()
	p := serve(t, "tasks")
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}

func TestCommandsOfSnapshots(t *testing.T) {
	t.Parallel()
	p := serve(t, "snapshots")
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}
