package content

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// syncFileSystem makes everything on the file system of a directory durable and reports whether that is certain. A
// program behind FUSE sees each fsync, but not a sync of the file system.
func syncFileSystem(dir *os.File) (bool, error) {
	var info unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &info); err != nil || info.Type == unix.FUSE_SUPER_MAGIC {
		return false, nil //nolint:nilerr // unknown
	}
	for {
		switch err := unix.Syncfs(int(dir.Fd())); {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM):
			return false, nil
		default:
			return false, err
		}
	}
}

// freeSpace returns the bytes of a directory's file system that an ordinary user can still write.
func freeSpace(dir *os.File) (int64, error) {
	var info unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &info); err != nil {
		return 0, err
	}
	return int64(min(info.Bavail, uint64(math.MaxInt64/info.Bsize))) * info.Bsize, nil
}
