package content

import (
	"errors"
	"fmt"
)

// SpaceError reports that the file system of the store does not have enough free space for new content.
type SpaceError struct {
	// Free is the free space in bytes, Keep the part of it that new content must not use.
	Free, Keep int64
	// Need is the size of the new content, 0 if it is not known.
	Need int64
}

// Error names the sizes.
func (e *SpaceError) Error() string {
	text := fmt.Sprintf("the content store has %d MiB of free disk space, and %d MiB have to stay free", e.Free>>20,
		e.Keep>>20)
	if e.Need > 0 {
		text += fmt.Sprintf("; %d MiB are needed", (e.Need+1<<20-1)>>20)
	}
	return text
}

// KeepFree sets the number of bytes of the file system that new content must leave free; 0 means all may be used. Call
// it before the first use of the store.
func (s *Store) KeepFree(bytes int64) { s.keep = bytes }

// CheckSpace returns a *SpaceError if need more bytes would leave less free space than KeepFree says.
func (s *Store) CheckSpace(need int64) error {
	if s.keep <= 0 {
		return nil
	}
	free, err := s.free()
	if err != nil {
		return fmt.Errorf("read the free space of the content store: %w", err)
	}
	if free-s.keep < max(need, 1) {
		return &SpaceError{Free: free, Keep: s.keep, Need: need}
	}
	return nil
}

// freeBytes returns the free space that this process may use.
func (s *Store) freeBytes() (_ int64, err error) {
	dir, err := s.root.Open(".")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return freeSpace(dir)
}
