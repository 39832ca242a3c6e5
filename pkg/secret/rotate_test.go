package secret_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/secret"
)

// TestKeyFileIsRotatedWithoutAValueThatANodeCannotOpen follows the steps of gybe secrets with two running nodes.
func TestKeyFileIsRotatedWithoutAValueThatANodeCannotOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	one, err := secret.LoadOrCreate(path)
	require.NoError(t, err)
	two, err := secret.Load(path)
	require.NoError(t, err)
	old := one.Primary()
	opens := func(r *secret.Ring, sealed []byte) {
		t.Helper()
		plain, err := r.Open(sealed, "place")
		require.NoError(t, err)
		require.Equal(t, "s", string(plain))
	}

	oldValue := one.Seal([]byte("s"), "place")
	id, err := secret.AddKey(path)
	require.NoError(t, err)
	changed, err := one.Refresh()
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, []string{old, id}, one.IDs(), "the new key does not seal yet")

	now, before, err := secret.Activate(path, "")
	require.NoError(t, err)
	require.Equal(t, id, now)
	require.Equal(t, old, before)
	_, err = one.Refresh()
	require.NoError(t, err)
	require.Equal(t, id, one.Primary())
	sealed := one.Seal([]byte("s"), "place")
	opens(two, sealed) // it has not read the file since the start
	require.Equal(t, []string{id, old}, two.IDs())
	bySecond := two.Seal([]byte("s"), "place")
	opens(one, bySecond)

	require.ErrorContains(t, secret.RemoveKey(path, id), "seals")
	require.NoError(t, secret.RemoveKey(path, old))
	_, err = one.Refresh()
	require.NoError(t, err)
	require.Equal(t, []string{id}, one.IDs())
	opens(one, oldValue) // sealed by a node that has not read the file for a while
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(raw), "# Keys of Gybe's database", "comments stay")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, os.WriteFile(path, []byte(secret.Generate()), 0o600))
	changed, err = one.Refresh()
	require.ErrorContains(t, err, "none of the keys")
	require.False(t, changed)
}

func TestAddKeyLosesNoKeyWhenCommandsRunAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	_, err := secret.LoadOrCreate(path)
	require.NoError(t, err)
	link := path + ".link"
	require.NoError(t, os.Symlink(path, link))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := secret.AddKey(link); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r, err := secret.Load(path)
	require.NoError(t, err)
	require.Len(t, r.IDs(), 9)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "the link stays")
	_, _, err = secret.Activate(path, "k0")
	require.ErrorContains(t, err, "no key k0")
	last := r.IDs()[8]
	now, _, err := secret.Activate(path, last)
	require.NoError(t, err)
	require.Equal(t, last, now)
}
