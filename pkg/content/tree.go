package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Tree holds the extracted files of one archive, for reading. Close it after use.
type Tree struct {
	root *os.Root
}

// FS returns the tree as a file system; no name reaches a file outside.
func (t *Tree) FS() fs.FS { return t.root.FS() }

// Root returns the tree's directory, for code that needs more than fs.FS. Its files must not be changed.
func (t *Tree) Root() *os.Root { return t.root }

// Close releases the directory.
func (t *Tree) Close() error { return t.root.Close() }

// Tree opens the extracted files of an archive; the error is fs.ErrNotExist if it has not been extracted.
func (s *Store) Tree(d Digest) (*Tree, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	root, err := s.root.OpenRoot(d.path(trees))
	if err != nil {
		return nil, fmt.Errorf("open extracted files: %w", err)
	}
	return &Tree{root: root}, nil
}

// Files returns the extracted files of an archive as a file system without open handles, which needs no closing; the
// error is fs.ErrNotExist if the archive has not been extracted. No name reaches a file outside the tree. The files
// that it opens are *os.File.
func (s *Store) Files(d Digest) (fs.FS, error) {
	tree, err := s.Tree(d)
	if err != nil {
		return nil, err
	}
	return files{store: s, digest: d}, tree.Close()
}

// files opens the tree again for every access.
type files struct {
	store  *Store
	digest Digest
}

// ContentHash is the same for two file systems only if they have the same files. Code that makes something of the files
// can keep it under this name.
func (f files) ContentHash() string { return string(f.digest) }

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	tree, err := f.store.Tree(f.digest)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = tree.Close() }() // a directory that was only read
	file, err := tree.root.Open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Extract creates the tree of d, unless it exists, and opens it. fill writes the files into an empty private
// directory. They are synced together afterwards; an error of fill discards them. If two processes extract the same
// archive at the same time, one tree stays.
func (s *Store) Extract(
	ctx context.Context,
	d Digest,
	fill func(ctx context.Context, dst *os.Root) error,
) (*Tree, error) {
	if tree, err := s.Tree(d); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return tree, err
	}
	name := temp("tree")
	if err := s.root.Mkdir(name, dirPerm); err != nil {
		return nil, fmt.Errorf("create directory for extracted files: %w", err)
	}
	if err := s.fillTree(ctx, name, fill); err != nil {
		return nil, errors.Join(err, s.root.RemoveAll(name))
	}
	err := s.publish(name, d.path(trees))
	if err != nil {
		err = errors.Join(err, s.root.RemoveAll(name))
		// Another process was faster. Its tree has the same files.
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("publish extracted files: %w", err)
		}
	}
	return s.Tree(d)
}

func (s *Store) fillTree(ctx context.Context, name string, fill func(context.Context, *os.Root) error) error {
	lock, err := s.root.Open(name)
	if err != nil {
		return fmt.Errorf("open directory for extracted files: %w", err)
	}
	defer func() { _ = lock.Close() }() // read-only: nothing to lose
	if _, err := tryLock(lock); err != nil {
		return fmt.Errorf("lock directory for extracted files: %w", err)
	}
	dst, err := s.root.OpenRoot(name)
	if err != nil {
		return fmt.Errorf("open directory for extracted files: %w", err)
	}
	if err := errors.Join(fill(ctx, dst), dst.Close()); err != nil {
		return err
	}
	return s.syncTree(name)
}

// deleteTree renames the tree before it removes the files, so that no reader finds an incomplete tree.
func (s *Store) deleteTree(d Digest) error {
	name := temp("removed")
	err := s.root.Rename(d.path(trees), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.root.RemoveAll(name)
}
