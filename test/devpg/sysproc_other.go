//go:build unix && !linux

package devpg

import "syscall"

// tieToParent does nothing: only Linux can tie a process to its parent.
func tieToParent(*syscall.SysProcAttr, syscall.Signal) {}
