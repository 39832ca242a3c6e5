package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDemoThatCannotStartSaysSo: a new user sees an error instead of an empty terminal, and loses no folder and no
// running demo.
func TestDemoThatCannotStartSaysSo(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.Mkdir(own, 0o755))
	up := demo{dir: filepath.Join(t.TempDir(), ".dev", "demo")}
	require.NoError(t, up.empty())
	t.Cleanup(func() { _ = up.lock.Close() })
	require.NoError(t, os.WriteFile(filepath.Join(up.dir, "database"), nil, 0o600))
	for dir, want := range map[string]string{
		own: "demo: " + own + " exists and is not below a folder .dev; remove it first\n",
		up.dir: "demo: a demo is up in " + up.dir +
			" already; end it with Ctrl-C, or give this one a folder of its own with --dir\n",
	} {
		var stderr strings.Builder
		require.Equal(t, 1, start(t.Context(), []string{"--dir", dir}, io.Discard, &stderr))
		require.Equal(t, want, stderr.String())
		require.DirExists(t, dir)
	}
	require.FileExists(t, filepath.Join(up.dir, "database"))
	require.Equal(t, 2, start(t.Context(), []string{"--nonsense"}, io.Discard, io.Discard))
	require.Equal(t, 0, start(t.Context(), []string{"--help"}, io.Discard, io.Discard))
}
