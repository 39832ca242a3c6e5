package cli_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// TestCommands runs the commands against a whole node whose VIM does what a script says.
func TestCommands(t *testing.T) {
	t.Parallel()
	vim := &apitest.VIM{}
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen = devpg.TestURL(t), "127.0.0.1:0", ""
	cfg.DataDir, cfg.NodeID = t.TempDir(), "node-1"
	cfg.Engine.RetryBase, cfg.Engine.Retries = time.Millisecond, 2
	node, err := app.New(t.Context(), cfg, app.Options{
		Log: slog.New(slog.DiscardHandler), Version: "v1.2.3", Infras: map[string]lcm.Infra{apitest.VimType: vim},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-node.Ready()

	p := params(t, "server", map[string]string{
		"GYBE_ENDPOINT": node.URL(), "DATABASE": cfg.DatabaseURL,
		"VNFD": "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a11", // of test/packages/plain
	})
	p.Cmds["vim"] = func(ts *testscript.TestScript, _ bool, args []string) {
		switch args[0] {
		case "fails":
			vim.Fail(lcm.Errorf(lcm.CodeUpstream, "No valid host was found").WithHint("add a compute host"))
		case "works":
			vim.Fail(nil)
		}
	}
	// id remembers the id in the output of the last command: id NAME
	p.Cmds["id"] = func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], idOf(ts.ReadFile("stdout")))
	}
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}
