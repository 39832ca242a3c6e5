package script_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/test/sandbox"
)

// open returns a directory that all users can read: if Gybe runs as root, scripts run as an unprivileged user.
func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// options returns those of a runner that unpacks into a directory of the test. It skips the test without an interpreter
// or a sandbox.
func options(t *testing.T, kind string) script.Options {
	t.Helper()
	python := sandbox.Python(t, kind == script.Bwrap)
	dir := open(t)
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "every run removes its directory")
	})
	return script.Options{
		Python: python, Sandbox: kind, Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Network: script.NetworkHost, // processes of tests hold connections to the test
	}
}

func start(t *testing.T, opts script.Options) *script.Runner {
	t.Helper()
	r, err := script.New(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// both runs a test with each sandbox.
func both(t *testing.T, test func(t *testing.T, r *script.Runner)) {
	t.Helper()
	for _, kind := range []string{script.Bwrap, script.None} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, options(t, kind)))
		})
	}
}

// pack is a package with one script.
func pack(text string) fstest.MapFS {
	return fstest.MapFS{"Scripts/x.py": {Data: []byte(text)}}
}

const limit = time.Minute

// keyOf returns the key for the run of a test. Its end keeps Stop, which takes a prefix, from stopping the run of a
// parallel test whose name begins with this one.
func keyOf(t *testing.T) string {
	t.Helper()
	return t.Name() + "."
}

// run runs a script to its end.
func run(t *testing.T, r *script.Runner, text string, input any) ([]string, error) {
	t.Helper()
	require.NoError(t, r.Start(t.Context(), keyOf(t), pack(text), "./Scripts/x.py", input, limit))
	return outcome(t, r, keyOf(t))
}

// outcome waits for the end of a run.
func outcome(t *testing.T, r *script.Runner, key string) (lines []string, err error) {
	t.Helper()
	known, over, err := r.Follow(t.Context(), key, limit, func(l string) { lines = append(lines, l) })
	require.True(t, known)
	require.True(t, over)
	r.Stop(key)
	if err != nil {
		e, ok := errors.AsType[*lcm.Error](err)
		require.True(t, ok, "%T: %v", err, e)
	}
	return lines, err
}
