//go:build linux || darwin || freebsd || netbsd || openbsd

package content

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the advisory lock of an open file or directory without waiting and reports whether it got it. The
// lock ends with the descriptor, also when the process is killed. It shows that the process of an entry is alive.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}
