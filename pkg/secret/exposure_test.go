package secret_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/secret"
)

// TestExposuresLastUntilTheKeyIsRemoved: a key that all users could read stays marked in the file after its mode is
// corrected, and a key that is added afterwards is not.
func TestExposuresLastUntilTheKeyIsRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	first, err := secret.LoadOrCreate(path)
	require.NoError(t, err)
	require.Empty(t, first.Exposures())
	old := first.Primary()

	require.NoError(t, os.Chmod(path, 0o644))
	changed, err := first.Refresh() // of a node that runs
	require.NoError(t, err)
	require.False(t, changed)
	requireExposed(t, first, old)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())

	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	for range 2 { // also if a node was killed between the mark and the mode
		again, err := secret.Load(path)
		require.NoError(t, err)
		requireExposed(t, again, old)
		same, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(raw), string(same))
		require.NoError(t, os.Chmod(path, 0o604))
	}

	_, err = secret.AddKey(path) // before a node has read the file
	require.NoError(t, err)
	r, err := secret.Load(path)
	require.NoError(t, err)
	require.Len(t, r.IDs(), 2)
	requireExposed(t, r, old)
	_, _, err = secret.Activate(path, "")
	require.NoError(t, err)
	require.NoError(t, secret.RemoveKey(path, old))
	r, err = secret.Load(path)
	require.NoError(t, err)
	require.Empty(t, r.Exposures())
	require.True(t, r.Has(r.Primary()))
	raw, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(raw), old)
}

func requireExposed(t *testing.T, r *secret.Ring, key string) {
	t.Helper()
	all := r.Exposures()
	require.Len(t, all, 1)
	require.Equal(t, key, all[0].Key)
	require.Equal(t, "-rw-r--r--", all[0].Mode)
	require.WithinDuration(t, time.Now(), all[0].Found, time.Hour)
}

// TestAddKeyMarksExposedKeys: a file that no node has read since it was exposed.
func TestAddKeyMarksExposedKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	r, err := secret.LoadOrCreate(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = secret.AddKey(path)
	require.NoError(t, err)
	after, err := secret.Load(path)
	require.NoError(t, err)
	requireExposed(t, after, r.Primary())
}
