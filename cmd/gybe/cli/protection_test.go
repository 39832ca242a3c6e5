//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gybe-nfv/gybe/test/devpg"
)

// TestServeProtectsItsProcess starts a node as a process and looks at it from outside: it writes no core dumps, other
// processes of its user cannot read its memory, and it marks descriptors that it has inherited.
func TestServeProtectsItsProcess(t *testing.T) {
	t.Parallel()
	dropRights(t)
	inherited, err := os.CreateTemp(t.TempDir(), "inherited")
	require.NoError(t, err)
	defer func() { _ = inherited.Close() }()
	logFile, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { _ = logFile.Close() }()
	program, err := exec.LookPath("gybe") // this test, see TestMain
	require.NoError(t, err)
	node := exec.CommandContext(t.Context(), program, "serve", "--database-url", devpg.TestURL(t),
		"--listen", "127.0.0.1:0", "--set", "debug_listen=", "--data-dir", filepath.Join(t.TempDir(), "data"))
	node.Stderr, node.ExtraFiles = logFile, []*os.File{inherited}
	node.Cancel = func() error { return node.Process.Signal(os.Interrupt) }
	require.NoError(t, node.Start())
	t.Cleanup(func() {
		_ = node.Cancel()
		_ = node.Wait()
	})
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(logFile.Name())
		return err == nil && strings.Contains(string(raw), "gybe serves")
	}, time.Minute, 10*time.Millisecond)
	other := exec.CommandContext(t.Context(), "cat") // a process without protection
	in, err := other.StdinPipe()
	require.NoError(t, err)
	other.ExtraFiles = []*os.File{inherited}
	require.NoError(t, other.Start())
	defer func() {
		_ = in.Close()
		_ = other.Wait()
	}()

	limits, err := os.ReadFile(of(node, "limits"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Max core file size +0 +0 +bytes`, string(limits))
	require.NoError(t, open(of(other, "environ")))
	require.ErrorIs(t, open(of(node, "environ")), os.ErrPermission)
	require.ErrorIs(t, open(of(node, "mem")), os.ErrPermission)
	if os.Geteuid() != 0 {
		return // the descriptors of the node are hidden, too
	}
	require.False(t, closesOnExec(t, of(other, "fdinfo/3")))
	require.True(t, closesOnExec(t, of(node, "fdinfo/3")))
}

// of is a file about a process.
func of(cmd *exec.Cmd, name string) string { return fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, name) }

// dropRights takes the rights to look into all processes, which root has, from the thread of a test and the programs
// that it starts. The thread ends with the test.
func dropRights(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if os.Geteuid() != 0 {
		return
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	require.NoError(t, unix.Capget(&head, &caps[0]))
	for _, c := range []uintptr{unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_PERFMON} {
		require.NoError(t, unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0))
		caps[c/32].Effective &^= 1 << (c % 32)
		caps[c/32].Permitted &^= 1 << (c % 32)
	}
	require.NoError(t, unix.Capset(&head, &caps[0]))
}

// open opens a file with the rights of the test's thread.
func open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// closesOnExec reads from /proc whether a descriptor is marked, with all rights of this user.
func closesOnExec(t *testing.T, path string) bool {
	t.Helper()
	var raw []byte
	var err error
	done := make(chan struct{})
	go func() { // on another thread
		raw, err = os.ReadFile(path)
		close(done)
	}()
	<-done
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(raw), "flags:")
	flags, err := strconv.ParseInt(strings.Fields(rest)[0], 8, 64)
	require.NoError(t, err)
	return flags&unix.O_CLOEXEC != 0
}
