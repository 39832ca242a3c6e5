//go:build !linux

package script

import (
	"errors"
	"os"
	"syscall"
)

var errLinux = errors.New("scripts are run on Linux only")

// errNoProcess is never returned here.
var errNoProcess = errLinux

func findGroups() (*groups, error) { return nil, errLinux }

func awaitEmpty(string) {}

func (group) join(*syscall.SysProcAttr) {}

func attributes() *syscall.SysProcAttr { return nil }

func chownToScriptUser(string) error { return errLinux }

func describeScriptUser() string { return errLinux.Error() }

func killGroup(int) error { return errLinux }

func tryLock(*os.File) bool { return false }
