package content

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

const (
	blobs = "blobs"
	trees = "trees"
	tmp   = "tmp"
	// partials is not tmp: nodes of the release before sweep that.
	partials = "partial"

	dirPerm  fs.FileMode = 0o750
	filePerm fs.FileMode = 0o640
)

// Store is a content store in one directory. It is safe for use by many goroutines and, on the same directory, by
// many processes.
type Store struct {
	root *os.Root
	keep int64                 // bytes that stay free
	free func() (int64, error) // of the file system
}

// Open opens the store in dir and creates missing directories.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, dirPerm); err != nil { //nolint:gosec // the directory that the operator configured
		return nil, fmt.Errorf("create content directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open content directory: %w", err)
	}
	for _, d := range []string{blobs, trees, tmp, partials} {
		if err := root.MkdirAll(d, dirPerm); err != nil {
			return nil, errors.Join(fmt.Errorf("create content directory: %w", err), root.Close())
		}
	}
	s := &Store{root: root}
	s.free = s.freeBytes
	return s, nil
}

// Close releases the directory. Blobs and trees that are open stay usable.
func (s *Store) Close() error { return s.root.Close() }

// temp returns a unique name in tmp.
func temp(kind string) string { return path.Join(tmp, kind+"-"+rand.Text()) }

// publish renames from to the final name to and makes the new name durable.
func (s *Store) publish(from, to string) error {
	dir := path.Dir(to)
	if err := s.root.MkdirAll(dir, dirPerm); err != nil {
		return err
	}
	if err := s.root.Rename(from, to); err != nil {
		return err
	}
	return s.syncDir(dir)
}

// syncDir makes the names in a directory durable.
func (s *Store) syncDir(name string) error {
	d, err := s.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(syncFile(d), d.Close())
}
