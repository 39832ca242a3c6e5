package process

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor after standard input, output and error.
const firstInherited = 3

// CloseOnExec marks all descriptors except the standard ones, so that programs that this process starts do not inherit
// them. Those that Go opens are marked already; others come from the program that started this process.
func CloseOnExec() error {
	err := unix.CloseRange(firstInherited, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, listErr := os.ReadDir("/proc/self/fd") // an older kernel
	if listErr != nil {
		return fmt.Errorf("mark inherited descriptors: %w", errors.Join(err, listErr))
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= firstInherited {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// HideMemory disables core dumps, and keeps processes of the same user from reading the memory of this one. Programs
// that it starts inherit the limit of core dumps only.
func HideMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("disable core dumps: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the memory of the process: %w", err)
	}
	return nil
}
