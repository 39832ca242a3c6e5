package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pkg/sftp"
)

// Upload writes a file completely or not at all. It writes a temporary file with the given mode in the same directory
// and renames it.
func (c *Client) Upload(ctx context.Context, name string, mode fs.FileMode, content io.Reader) error {
	return c.withSFTP(ctx, "upload "+name, func(s *sftp.Client) error { return upload(s, name, mode, content) })
}

func upload(s *sftp.Client, name string, mode fs.FileMode, content io.Reader) (err error) {
	tmp := name + ".part-" + rand.Text()[:8]
	f, err := s.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.Remove(tmp)
		}
	}()
	if err = f.Chmod(mode); err == nil {
		_, err = f.ReadFrom(content)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return s.PosixRename(tmp, name)
}

// ReadFile reads a whole file of at most limit bytes. A file that does not exist is fs.ErrNotExist.
func (c *Client) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	var out []byte
	err := c.withSFTP(ctx, "read "+name, func(s *sftp.Client) error {
		f, err := s.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		out, err = io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(out)) > limit {
			return fmt.Errorf("the file is longer than %d bytes", limit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// withSFTP runs fn over an SFTP channel of its own, which ends with ctx.
func (c *Client) withSFTP(ctx context.Context, op string, fn func(*sftp.Client) error) error {
	s, closeFn, err := c.sftp(ctx)
	if err != nil {
		return err
	}
	defer closeFn()
	err = fn(s)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return c.wrapFileError(op, err)
	}
	return nil
}

// wrapFileError wraps the error of a file operation.
func (c *Client) wrapFileError(op string, err error) error {
	if _, ok := errors.AsType[*sftp.StatusError](err); ok || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) {
		return &Error{Kind: KindFile, Op: op, Target: c.target.String(), Err: err}
	}
	if errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, sftp.ErrSSHFxNoConnection) {
		return &Error{Kind: KindClosed, Op: op, Target: c.target.String(), Err: err}
	}
	e := c.wrapError(op, err)
	if KindOf(e) == KindProtocol {
		return &Error{Kind: KindFile, Op: op, Target: c.target.String(), Err: err}
	}
	return e
}

// sftp opens an SFTP channel; closeFn closes it, and so does the end of ctx.
func (c *Client) sftp(ctx context.Context) (*sftp.Client, func(), error) {
	s, err := c.session(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	giveUp := func(err error) (*sftp.Client, func(), error) {
		stop()
		_ = s.Close()
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		return nil, nil, c.wrapError("open SFTP", err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		return giveUp(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return giveUp(err)
	}
	if err := s.RequestSubsystem("sftp"); err != nil {
		return giveUp(fmt.Errorf("the machine does not offer SFTP: %w", err))
	}
	client, err := sftp.NewClientPipe(out, in)
	if err != nil {
		return giveUp(err)
	}
	return client, func() {
		stop()
		_ = client.Close()
		_ = s.Close()
	}, nil
}

// graceful is how long a cancelled command has to end before the whole connection is closed.
const graceful = 2 * time.Second

// awaitOrClose waits for a cancelled command. If it does not end in time, it closes the connection, which ends
// everything.
func (c *Client) awaitOrClose(ended <-chan struct{}) {
	timer := time.NewTimer(graceful)
	defer timer.Stop()
	select {
	case <-ended:
		return
	case <-timer.C:
		_ = c.Close()
	}
	<-ended
}
