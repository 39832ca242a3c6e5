package cloud

import (
	"context"
	"errors"
	"io"
	"time"
)

// stall is the time in which a VIM that has begun an answer has to send its end, or the next partSize bytes of it. So
// a VIM that stalls, or that sends a byte now and then, does not hold its caller for longer.
const stall = 10 * time.Second

// partSize is far less than what a usable connection carries in that time: 6.4 KiB/s.
const partSize = 64 << 10

// stalledError is the error of an answer that has begun and does not go on. It is a net.Error.
type stalledError struct{}

var errStalled error = stalledError{}

// Error implements error.
func (stalledError) Error() string { return "the answer has begun, and does not go on" }

// Timeout implements net.Error.
func (stalledError) Timeout() bool { return true }

// Temporary implements net.Error.
func (stalledError) Temporary() bool { return true }

// patience returns a time limit of the VIM's, shorter if the time limit of requests is short.
func patience(limit, within time.Duration) time.Duration {
	if within > 0 {
		return min(limit, within/2)
	}
	return limit
}

// steady is a body whose timer is set again for each part that arrives. The timer ends ctx with errStalled.
type steady struct {
	ctx     context.Context
	body    io.Reader
	timer   *time.Timer
	within  time.Duration
	part    int // bytes of the part that arrives now
	arrived func()
}

// Read implements io.Reader.
func (s *steady) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if s.part += n; s.part >= partSize {
		s.part = 0
		s.timer.Reset(s.within)
		s.arrived()
	}
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(s.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}
