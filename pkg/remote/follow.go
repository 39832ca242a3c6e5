package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/pkg/sftp"
)

// How often Follow polls: soon after new output, then less often. The check for liveness starts a process on the
// machine, so it runs only while there is no output.
const (
	pollFirst   = 20 * time.Millisecond
	pollLongest = 250 * time.Millisecond
	aliveEvery  = 5 * time.Second
	chunk       = 32 << 10
)

// Follow passes the lines of a job's log from byte offset on to line, until the job has ended (Exited), is gone (Lost,
// Absent), or ctx ends: then the state is Running and the error the context's cause. next is the offset after the line:
// a caller that continues there gets each line once. Follow starts nothing; several callers can use it at the same
// time.
func (c *Client) Follow(
	ctx context.Context, id string, offset int64, line func(text string, next int64),
) (Status, error) {
	st := Status{State: Running, Offset: offset}
	if err := validID(id); err != nil {
		return st, err
	}
	s, closeFn, err := c.sftp(ctx)
	if err != nil {
		return st, err
	}
	defer closeFn()
	f := &follower{c: c, sftp: s, id: id, at: offset, line: line}
	defer f.close()
	wait, asked := pollFirst, time.Now()
	for {
		news, done, err := f.poll(ctx)
		st.Offset = f.at
		if err != nil {
			return st, f.wrapError(ctx, err)
		}
		if done != nil {
			st.State, st.Code = Exited, *done
			return st, nil
		}
		if news {
			wait, asked = pollFirst, time.Now()
		} else if f.log == nil || time.Since(asked) >= aliveEvery {
			asked = time.Now()
			now, err := c.Status(ctx, id)
			if err != nil {
				return st, f.wrapError(ctx, err)
			}
			if now.State == Lost || now.State == Absent {
				_, _, _ = f.poll(ctx) // its last output
				f.emitRest()
				st.State, st.Offset = now.State, f.at
				return st, nil
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return st, context.Cause(ctx)
		case <-c.done:
			timer.Stop()
			return st, &Error{Kind: KindClosed, Op: "follow job " + id, Target: c.target.String(), Err: errors.New(
				"the connection was lost",
			)}
		case <-timer.C:
			wait = min(wait*2, pollLongest)
		}
	}
}

// follower reads one log over one SFTP channel.
type follower struct {
	c    *Client
	sftp *sftp.Client
	id   string
	log  *sftp.File
	at   int64  // offset after the last line that was passed on
	rest []byte // what has been read beyond it: the beginning of a line
	skip int64  // bytes of the current line that were dropped because it is too long
	line func(string, int64)
	buf  [chunk]byte
}

// poll reads new output; done is the exit status after the job has ended and all output was read. It ends with
// the cause of ctx, because a job can write faster than its log is read.
func (f *follower) poll(ctx context.Context) (news bool, done *int, err error) {
	// The status is read before the log, so that the log of an ended job is complete.
	rc, err := f.status()
	if err != nil {
		return false, nil, err
	}
	if f.log == nil {
		f.log, err = f.sftp.Open(Dir(f.id) + "/log")
		if errors.Is(err, fs.ErrNotExist) {
			f.log, err = nil, nil
		}
		if err != nil {
			return false, nil, err
		}
	}
	for complete := f.log == nil; !complete; {
		if ctx.Err() != nil {
			return news, nil, context.Cause(ctx)
		}
		n, err := f.log.ReadAt(f.buf[:], f.at+f.skip+int64(len(f.rest)))
		f.splitLines(f.buf[:n])
		news = news || n > 0
		if complete = errors.Is(err, io.EOF) || err == nil && n == 0; err != nil && !complete {
			return news, nil, err
		}
	}
	if rc != nil {
		f.emitRest()
	}
	return news, rc, nil
}

// status reads the exit status; nil while the job runs.
func (f *follower) status() (*int, error) {
	file, err := f.sftp.Open(Dir(f.id) + "/rc")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no status yet
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(file, 64))
	if err != nil {
		return nil, err
	}
	code, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("the exit status of the job is %q", text)
	}
	return &code, nil
}

// splitLines splits new output into lines. Offsets count every byte of the log, also the dropped bytes of long lines.
func (f *follower) splitLines(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		keep := min(len(part), MaxLine-len(f.rest))
		f.rest = append(f.rest, part[:keep]...)
		f.skip += int64(len(part) - keep)
		if end < 0 {
			return
		}
		f.emitLine(1)
		p = p[end+1:]
	}
}

// emitLine passes on the current line; end is the length of its line end.
func (f *follower) emitLine(end int64) {
	text := cleanText(f.rest)
	if f.skip > 0 {
		text += cut
	}
	f.at += int64(len(f.rest)) + f.skip + end
	f.rest, f.skip = f.rest[:0], 0
	if f.line != nil {
		f.line(text, f.at)
	}
}

// emitRest passes on a last line without a line end.
func (f *follower) emitRest() {
	if len(f.rest) > 0 {
		f.emitLine(0)
	}
}

func (f *follower) close() {
	if f.log != nil {
		_ = f.log.Close()
	}
}

func (f *follower) wrapError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f.c.wrapFileError("follow job "+f.id, err)
}
