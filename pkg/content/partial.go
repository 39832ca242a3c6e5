package content

import (
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync/atomic"
)

// ErrBusy reports content that another process is receiving, or this one in another place.
var ErrBusy = errors.New("another process is receiving this content")

// Partial is content that arrives in several attempts, also of several processes, one after the other. Its caller knows
// its name and removes it; Sweep leaves it alone. Call exactly one of Close and Stage.
type Partial struct {
	store *Store
	file  *os.File // locked
	name  string
	size  atomic.Int64
}

// OpenPartial opens the content that has arrived under a name, or begins it; ErrBusy when another has it open. A name
// is a file name.
func (s *Store) OpenPartial(name string) (*Partial, error) {
	at, err := partialPath(name)
	if err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(at, os.O_RDWR|os.O_CREATE, filePerm)
	if err != nil {
		return nil, fmt.Errorf("open partial content: %w", err)
	}
	p := &Partial{store: s, file: f, name: at}
	free, err := tryLock(f)
	if err == nil && !free {
		err = ErrBusy
	}
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	p.size.Store(info.Size())
	return p, nil
}

func partialPath(name string) (string, error) {
	if name == "" || name == "." || name == ".." || path.Base(name) != name {
		return "", fmt.Errorf("%q is not a name for partial content", name)
	}
	return path.Join(partials, name), nil
}

// Size returns the number of bytes that have arrived.
func (p *Partial) Size() int64 { return p.size.Load() }

// Truncate keeps the first bytes only. A larger number changes nothing.
func (p *Partial) Truncate(size int64) error {
	if size >= p.Size() {
		return nil
	}
	if err := p.file.Truncate(size); err != nil {
		return fmt.Errorf("truncate partial content: %w", err)
	}
	p.size.Store(size)
	return nil
}

// Append adds r to the content. Bytes that were read before an error stay. Errors are those of Stage; the limit is for
// the whole content.
func (p *Partial) Append(ctx context.Context, r io.Reader, limit int64) error {
	if err := p.store.CheckSpace(0); err != nil {
		return err
	}
	if _, err := p.file.Seek(p.Size(), io.SeekStart); err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	src := &boundedReader{ctx: ctx, r: r, left: limit - p.Size(), limit: limit, check: p.store.CheckSpace}
	if _, err := io.CopyBuffer(counting{p}, src, make([]byte, 256<<10)); err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	return nil
}

// counting writes to a Partial.
type counting struct{ *Partial }

func (c counting) Write(b []byte) (int, error) {
	n, err := c.file.Write(b)
	c.size.Add(int64(n))
	return n, err
}

// Sync makes the bytes durable that have arrived and returns their number. It may be called during Append.
func (p *Partial) Sync() (int64, error) {
	size := p.Size()
	if err := p.file.Sync(); err != nil {
		return 0, fmt.Errorf("store content: %w", err)
	}
	return size, nil
}

// Close releases the content for another attempt.
func (p *Partial) Close() error { return p.file.Close() }

// Stage ends the content: it reads all of it for its digest. After an error the content can be opened again.
func (p *Partial) Stage(ctx context.Context) (*Staged, error) {
	sum := sha512.New()
	src := &boundedReader{
		ctx: ctx, r: io.NewSectionReader(p.file, 0, p.Size()), check: func(int64) error { return nil },
	}
	n, err := io.CopyBuffer(onlyWriter{sum}, src, make([]byte, 256<<10))
	if err == nil {
		err = p.file.Sync()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read partial content: %w", err), p.file.Close())
	}
	return &Staged{Digest: digestOf(sum.Sum(nil)), Size: n, store: p.store, file: p.file, name: p.name}, nil
}

// RemovePartial removes content that has arrived in part, also while a process receives it. It is not an error if there
// is none.
func (s *Store) RemovePartial(name string) error {
	at, err := partialPath(name)
	if err != nil {
		return err
	}
	if err := s.root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove partial content: %w", err)
	}
	return nil
}

// Partials lists the names of all partial content.
func (s *Store) Partials() ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), partials)
	if err != nil {
		return nil, fmt.Errorf("list partial content: %w", err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}
