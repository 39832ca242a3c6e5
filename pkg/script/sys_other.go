//go:build !linux

package script

import (
	"errors"
	"os"
	"syscall"
)

var errLinux = errors.New("scripts are run on Linux only")

func attributes() *syscall.SysProcAttr { return nil }

func give(string) error { return errLinux }

func asWhom() string { return errLinux.Error() }

func killGroup(int) error { return errLinux }

func hold(*os.File) bool { return false }
