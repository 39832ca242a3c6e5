//go:build !linux

package script

import (
	"errors"
	"os"
	"syscall"
)

var errLinux = errors.New("scripts are run on Linux only")

func attributes() *syscall.SysProcAttr { return nil }

func chownToScriptUser(string) error { return errLinux }

func describeScriptUser() string { return errLinux.Error() }

func killGroup(int) error { return errLinux }

func tryLock(*os.File) bool { return false }
