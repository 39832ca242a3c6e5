package app

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestOpenDataDirRemovesTheRightsOfOtherUsers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode, want fs.FileMode
		holds      string
		warns      bool
	}{
		"empty":             {0o755, 0o750, "", true},
		"used before":       {0o777, 0o770, "content", true},
		"with a key":        {0o705, 0o700, "secret.key", true},
		"closed":            {0o700, 0o700, "anything", false},
		"open to the group": {0o770, 0o770, "anything", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.Mkdir(dir, 0o700))
			if tt.holds != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, tt.holds), nil, 0o600))
			}
			require.NoError(t, os.Chmod(dir, tt.mode))
			var out bytes.Buffer
			require.NoError(t, openDataDir(dir, slog.New(slog.NewTextHandler(&out, nil))))
			require.Equal(t, tt.want, modeOf(t, dir))
			require.Equal(t, tt.warns, out.Len() > 0, out.String())
		})
	}
}

func TestOpenDataDirCreatesAClosedDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, openDataDir(dir, slog.New(slog.DiscardHandler)))
	require.Equal(t, fs.FileMode(0o700), modeOf(t, dir))
}

// A data_dir such as /srv is a mistake. To close it would lock out other programs.
func TestOpenDataDirRejectsADirectoryOfOtherPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "website.conf"), nil, 0o600))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.ErrorContains(t, openDataDir(dir, slog.New(slog.DiscardHandler)), "use a directory of its own")
	require.Equal(t, fs.FileMode(0o755), modeOf(t, dir))
}
