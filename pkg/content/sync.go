package content

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// syncTree makes the files and directories below a directory durable: with one call for the whole file system where
// that is enough, because a call for each of 50,000 files takes most of a minute.
func (s *Store) syncTree(name string) error {
	dir, err := s.root.Open(name)
	if err != nil {
		return fmt.Errorf("open extracted files: %w", err)
	}
	defer func() { _ = dir.Close() }() // a directory that was only read
	done, err := syncFileSystem(dir)
	if err == nil && !done {
		err = s.syncEach(name)
	}
	if err != nil {
		return fmt.Errorf("sync extracted files: %w", err)
	}
	return nil
}

// syncEach makes each file and directory durable.
func (s *Store) syncEach(name string) error {
	return fs.WalkDir(s.root.FS(), name, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := s.root.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(syncFile(f), f.Close())
	})
}

// syncFile makes a file or directory durable. Some file systems cannot sync a directory; there a name is as durable as
// the file system allows.
func syncFile(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
