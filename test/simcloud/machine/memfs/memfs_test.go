package memfs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

func newFS(t *testing.T) (root, user, other memfs.View) {
	t.Helper()
	f := memfs.New(time.Now, 1<<20)
	root = f.As(memfs.Root)
	require.NoError(t, root.Mkdir("/tmp", 0o777|fs.ModeSticky))
	require.NoError(t, root.Mkdir("/home", 0o755))
	require.NoError(t, root.Mkdir("/home/u", 0o750))
	require.NoError(t, root.Chown("/home/u", 1000, 1000))
	return root, f.As(memfs.Cred{UID: 1000, GID: 1000}), f.As(memfs.Cred{UID: 1001, GID: 1001, Groups: []int{7}})
}

// TestPermissions: a script that would fail on a server for want of rights must fail here.
func TestPermissions(t *testing.T) {
	t.Parallel()
	root, user, other := newFS(t)
	require.NoError(t, user.WriteFile("/home/u/a", []byte("x"), 0o600))
	_, err := other.ReadFile("/home/u/a")
	require.ErrorIs(t, err, fs.ErrPermission, "the directory is closed")
	require.ErrorIs(t, user.WriteFile("/etc", nil, 0o600), fs.ErrPermission)
	require.NoError(t, user.WriteFile("/tmp/u", []byte("x"), 0o644))
	require.ErrorIs(t, other.Remove("/tmp/u"), fs.ErrPermission, "sticky")
	require.ErrorIs(t, other.Rename("/tmp/u", "/tmp/o"), fs.ErrPermission)
	require.ErrorIs(t, other.WriteFile("/tmp/u", nil, 0o644), fs.ErrPermission)
	require.ErrorIs(t, other.Chmod("/tmp/u", 0o777), syscall.EPERM)
	require.ErrorIs(t, user.Chown("/tmp/u", 1001, -1), syscall.EPERM)
	require.NoError(t, root.Chown("/tmp/u", -1, 7))
	require.NoError(t, root.Chmod("/tmp/u", 0o660))
	require.NoError(t, other.WriteFile("/tmp/u", []byte("group"), 0))
	require.NoError(t, root.WriteFile("/tmp/s", nil, 0o600))
	require.ErrorIs(t, root.Access("/tmp/s", memfs.Exec), fs.ErrPermission, "not even root runs what is not executable")
	require.NoError(t, root.Access("/tmp/s", memfs.Read|memfs.Write))
}

func TestNames(t *testing.T) {
	t.Parallel()
	root, _, _ := newFS(t)
	require.NoError(t, root.MkdirAll("/a/b/c", 0o755))
	require.ErrorIs(t, root.Mkdir("/a", 0o755), fs.ErrExist)
	require.NoError(t, root.WriteFile("/a/f", []byte("one"), 0o644))
	require.ErrorIs(t, root.MkdirAll("/a/f/x", 0o755), syscall.ENOTDIR)
	require.NoError(t, root.Symlink("..", "/a/b/up"))
	b, err := root.ReadFile("/a/b/up/b/../f")
	require.NoError(t, err)
	require.Equal(t, "one", string(b))
	real, err := root.Real("/a/b/up/b/./up/f")
	require.NoError(t, err)
	require.Equal(t, "/a/f", real)
	require.NoError(t, root.Symlink("loop", "/loop"))
	_, err = root.Stat("/loop")
	require.ErrorIs(t, err, syscall.ELOOP)
	require.NoError(t, root.Link("/a/f", "/g"))
	require.NoError(t, root.Remove("/a/f"))
	b, err = root.ReadFile("/g")
	require.NoError(t, err)
	require.Equal(t, "one", string(b), "the other name keeps the file")
	require.ErrorIs(t, root.Remove("/a"), syscall.ENOTEMPTY)
	require.ErrorIs(t, root.Rename("/a", "/a/b/c/a"), syscall.EINVAL)
	require.NoError(t, root.WriteFile("/h", []byte("two"), 0o644))
	require.NoError(t, root.Rename("/h", "/g"))
	b, err = root.ReadFile("/g")
	require.NoError(t, err)
	require.Equal(t, "two", string(b))
	require.ErrorIs(t, root.Rename("/g", "/a"), syscall.EISDIR)
	_, err = root.Open("/g", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	require.ErrorIs(t, err, fs.ErrExist)
	require.NoError(t, root.RemoveAll("/a"))
	_, err = root.Lstat("/a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, root.RemoveAll("/a"))
}

func TestDiskIsBounded(t *testing.T) {
	t.Parallel()
	root, _, _ := newFS(t)
	require.NoError(t, root.WriteFile("/big", make([]byte, 1<<20-10), 0o644))
	require.ErrorIs(t, root.WriteFile("/more", make([]byte, 100), 0o644), syscall.ENOSPC)
	require.NoError(t, root.Remove("/big"))
	require.NoError(t, root.WriteFile("/more", make([]byte, 100), 0o644), "removing gives space back")
}

// TestLock: flock between descriptors, as the installation script and the job runner use it.
func TestLock(t *testing.T) {
	t.Parallel()
	root, _, _ := newFS(t)
	open := func() *memfs.File {
		f, err := root.Open("/lock", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		return f
	}
	a, b := open(), open()
	require.NoError(t, a.Lock(t.Context(), true, false))
	require.ErrorIs(t, b.Lock(t.Context(), false, false), syscall.EWOULDBLOCK)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.Lock(ctx, true, true), context.DeadlineExceeded)
	got := make(chan error, 1)
	go func() { got <- b.Lock(t.Context(), true, true) }()
	require.NoError(t, a.Close(), "closing lets go")
	require.NoError(t, <-got)
	b.Unlock()
	c, d := open(), open()
	require.NoError(t, c.Lock(t.Context(), false, false))
	require.NoError(t, d.Lock(t.Context(), false, false), "shared")
	require.ErrorIs(t, b.Lock(t.Context(), true, false), syscall.EWOULDBLOCK)
}

func TestComputedFiles(t *testing.T) {
	t.Parallel()
	f := memfs.New(time.Now, 0)
	v, value := f.As(memfs.Root), "0\n"
	f.Synth("/proc/x", 0o644, func() []byte { return []byte(value) }, func(b []byte) error {
		if string(b) == "bad" {
			return errors.New("no")
		}
		value = string(b)
		return nil
	})
	require.NoError(t, v.WriteFile("/proc/x", []byte("1\n"), 0))
	b, err := v.ReadFile("/proc/x")
	require.NoError(t, err)
	require.Equal(t, "1\n", string(b))
	require.Error(t, v.WriteFile("/proc/x", []byte("bad"), 0))
}
