package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// RunOptions says where a command's input comes from and its output goes.
type RunOptions struct {
	Stdin io.Reader
	// Stdout and Stderr get each line as it comes: without its end, valid UTF-8 without control characters, at most
	// MaxLine bytes. They are called from one goroutine each, never after Run has returned. Either may be nil.
	Stdout, Stderr func(line string)
}

// keptStderr is the number of lines of standard error that an ExitError shows.
const keptStderr = 10

// Run runs a shell command and waits for its end. A status other than 0 is an *Error of KindExit with an *ExitError as
// its cause. When ctx ends, the command is sent SIGKILL, its channel is closed, and the context's cause is returned; a
// machine that does not answer by then loses the whole connection.
func (c *Client) Run(ctx context.Context, command string, o RunOptions) error {
	last := &tail{max: keptStderr}
	stdout := &splitter{line: o.Stdout}
	stderr := &splitter{line: func(line string) {
		last.add(line)
		if o.Stderr != nil {
			o.Stderr(line)
		}
	}}
	err := c.exec(ctx, command, o.Stdin, stdout, stderr)
	stdout.flush(false)
	stderr.flush(false)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		exit.Stderr = last.lines
	}
	return err
}

// Output runs a shell command and returns its standard output, which may not be longer than limit bytes.
func (c *Client) Output(ctx context.Context, command string, stdin io.Reader, limit int) ([]byte, error) {
	last := &tail{max: keptStderr}
	stderr := &splitter{line: last.add}
	out := &bounded{limit: limit}
	err := c.exec(ctx, command, stdin, out, stderr)
	stderr.flush(false)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		exit.Stderr = last.lines
	}
	if err == nil && out.over {
		err = &Error{Kind: KindProtocol, Op: "run", Target: c.target.String(), Err: fmt.Errorf(
			"the command wrote more than %d bytes", limit,
		)}
	}
	return out.buf.Bytes(), err
}

// exec runs one command in a session of its own.
func (c *Client) exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // it may be closed already
	s.Stdin, s.Stdout, s.Stderr = stdin, stdout, stderr
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err = s.Start(command); err != nil {
			return
		}
		// With the exit status 0, EOF says only that the command did not read all of its input.
		if err = s.Wait(); errors.Is(err, io.EOF) {
			err = nil
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		go func() { // a machine that reads nothing more blocks even this
			_ = s.Signal(ssh.SIGKILL)
			_ = s.Close()
		}()
		// The session's goroutines write to stdout and stderr; they must have ended before the caller goes on.
		c.awaitOrClose(ended)
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		status := exit.ExitStatus()
		if exit.Signal() != "" {
			status = -1
		}
		return &Error{Kind: KindExit, Op: "run", Target: c.target.String(), Err: &ExitError{
			Status: status, Signal: exit.Signal(),
		}}
	}
	if _, ok := errors.AsType[*ssh.ExitMissingError](err); ok {
		return &Error{Kind: KindClosed, Op: "run", Target: c.target.String(), Err: errors.New(
			"the machine closed the connection before the command's end",
		)}
	}
	return c.wrapError("run", err)
}

// session opens a channel; a machine that does not answer cannot hold the caller longer than ctx.
func (c *Client) session(ctx context.Context) (*ssh.Session, error) {
	type result struct {
		s   *ssh.Session
		err error
	}
	opened := make(chan result, 1)
	go func() {
		s, err := c.conn.NewSession()
		opened <- result{s, err}
	}()
	select {
	case r := <-opened:
		if r.err != nil {
			return nil, c.wrapError("open a session", r.err)
		}
		return r.s, nil
	case <-ctx.Done():
		go func() {
			if r := <-opened; r.err == nil {
				_ = r.s.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// bounded keeps the first bytes written to it.
type bounded struct {
	buf   bytes.Buffer
	limit int
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := b.limit - b.buf.Len(); len(p) > room {
		p, b.over = p[:room], true
	}
	b.buf.Write(p)
	return n, nil
}
