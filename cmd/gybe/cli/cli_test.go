package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gybe": func() {
			os.Exit(cli.Run(context.Background(), os.Args[1:], cli.Env{
				Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Version: "v1.2.3",
				Terminal: os.Getenv("TERMINAL") != "", Interactive: os.Getenv("INTERACTIVE") != "",
			}))
		},
	})
}

// exits runs a command that has to end with an exit code: exits CODE COMMAND ARG...
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code is %d, not %d", got, want)
	}
}

func params(t *testing.T, dir string, vars map[string]string) testscript.Params {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	return testscript.Params{
		Dir: filepath.Join("testdata", dir), RequireUniqueNames: true, UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("TZ", "UTC")
			for name, value := range vars {
				e.Setenv(name, value)
			}
			return nil
		},
	}
}

func TestCommandsWithoutAServer(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(t, "local", nil))
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// idOf is the first id in a text.
func idOf(text string) string { return anyID.FindString(text) }
