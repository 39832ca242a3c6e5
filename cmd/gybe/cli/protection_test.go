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
	inherited, err := os.CreateTemp(t.TempDir(), "inherited")
	require.NoError(t, err)
	defer func() { _ = inherited.Close() }()
	logFile, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { _ = logFile.Close() }()
	program, err := exec.LookPath("gybe") // this test, see TestMain
	require.NoError(t, err)
	node := exec.CommandContext(t.Context(), program, "serve", "--database-url", devpg.TestURL(t),
		"--set", "listen=127.0.0.1:0", "--set", "debug_listen=", "--set", "data_dir="+filepath.Join(t.TempDir(), "data"))
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
	require.NoError(t, openUnprivileged(of(other, "environ")))
	require.ErrorIs(t, openUnprivileged(of(node, "environ")), os.ErrPermission)
	require.ErrorIs(t, openUnprivileged(of(node, "mem")), os.ErrPermission)
	if os.Geteuid() != 0 {
		return // the descriptors of the node are hidden, too
	}
	require.Zero(t, flagsOf(t, of(other, "fdinfo/3"))&unix.O_CLOEXEC)
	require.NotZero(t, flagsOf(t, of(node, "fdinfo/3"))&unix.O_CLOEXEC)
}

// of is a file about a process.
func of(cmd *exec.Cmd, name string) string { return fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, name) }

// openUnprivileged opens a file as this user without the right to look into all processes, which root has.
func openUnprivileged(path string) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // without unlocking: the thread ends with the goroutine
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		err := unix.Capget(&head, &caps[0])
		if err == nil {
			for _, c := range []uint{unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_PERFMON} {
				caps[c/32].Effective &^= 1 << (c % 32)
			}
			err = unix.Capset(&head, &caps[0])
		}
		if err != nil {
			result <- err
			return
		}
		f, err := os.Open(path)
		if err == nil {
			err = f.Close()
		}
		result <- err
	}()
	return <-result
}

// flagsOf reads the flags of a descriptor from /proc.
func flagsOf(t *testing.T, path string) int {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 8, 64)
			require.NoError(t, err)
			return int(n)
		}
	}
	t.Fatalf("%s has no flags", path)
	return 0
}
