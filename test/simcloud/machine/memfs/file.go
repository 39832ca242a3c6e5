package memfs

import (
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
)

// File is an open file description: an inode, an offset and a mode. It is safe for concurrent use.
type File struct {
	fs     *FS
	name   string
	n      *node
	flag   int
	mu     sync.Mutex
	off    int64
	snap   []byte // content of a computed file at open
	closed bool
}

// Open opens name like open(2); flag is os.O_…, perm the mode of a new file (the umask already applied).
func (v View) Open(name string, flag int, perm fs.FileMode) (*File, error) {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	n, dir, base, err := v.resolve("open", name, flag&os.O_EXCL == 0, 0)
	if err != nil {
		return nil, err
	}
	acc := flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
	if n == nil {
		if flag&os.O_CREATE == 0 {
			return nil, pathErr("open", name, syscall.ENOENT)
		}
		if !v.may(dir, Write|Exec) {
			return nil, pathErr("open", name, syscall.EACCES)
		}
		n = v.fs.newNode(perm.Perm(), v.cred)
		dir.children[base] = n
		dir.mtime = v.fs.now()
	} else {
		switch {
		case flag&os.O_EXCL != 0 && flag&os.O_CREATE != 0:
			return nil, pathErr("open", name, syscall.EEXIST)
		case n.mode.IsDir() && acc != os.O_RDONLY:
			return nil, pathErr("open", name, syscall.EISDIR)
		case acc != os.O_WRONLY && !v.may(n, Read), acc != os.O_RDONLY && !v.may(n, Write):
			return nil, pathErr("open", name, syscall.EACCES)
		}
	}
	f := &File{fs: v.fs, name: name, n: n, flag: flag}
	if n.synth != nil {
		if acc != os.O_RDONLY && n.synth.write == nil {
			return nil, pathErr("open", name, syscall.EACCES)
		}
		if acc != os.O_WRONLY {
			// The computing function may look at this tree, so it runs without the lock.
			v.fs.mu.Unlock()
			f.snap = n.synth.read()
			v.fs.mu.Lock()
		}
	} else if flag&os.O_TRUNC != 0 && n.mode.IsRegular() {
		v.fs.used -= int64(len(n.data))
		n.data, n.shared, n.mtime = nil, false, v.fs.now()
	}
	return f, nil
}

// Stat describes the open inode.
func (f *File) Stat() Info {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.n.info(path.Base(f.name))
}

// Read reads from the current offset.
func (f *File) Read(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.readAt(b, f.off)
	f.off += int64(n)
	return n, err
}

// ReadAt reads from off without moving the offset.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.readAt(b, off)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

func (f *File) readAt(b []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	switch {
	case f.closed:
		return 0, fs.ErrClosed
	case f.n.mode.IsDir():
		return 0, pathErr("read", f.name, syscall.EISDIR)
	case f.flag&(os.O_WRONLY|os.O_RDWR) == os.O_WRONLY:
		return 0, pathErr("read", f.name, syscall.EBADF)
	case f.n.mode&fs.ModeCharDevice != 0:
		switch f.n.target {
		case "zero":
			clear(b)
			return len(b), nil
		case "urandom":
			return rand.Read(b)
		}
		return 0, io.EOF
	}
	data := f.n.data
	if f.n.synth != nil {
		data = f.snap
	}
	if off >= int64(len(data)) {
		return 0, io.EOF
	}
	return copy(b, data[off:]), nil
}

// Write writes at the current offset, or at the end for O_APPEND.
func (f *File) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flag&os.O_APPEND != 0 {
		f.fs.mu.Lock()
		f.off = int64(len(f.n.data))
		f.fs.mu.Unlock()
	}
	n, err := f.writeAt(b, f.off)
	f.off += int64(n)
	return n, err
}

// WriteAt writes at off without moving the offset.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writeAt(b, off)
}

func (f *File) writeAt(b []byte, off int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if f.n.synth != nil && f.n.synth.write != nil {
		if err := f.n.synth.write(b); err != nil {
			return 0, &fs.PathError{Op: "write", Path: f.name, Err: err}
		}
		return len(b), nil
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	switch {
	case f.closed:
		return 0, fs.ErrClosed
	case f.flag&(os.O_WRONLY|os.O_RDWR) == 0:
		return 0, pathErr("write", f.name, syscall.EBADF)
	case !f.n.mode.IsRegular():
		return len(b), nil // null and its like swallow everything
	}
	if f.n.shared {
		f.n.data, f.n.shared = slices.Clone(f.n.data), false
	}
	end := off + int64(len(b))
	if grow := end - int64(len(f.n.data)); grow > 0 {
		if f.fs.used+grow > f.fs.limit {
			return 0, pathErr("write", f.name, syscall.ENOSPC)
		}
		f.fs.used += grow
		if end > int64(cap(f.n.data)) {
			data := make([]byte, len(f.n.data), max(end, 2*int64(len(f.n.data))))
			copy(data, f.n.data)
			f.n.data = data
		}
		old := len(f.n.data)
		f.n.data = f.n.data[:end]
		if int64(old) < off {
			clear(f.n.data[old:off])
		}
	}
	copy(f.n.data[off:], b)
	f.n.mtime = f.fs.now()
	return len(b), nil
}

// Close gives the description back and drops its lock.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	f.n.lock.drop(f)
	return nil
}

// Lock takes an advisory lock on the inode like flock(2): shared or exclusive, waiting until ctx ends, or not at all
// with wait false (EWOULDBLOCK). A lock held by this description is converted.
func (f *File) Lock(ctx context.Context, exclusive, wait bool) error {
	for {
		free, ok := f.n.lock.take(f, exclusive)
		if ok {
			return nil
		}
		if !wait {
			return pathErr("flock", f.name, syscall.EWOULDBLOCK)
		}
		select {
		case <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Unlock drops the description's lock.
func (f *File) Unlock() { f.n.lock.drop(f) }

// lockState is who holds an inode's flock. changed is closed and replaced whenever a holder releases it.
type lockState struct {
	mu      sync.Mutex
	holders map[*File]bool // value: exclusive
	changed chan struct{}
}

func (l *lockState) take(f *File, exclusive bool) (<-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for h, ex := range l.holders {
		if h != f && (ex || exclusive) {
			if l.changed == nil {
				l.changed = make(chan struct{})
			}
			return l.changed, false
		}
	}
	if l.holders == nil {
		l.holders = map[*File]bool{}
	}
	l.holders[f] = exclusive
	return nil, true
}

func (l *lockState) drop(f *File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.holders[f]; !ok {
		return
	}
	delete(l.holders, f)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
