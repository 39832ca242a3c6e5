package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// minAge protects the instant between creating an entry in tmp and locking it.
const minAge = time.Minute

// Sweep removes entries of dead processes from tmp, and returns their number. Entries of living processes are locked
// and stay. Call it at the start and periodically.
func (s *Store) Sweep(ctx context.Context) (int, error) { return s.sweep(ctx, minAge) }

func (s *Store) sweep(ctx context.Context, age time.Duration) (int, error) {
	entries, err := fs.ReadDir(s.root.FS(), tmp)
	if err != nil {
		return 0, fmt.Errorf("list unfinished content: %w", err)
	}
	removed := 0
	for _, e := range entries {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		ok, err := s.sweepOne(path.Join(tmp, e.Name()), age)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // its process has finished it
			return removed, fmt.Errorf("remove unfinished content: %w", err)
		}
		if ok {
			removed++
		}
	}
	return removed, nil
}

func (s *Store) sweepOne(name string, age time.Duration) (bool, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // read-only, and closing gives the lock back
	info, err := f.Stat()
	if err != nil || time.Since(info.ModTime()) < age {
		return false, err
	}
	free, err := tryLock(f)
	if err != nil || !free {
		return false, err
	}
	return true, s.root.RemoveAll(name)
}
