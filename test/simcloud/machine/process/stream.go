package process

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// Stream is what a file descriptor leads to: a file, a pipe, a network connection, an SSH channel. Read and Write may
// block until ctx ends. A stream that cannot do one of them returns EBADF.
type Stream interface {
	Read(ctx context.Context, b []byte) (int, error)
	Write(ctx context.Context, b []byte) (int, error)
	Close() error
}

// FD is one counted reference to a stream. The stream is closed with its last reference.
type FD struct {
	s    Stream
	refs *atomic.Int32
	once sync.Once
}

// NewFD wraps a stream with a first reference.
func NewFD(s Stream) *FD {
	f := &FD{s: s, refs: new(atomic.Int32)}
	f.refs.Store(1)
	return f
}

// Dup is another reference to the same stream.
func (f *FD) Dup() *FD {
	f.refs.Add(1)
	return &FD{s: f.s, refs: f.refs}
}

// Close gives this reference back; doing it twice is harmless.
func (f *FD) Close() {
	f.once.Do(func() {
		if f.refs.Add(-1) == 0 {
			_ = f.s.Close()
		}
	})
}

// File returns the open file behind the descriptor, or nil if it is something else.
func (f *FD) File() *memfs.File {
	if s, ok := f.s.(fileStream); ok {
		return s.File
	}
	return nil
}

// Reader reads the descriptor under ctx.
func (f *FD) Reader(ctx context.Context) io.Reader { return ioReader{ctx, f.s} }

// Writer writes to the descriptor under ctx.
func (f *FD) Writer(ctx context.Context) io.Writer { return ioWriter{ctx, f.s} }

type ioReader struct {
	ctx context.Context //nolint:containedctx // adapter that lives for one call chain
	s   Stream
}

func (r ioReader) Read(b []byte) (int, error) { return r.s.Read(r.ctx, b) }

type ioWriter struct {
	ctx context.Context //nolint:containedctx // adapter that lives for one call chain
	s   Stream
}

func (w ioWriter) Write(b []byte) (int, error) { return w.s.Write(w.ctx, b) }

// OpenFile makes a stream of an open file.
func OpenFile(f *memfs.File) Stream { return fileStream{f} }

type fileStream struct{ *memfs.File }

func (s fileStream) Read(_ context.Context, b []byte) (int, error)  { return s.File.Read(b) }
func (s fileStream) Write(_ context.Context, b []byte) (int, error) { return s.File.Write(b) }

// FromIO makes a stream of a reader and a writer, either of which may be nil; closer may be nil too. Their calls cannot
// be interrupted by ctx: use it for what never blocks, or for what something else closes.
func FromIO(r io.Reader, w io.Writer, closer io.Closer) Stream { return ioStream{r, w, closer} }

type ioStream struct {
	r io.Reader
	w io.Writer
	c io.Closer
}

func (s ioStream) Read(_ context.Context, b []byte) (int, error) {
	if s.r == nil {
		return 0, syscall.EBADF
	}
	return s.r.Read(b)
}

func (s ioStream) Write(_ context.Context, b []byte) (int, error) {
	if s.w == nil {
		return 0, syscall.EBADF
	}
	return s.w.Write(b)
}

func (s ioStream) Close() error {
	if s.c == nil {
		return nil
	}
	return s.c.Close()
}

// pipeSize is the capacity of a pipe, as in Linux.
const pipeSize = 64 << 10

// Pipe makes a Unix pipe: r gives EOF once every reference to w is closed, w gives EPIPE once every reference to r is.
func Pipe() (r, w *FD) {
	p := &pipe{changed: make(chan struct{})}
	return NewFD(pipeEnd{p, false}), NewFD(pipeEnd{p, true})
}

type pipe struct {
	mu               sync.Mutex
	buf              []byte
	rclosed, wclosed bool
	changed          chan struct{}
}

// wake makes all that wait look again. The lock is held.
func (p *pipe) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

type pipeEnd struct {
	*pipe
	write bool
}

func (p pipeEnd) Read(ctx context.Context, b []byte) (int, error) {
	if p.write {
		return 0, syscall.EBADF
	}
	for {
		p.mu.Lock()
		if len(p.buf) > 0 {
			n := copy(b, p.buf)
			p.buf = p.buf[n:]
			p.wake()
			p.mu.Unlock()
			return n, nil
		}
		eof, changed := p.wclosed, p.changed
		p.mu.Unlock()
		if eof {
			return 0, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (p pipeEnd) Write(ctx context.Context, b []byte) (int, error) {
	if !p.write {
		return 0, syscall.EBADF
	}
	done := 0
	for {
		p.mu.Lock()
		if p.rclosed {
			p.mu.Unlock()
			return done, syscall.EPIPE
		}
		if room := pipeSize - len(p.buf); room > 0 && len(b) > 0 {
			n := min(room, len(b))
			p.buf = append(p.buf, b[:n]...)
			b, done = b[n:], done+n
			p.wake()
		}
		changed := p.changed
		p.mu.Unlock()
		if len(b) == 0 {
			return done, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return done, context.Cause(ctx)
		}
	}
}

func (p pipeEnd) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.write {
		p.wclosed = true
	} else {
		p.rclosed = true
		p.buf = nil
	}
	p.wake()
	return nil
}

// errno digs the errno out of an error, 0 if there is none.
func errno(err error) syscall.Errno {
	var e syscall.Errno
	errors.As(err, &e)
	return e
}

// Reason is the text of an error as libc prints it: "No such file or directory".
func Reason(err error) string {
	switch e := errno(err); e {
	case 0:
		if errors.Is(err, fs.ErrNotExist) {
			return "No such file or directory"
		}
		return err.Error()
	default:
		s := e.Error()
		if s != "" && s[0] >= 'a' && s[0] <= 'z' {
			s = string(s[0]-'a'+'A') + s[1:]
		}
		return s
	}
}
