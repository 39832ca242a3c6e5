package memfs_test

import (
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// TestCloneIsACopy: neither side sees later changes of the other one, also where the content of a file is still shared.
func TestCloneIsACopy(t *testing.T) {
	t.Parallel()
	f := memfs.New(time.Now, 1<<20)
	root := f.As(memfs.Root)
	require.NoError(t, root.MkdirAll("/etc/app", 0o755))
	for _, name := range []string{"/etc/app/replaced", "/etc/app/inside", "/etc/app/longer", "/etc/app/gone"} {
		require.NoError(t, root.WriteFile(name, []byte("before"), 0o600))
	}
	require.NoError(t, root.Chown("/etc/app/inside", 7, 8))
	require.NoError(t, root.Link("/etc/app/inside", "/etc/app/other-name"))
	require.NoError(t, root.Symlink("inside", "/etc/app/link"))
	f.Device("/dev/null", "null")
	f.Synth("/proc/version", 0o444, func() []byte { return []byte("5.15") }, nil)

	image := f.Clone()
	second := image.Clone().As(memfs.Root)
	write := func(v memfs.View, name, text string, flag int) {
		t.Helper()
		file, err := v.Open(name, os.O_WRONLY|flag, 0)
		require.NoError(t, err)
		_, err = file.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	change := func(v memfs.View, text string) {
		require.NoError(t, v.WriteFile("/etc/app/replaced", []byte(text), 0o600))
		write(v, "/etc/app/inside", text, 0)
		write(v, "/etc/app/longer", text, os.O_APPEND)
		require.NoError(t, v.Remove("/etc/app/gone"))
		require.NoError(t, v.Mkdir("/etc/app/"+text, 0o755))
	}
	change(root, "ONE")
	change(second, "TWO")
	copied := image.As(memfs.Root)
	for name, want := range map[string][3]string{
		"/etc/app/replaced":   {"ONE", "TWO", "before"},
		"/etc/app/link":       {"ONEore", "TWOore", "before"},
		"/etc/app/other-name": {"ONEore", "TWOore", "before"},
		"/etc/app/longer":     {"beforeONE", "beforeTWO", "before"},
	} {
		for n, v := range []memfs.View{root, second, copied} {
			got, err := v.ReadFile(name)
			require.NoError(t, err, name)
			require.Equal(t, want[n], string(got), name)
		}
	}
	_, err := copied.Stat("/etc/app/gone")
	require.NoError(t, err)
	_, err = copied.Stat("/etc/app/ONE")
	require.ErrorIs(t, err, fs.ErrNotExist)
	i, err := copied.Stat("/etc/app/inside")
	require.NoError(t, err)
	require.Equal(t, []uint32{7, 8, 2}, []uint32{i.Uid(), i.Gid(), uint32(i.Links())})
	require.Equal(t, fs.FileMode(0o600), i.Mode())
	for _, name := range []string{"/dev/null", "/proc/version"} {
		_, err = copied.Stat(name)
		require.ErrorIs(t, err, fs.ErrNotExist, "it belongs to the machine, not to the disk")
	}
}

// TestCloneKeepsTheLimit: a copy is as full as the disk was.
func TestCloneKeepsTheLimit(t *testing.T) {
	t.Parallel()
	f := memfs.New(time.Now, 10)
	require.NoError(t, f.As(memfs.Root).WriteFile("/a", make([]byte, 8), 0o600))
	v := f.Clone().As(memfs.Root)
	require.ErrorContains(t, v.WriteFile("/b", make([]byte, 3), 0o600), "no space left")
	require.NoError(t, v.WriteFile("/b", make([]byte, 2), 0o600))
}
