package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// descriptor is a descriptor of the simulation as the interpreter holds it.
type descriptor struct {
	*process.FD
	ctx context.Context //nolint:containedctx // of the process that writes
}

// Read implements io.Reader.
func (d descriptor) Read(b []byte) (int, error) { return d.Reader(d.ctx).Read(b) }

// Write implements io.Writer.
func (d descriptor) Write(b []byte) (int, error) { return d.Writer(d.ctx).Write(b) }

// Close implements io.Closer.
func (d descriptor) Close() error {
	d.FD.Close()
	return nil
}

// own is an output of the shell process itself; writing to one that is closed ends the shell with SIGPIPE.
type own struct {
	p *process.Proc
	n int
}

// Write implements io.Writer.
func (o own) Write(b []byte) (int, error) {
	if o.n == 1 {
		return o.p.Out().Write(b)
	}
	return o.p.Err().Write(b)
}

// hostPipe is an end of one of the interpreter's pipes, as a stream of the simulation. The interpreter closes it.
type hostPipe struct{ f *os.File }

// Read implements process.Stream.
func (h hostPipe) Read(ctx context.Context, b []byte) (int, error) {
	return interruptible(ctx, h.f.SetReadDeadline, func() (int, error) { return h.f.Read(b) })
}

// Write implements process.Stream.
func (h hostPipe) Write(ctx context.Context, b []byte) (int, error) {
	n, err := interruptible(ctx, h.f.SetWriteDeadline, func() (int, error) { return h.f.Write(b) })
	if errors.Is(err, os.ErrClosed) {
		err = syscall.EPIPE
	}
	return n, err
}

// Close implements process.Stream.
func (hostPipe) Close() error { return nil }

// interruptible calls do again and again until it is done or ctx ends. Several processes may use the pipe: the deadline
// that ends one of them must not disturb the others.
func interruptible(ctx context.Context, deadline func(time.Time) error, do func() (int, error)) (int, error) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = deadline(time.Unix(1, 0))
		close(ended)
	})
	total := 0
	for {
		n, err := do()
		total += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
			if !stop() {
				<-ended
				_ = deadline(time.Time{})
			}
			if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
				err = context.Cause(ctx)
			}
			return total, err
		}
		_ = deadline(time.Time{})
	}
}

// collected is the output of a command substitution. What is left running when it ends must not write to it any more.
type collected struct {
	mu   sync.Mutex
	w    io.Writer
	done bool
}

// Read implements process.Stream.
func (*collected) Read(context.Context, []byte) (int, error) { return 0, syscall.EBADF }

// Write implements process.Stream.
func (c *collected) Write(_ context.Context, b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return 0, syscall.EPIPE
	}
	return c.w.Write(b)
}

// Close implements process.Stream.
func (*collected) Close() error { return nil }

func (c *collected) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
}

// pipeSize is how much a pipe of the host takes without a reader.
const pipeSize = 64 << 10

// inputOf makes a pipe of the host that holds what r gives; r is read in the background if that is more than fits.
func inputOf(r io.Reader) (*os.File, error) {
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	head := make([]byte, pipeSize)
	n, _ := io.ReadFull(r, head)
	_, _ = pw.Write(head[:n])
	if n < pipeSize {
		_ = pw.Close()
		return pr, nil
	}
	go func() {
		_, _ = io.Copy(pw, r)
		_ = pw.Close()
	}()
	return pr, nil
}
