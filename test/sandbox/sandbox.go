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

// python is the system's interpreter: others may be where only root looks, and scripts of a Gybe that runs as root are
// nobody's.
const python = "/usr/bin/python3"

// allowed says whether an ordinary user can have a sandbox.
var allowed = sync.OnceValues(func() ([]byte, error) {
	cmd := exec.CommandContext(
		context.Background(),
		"bwrap",
		"--unshare-user",
		"--unshare-pid",
		"--ro-bind",
		"/",
		"/",
		"--proc",
		"/proc",
		"--dev",
		"/dev",
		"true",
	)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return cmd.CombinedOutput()
})

// usable says whether the interpreter is complete.
var usable = sync.OnceValue(func() error {
	return exec.CommandContext(context.Background(), python, "-c", "import json, pickle, runpy").Run()
})

// Python returns an interpreter. Without one, or without a sandbox if it is required, the test is skipped with a
// visible message.
func Python(tb testing.TB, sandboxed bool) string {
	tb.Helper()
	if err := usable(); err != nil {
		tb.Skipf(
			"!!!! SKIPPED: no usable %s on this machine, so running scripts of packages was not tested: %v; apt-get "+
				"install python3",
			python,
			err,
		)
	}
	if out, err := allowed(); sandboxed && err != nil {
		tb.Skipf(
			"!!!! SKIPPED: no sandbox on this machine, so the sandbox of scripts was not tested: %v: %s; apt-get "+
				"install bubblewrap",
			err,
			out,
		)
	}
	return python
}

// playbookProgram is the program of Debian's package ansible-core.
const playbookProgram = "/usr/bin/ansible-playbook"

// Playbook returns ansible-playbook. Without it, the test is skipped with a visible message.
func Playbook(tb testing.TB) string {
	tb.Helper()
	if out, err := exec.CommandContext(tb.Context(), playbookProgram, "--version").CombinedOutput(); err != nil {
		tb.Skipf(
			"!!!! SKIPPED: no usable %s on this machine, so playbooks of packages were not tested: %v: %s; apt-get "+
				"install ansible-core openssh-client sshpass",
			playbookProgram,
			err,
			out,
		)
	}
	return playbookProgram
}
