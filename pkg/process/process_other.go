//go:build !linux

package process

// CloseOnExec does nothing on this operating system; scripts of packages run on Linux only.
func CloseOnExec() error { return nil }

// HideMemory does nothing on this operating system.
func HideMemory() error { return nil }
