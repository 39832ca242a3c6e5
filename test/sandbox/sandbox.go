// Package sandbox finds what scripts of packages are run with, for tests.
package sandbox

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// python is the system's interpreter: others may be where only root looks, and scripts of a Gybe that runs as root are nobody's.
const python = "/usr/bin/python3"

// allowed says whether an ordinary user can have a sandbox.
var allowed = sync.OnceValues(func() ([]byte, error) {
	cmd := exec.CommandContext(context.Background(), "bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return cmd.CombinedOutput()
})

// Python is an interpreter. It skips the test, so that nobody can miss it, where there is none, or no sandbox for it if one is wanted.
func Python(tb testing.TB, sandboxed bool) string {
	tb.Helper()
	if err := exec.CommandContext(tb.Context(), python, "-c", "import json, pickle, runpy").Run(); err != nil {
		tb.Skipf("!!!! SKIPPED: no usable %s on this machine, so nobody has checked how scripts of packages are run: %v; apt-get install python3", python, err)
	}
	if out, err := allowed(); sandboxed && err != nil {
		tb.Skipf("!!!! SKIPPED: no sandbox on this machine, so nobody has checked how scripts of packages are confined: %v: %s; apt-get install bubblewrap", err, out)
	}
	return python
}
