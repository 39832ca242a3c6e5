package cloud

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// answerError reports an answer that exceeds a limit.
type answerError struct {
	text string
	busy bool // only at the moment
}

// Error implements error.
func (e *answerError) Error() string { return e.text }

// bounded reads answers into memory before they are decoded, and fails when they exceed a limit or arrive too slowly.
type bounded struct {
	next    http.RoundTripper
	budget  *sessionBudget
	stall   time.Duration       // the time limit of each part of an answer
	arrived func(*http.Request) // called for each part
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	res, err := b.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	body := &steady{ctx: ctx, body: res.Body, within: b.stall, arrived: func() { b.arrived(r) }}
	body.timer = time.AfterFunc(b.stall, func() { cancel(errStalled) })
	defer body.timer.Stop()
	if res.StatusCode >= http.StatusBadRequest {
		return b.readFailure(res, body)
	}

	a := &answer{limits: b.budget.limits(), budget: b.budget}
	a.limit = a.limits.answer
	if svc, _ := r.Context().Value(toService{}).(Service); svc == "" || strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		a.limit = a.limits.login // the first login, or a new token in the middle of another service's call
	}
	err = a.read(body, res.ContentLength)
	err = errors.Join(err, res.Body.Close())
	if err == nil {
		body.timer.Stop()
		err = a.admitDecoding(r.Context())
	}
	if err != nil {
		_ = a.Close()
		return nil, err
	}
	res.Body = a
	return res, nil
}

// readFailure reads the body of an error. It ends early and quietly: the beginning of an error says enough.
func (b bounded) readFailure(res *http.Response, body io.Reader) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxFailure))
	_ = res.Body.Close()
	if errors.Is(err, errStalled) {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

// answer is the body of an answer, in memory. It is not one buffer, because growing one would copy it.
type answer struct {
	limits answerLimits
	limit  int64
	budget *sessionBudget

	chunks [][]byte
	size   int64
	values valueCounter

	reserved, decoding int64 // in the budgets
}

// Sizes of the chunks of an answer: most answers are small.
const (
	firstChunk = 4 << 10
	nextChunk  = 64 << 10
)

// read reads a body of the announced length, -1 if that is unknown.
func (a *answer) read(body io.Reader, announced int64) error {
	if announced > a.limit {
		return errTooLarge(a.limit)
	}
	chunk := make([]byte, firstChunk)
	for {
		n, err := 0, error(nil)
		for n < len(chunk) && err == nil {
			var more int
			more, err = body.Read(chunk[n:])
			n += more
		}
		if addErr := a.add(chunk[:n]); addErr != nil {
			return addErr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		chunk = make([]byte, nextChunk)
	}
}

// add appends a chunk, if the limits allow it.
func (a *answer) add(chunk []byte) error {
	a.size += int64(len(chunk))
	if a.size > a.limit {
		return errTooLarge(a.limit)
	}
	if large := a.size - a.limits.small; large > a.reserved {
		if !a.budget.reserve(large - a.reserved) {
			return errTooMany
		}
		a.reserved = large
	}
	a.values.count(chunk)
	if a.values.number > a.limits.values || a.values.longest > a.limits.run {
		return errTooComplex
	}
	a.chunks = append(a.chunks, chunk)
	return nil
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	for len(a.chunks) > 0 && len(a.chunks[0]) == 0 {
		a.chunks = a.chunks[1:]
	}
	if len(a.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, a.chunks[0])
	a.chunks[0] = a.chunks[0][n:]
	return n, nil
}

// Close implements io.Closer. It gives back what the answer has of the budgets.
func (a *answer) Close() error {
	a.budget.release(a.reserved, a.decoding)
	a.chunks, a.reserved, a.decoding = nil, 0, 0
	return nil
}

// valueCounter counts the values of a JSON text that arrives in pieces. Decoding a value costs far more than its two
// bytes. The text need not be valid.
type valueCounter struct {
	number  int // of elements and members, about
	longest int // bytes of the longest string, or of another text between two values
	run     int
	quoted  bool // in a string
	escaped bool
}

func (c *valueCounter) count(text []byte) {
	quoted, escaped, number := c.quoted, c.escaped, c.number
	start := 0 // of the run, as far as it is in text
	for at, b := range text {
		if escaped {
			escaped = false
			continue
		}
		switch b {
		case '\\':
			escaped = quoted
			continue
		case '"':
			quoted = !quoted
		case ',', '{', '[':
			if quoted {
				continue
			}
			number++
		default:
			continue
		}
		c.skip(at - start)
		c.run, start = 0, at+1
	}
	c.skip(len(text) - start)
	c.quoted, c.escaped, c.number = quoted, escaped, number
}

func (c *valueCounter) skip(n int) {
	c.run += n
	c.longest = max(c.longest, c.run)
}
