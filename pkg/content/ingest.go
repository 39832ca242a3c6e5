package content

import (
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"os"
)

// LimitError reports that the content has more bytes than the caller allows.
type LimitError struct {
	// Limit is the number of bytes allowed.
	Limit int64
}

// Error names the limit.
func (e *LimitError) Error() string { return fmt.Sprintf("content is larger than %d bytes", e.Limit) }

// Staged is a blob whose bytes are on disk but which has no name yet. Call exactly one of Publish and Discard.
//
// Between Stage and Publish the caller can record that it needs the digest. Otherwise a concurrent deletion of the
// same content could remove the new blob.
type Staged struct {
	// Digest and Size (bytes) are of the whole content.
	Digest Digest
	Size   int64

	store *Store
	file  *os.File // open, and locked so that no sweep takes it
	name  string
}

// Stage reads r to its end into the store. It holds a buffer in memory, never the whole content. It fails with a
// *LimitError after limit bytes (0 or less: no limit), with a *SpaceError when the disk has too little free space,
// with ctx's cause when ctx ends, and with r's own error. In each case it removes the bytes that it has written.
func (s *Store) Stage(ctx context.Context, r io.Reader, limit int64) (*Staged, error) {
	if err := s.CheckSpace(0); err != nil {
		return nil, err
	}
	name := temp("upload")
	f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return nil, fmt.Errorf("create upload file: %w", err)
	}
	staged := &Staged{store: s, file: f, name: name}
	if err := staged.fill(ctx, r, limit); err != nil {
		return nil, errors.Join(err, staged.Discard())
	}
	return staged, nil
}

func (t *Staged) fill(ctx context.Context, r io.Reader, limit int64) error {
	if _, err := tryLock(t.file); err != nil {
		return fmt.Errorf("lock upload file: %w", err)
	}
	src := &boundedReader{ctx: ctx, r: r, left: limit, limit: limit, check: t.store.CheckSpace}
	sum := sha512.New()
	n, err := io.CopyBuffer(onlyWriter{t.file}, io.TeeReader(src, sum), make([]byte, 256<<10))
	if err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	t.Digest, t.Size = digestOf(sum.Sum(nil)), n
	return nil
}

// Publish gives the blob its name. Publishing existing content replaces it by the same bytes, so that uploading a
// blob again repairs a file that the file system has damaged.
func (t *Staged) Publish() error {
	if err := t.store.publish(t.name, t.Digest.path(blobs)); err != nil {
		return fmt.Errorf("publish content: %w", errors.Join(err, t.Discard()))
	}
	return t.file.Close()
}

// Discard removes the staged bytes.
func (t *Staged) Discard() error {
	return errors.Join(t.store.root.Remove(t.name), t.file.Close())
}

// Close leaves the bytes of a Partial under its name, for another attempt. Call it of those only.
func (t *Staged) Close() error { return t.file.Close() }

// Ingest is Stage and Publish in one call.
func (s *Store) Ingest(ctx context.Context, r io.Reader, limit int64) (Digest, int64, error) {
	staged, err := s.Stage(ctx, r, limit)
	if err != nil {
		return "", 0, err
	}
	return staged.Digest, staged.Size, staged.Publish()
}

// checkEvery is the number of bytes after which the free space is checked again.
const checkEvery = 8 << 20

// boundedReader ends with an error after limit bytes, when the disk is full, or when ctx ends.
type boundedReader struct {
	ctx         context.Context //nolint:containedctx // one read loop, it does not outlive the call
	r           io.Reader
	left, limit int64
	check       func(need int64) error
	unchecked   int64 // bytes since the last check of the free space
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.unchecked >= checkEvery {
		if err := b.check(0); err != nil {
			return 0, err
		}
		b.unchecked = 0
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	b.unchecked += int64(n)
	if b.limit > 0 && b.left < 0 {
		return 0, &LimitError{Limit: b.limit}
	}
	return n, err
}

// onlyWriter hides ReadFrom, which would bypass the hash's buffer with a small one of its own.
type onlyWriter struct{ io.Writer }

// ReadAt reads staged bytes.
func (t *Staged) ReadAt(p []byte, off int64) (int, error) { return t.file.ReadAt(p, off) }

// Bytes is Size.
func (t *Staged) Bytes() int64 { return t.Size }
