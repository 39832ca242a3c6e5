package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"time"
)

// Blob is an open archive. It is an io.ReadSeeker and io.ReaderAt, as http.ServeContent and archive/zip want.
type Blob struct {
	*os.File
	size int64
	time time.Time
}

// Size is the archive's length in bytes.
func (b *Blob) Size() int64 { return b.size }

// ModTime is when this copy was stored.
func (b *Blob) ModTime() time.Time { return b.time }

// Open opens a blob for reading; the error is fs.ErrNotExist if the store has no blob with this digest. The blob
// stays readable after a Delete.
func (s *Store) Open(d Digest) (*Blob, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	f, err := s.root.Open(d.path(blobs))
	if err != nil {
		return nil, fmt.Errorf("open content: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open content: %w", err), f.Close())
	}
	return &Blob{File: f, size: info.Size(), time: info.ModTime()}, nil
}

// Delete removes a blob and its tree; a missing one is not an error. The caller must know that the digest is no longer
// used, and that no new use of it can start before Delete returns.
func (s *Store) Delete(d Digest) error {
	if err := d.check(); err != nil {
		return err
	}
	// The tree goes first: with the blob gone, no later call would remove the tree.
	if err := s.deleteTree(d); err != nil {
		return fmt.Errorf("delete extracted files: %w", err)
	}
	if err := s.root.Remove(d.path(blobs)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete content: %w", err)
	}
	return nil
}

// All yields the digests of blobs, and of trees without a blob, that were stored before the given time, so that a
// caller can find content without a reference. If it fails, an error is its last element.
func (s *Store) All(ctx context.Context, before time.Time) iter.Seq2[Digest, error] {
	return func(yield func(Digest, error) bool) {
		for _, kind := range []string{blobs, trees} {
			more := true
			err := s.walk(ctx, kind, before, func(d Digest) bool {
				if kind == trees {
					if _, err := s.root.Stat(d.path(blobs)); !errors.Is(err, fs.ErrNotExist) {
						return true // listed with the blobs
					}
				}
				more = yield(d, nil)
				return more
			})
			if err != nil {
				yield("", fmt.Errorf("list content: %w", err))
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// walk calls visit for the digests of one kind that were stored before the given time, until it returns false.
func (s *Store) walk(ctx context.Context, kind string, before time.Time, visit func(Digest) bool) error {
	return fs.WalkDir(s.root.FS(), kind, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted since the directory was listed
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		digest, err := ParseDigest(entry.Name())
		if err != nil || digest.path(kind) != name {
			return nil //nolint:nilerr // a directory of digests, or a file that is not ours
		}
		var below error
		if entry.IsDir() {
			below = fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			return below // deleted since, or too young
		}
		if !visit(digest) {
			return fs.SkipAll
		}
		return below
	})
}
