package secret_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/secret"
)

func ring(t *testing.T, lines ...string) *secret.Ring {
	t.Helper()
	r, err := secret.Parse([]byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	return r
}

func TestSealedDataOpensOnlyInItsPlaceWithItsKey(t *testing.T) {
	t.Parallel()
	a, b := secret.Generate(), secret.Generate()
	r := ring(t, a)
	sealed := r.Seal([]byte("devstack"), "vim/connection/1")
	require.NotContains(t, string(sealed), "devstack")
	require.False(
		t,
		bytes.Equal(sealed, r.Seal([]byte("devstack"), "vim/connection/1")),
		"equal secrets must not look equal",
	)

	plain, err := r.Open(sealed, "vim/connection/1")
	require.NoError(t, err)
	require.Equal(t, "devstack", string(plain))
	owned := bytes.Clone(sealed)
	_, err = r.OpenInPlace(bytes.Clone(sealed), "vim/connection/2")
	require.ErrorIs(t, err, secret.ErrBroken)
	plain, err = r.OpenInPlace(owned, "vim/connection/1")
	require.NoError(t, err)
	require.Equal(t, "devstack", string(plain))
	require.NotEqual(t, sealed, owned, "it overwrites the sealed form")

	_, err = r.Open(sealed, "vim/connection/2")
	require.ErrorIs(t, err, secret.ErrBroken)
	_, err = ring(t, b).Open(sealed, "vim/connection/1")
	require.ErrorIs(t, err, secret.ErrUnknownKey)
	id, key, _ := strings.Cut(b, " ")
	require.NotEmpty(t, id)
	_, err = ring(t, r.Primary()+" "+key).Open(sealed, "vim/connection/1")
	require.ErrorIs(t, err, secret.ErrBroken, "another key of the same id")
	for n := range sealed {
		broken := bytes.Clone(sealed)
		broken[n] ^= 1
		_, err := r.Open(broken, "vim/connection/1")
		require.Error(t, err, "byte %d", n)
		_, err = r.Open(sealed[:n], "vim/connection/1")
		require.Error(t, err, "cut at %d", n)
	}
}

func TestARotatedRingOpensOldDataAndSealsWithTheNewKey(t *testing.T) {
	t.Parallel()
	old, next := secret.Generate(), secret.Generate()
	before, after := ring(t, old), ring(t, next, old)
	sealed := before.Seal([]byte("x"), "p")
	plain, err := after.Open(sealed, "p")
	require.NoError(t, err)
	require.Equal(t, "x", string(plain))
	key, ok := secret.KeyOf(after.Seal(plain, "p"))
	require.True(t, ok)
	require.Equal(t, after.Primary(), key)
	require.NotEqual(t, before.Primary(), after.Primary())
	require.True(t, after.Has(before.Primary()))
	require.NotEqual(t, before.Fingerprint([]byte("x")), after.Fingerprint([]byte("x")))
	require.Equal(t, after.Fingerprint([]byte("x")), ring(t, next).Fingerprint([]byte("x")))
}

func TestNothingStaysNothing(t *testing.T) {
	t.Parallel()
	r := ring(t, secret.Generate())
	require.Nil(t, r.Seal(nil, "p"))
	plain, err := r.Open(nil, "p")
	require.NoError(t, err)
	require.Nil(t, plain)
	plain, err = r.Open(r.Seal([]byte{}, "p"), "p")
	require.NoError(t, err)
	require.NotNil(t, plain)
}

func TestABadKeyFileIsRefusedWithoutShowingKeys(t *testing.T) {
	t.Parallel()
	good := secret.Generate()
	_, key, _ := strings.Cut(good, " ")
	for name, text := range map[string]string{
		"empty":      "# nothing\n",
		"no key":     "k1",
		"short key":  "k1 " + key[:20],
		"not base64": "k1 !" + key,
		"twice":      good + "\n" + good,
		"bad id":     "k/1 " + key,
	} {
		_, err := secret.Parse([]byte(text))
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), key[:20], name)
	}
}

func TestNodesThatStartAtOnceMakeOneKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "keys")
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for n := range ids {
		wg.Go(func() {
			if r, err := secret.LoadOrCreate(path); err == nil {
				ids[n] = r.Primary()
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, ids[0])
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func FuzzOpen(f *testing.F) {
	r, err := secret.Parse([]byte(secret.Generate()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(r.Seal([]byte("secret"), "p"))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		_, _ = r.Open(sealed, "p")
		_, _ = secret.KeyOf(sealed)
	})
}

func TestLoadClosesAKeyFileThatAllUsersCanRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	for mode, want := range map[os.FileMode]os.FileMode{0o644: 0o640, 0o600: 0o600, 0o440: 0o440, 0o607: 0o600} {
		_ = os.Remove(path) // absent at first
		require.NoError(t, os.WriteFile(path, []byte(secret.Generate()), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		_, err := secret.Load(path)
		require.NoError(t, err)
		st, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, st.Mode().Perm())
	}
}

func TestLoadLeavesDevicesAlone(t *testing.T) {
	t.Parallel()
	before, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	_, err = secret.Load(os.DevNull)
	require.ErrorContains(t, err, "holds no key")
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
}
