package content

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestStageLeavesFreeSpace(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	s.KeepFree(100 << 20)
	left := int64(120 << 20)
	s.free = func() (int64, error) { left -= checkEvery; return left, nil } // other programs write as well
	_, err := s.Stage(t.Context(), zeros{}, 0)
	var full *SpaceError
	require.ErrorAs(t, err, &full)
	require.ErrorContains(t, err, "96 MiB of free disk space, and 100 MiB have to stay free")
	require.Empty(t, tmpEntries(t, s), "the part that was written is removed")

	left = 100 << 20
	_, err = s.Stage(t.Context(), readerFunc(func([]byte) (int, error) { panic("refused before it is read") }), 0)
	require.ErrorAs(t, err, &full)
	require.ErrorAs(t, s.CheckSpace(1), &full)

	s.free = func() (int64, error) { return 200 << 20, nil }
	require.NoError(t, s.CheckSpace(100<<20))
	require.ErrorContains(t, s.CheckSpace(100<<20+1), "; 101 MiB are needed")
	_, _, err = s.Ingest(t.Context(), io.LimitReader(zeros{}, 32<<20), 0)
	require.NoError(t, err)
}

func TestFreeSpaceOfADirectory(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	free, err := s.freeBytes()
	require.NoError(t, err)
	require.Positive(t, free)
	s.KeepFree(math.MaxInt64)
	var full *SpaceError
	require.ErrorAs(t, s.CheckSpace(0), &full)
}

const (
	smallDisk = 64 << 20
	smallKeep = 24 << 20
)

func init() { playSmallDisk = fillSmallDisk }

// fillSmallDisk runs in name spaces of its own: it mounts a small file system, uploads more than it holds, and then
// writes as other parts of Gybe do.
func fillSmallDisk(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
	}
	check(unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", smallDisk)))
	s, err := Open(dir)
	check(err)
	s.KeepFree(smallKeep)
	var least int64 = math.MaxInt64
	_, err = s.Stage(context.Background(), readerFunc(func(p []byte) (int, error) {
		free, err := s.freeBytes()
		least = min(least, free)
		clear(p)
		return len(p), err
	}), 0)
	fmt.Fprintln(os.Stdout, err)
	if least < smallKeep-checkEvery {
		fmt.Fprintln(os.Stdout, "free space fell to", least)
	}
	check(os.WriteFile(dir+"/other", make([]byte, smallKeep), 0o600))
	os.Exit(0)
}

// TestSmallDiskIsNotFilled: on a real file system, an upload that does not fit stops at the limit, its space is free
// again, and other writes succeed.
func TestSmallDiskIsNotFilled(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "GYBE_CONTENT_SMALL_DISK="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("!!!! SKIPPED: no name spaces on this machine, so a full disk was not tested: %v", err)
	}
	err := cmd.Wait()
	if bytes.Contains(out.Bytes(), []byte("operation not permitted")) {
		t.Skipf("!!!! SKIPPED: mounts are not allowed on this machine, so a full disk was not tested: %s", out.String())
	}
	require.NoError(t, err, out.String())
	require.Regexp(t, `^store content: the content store has \d+ MiB of free disk space, and 24 MiB have to stay free\n$`, out.String())
}
