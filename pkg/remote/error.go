package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// Kind says what failed, so that the caller can decide whether to try again.
type Kind string

// The kinds of an Error.
const (
	KindAuth        Kind = "auth"        // the machine rejected user, password or key
	KindRefused     Kind = "refused"     // the address answers, no server listens on the port
	KindTimeout     Kind = "timeout"     // no answer in time
	KindUnreachable Kind = "unreachable" // no route, or no such name
	KindHostKey     Kind = "host key"    // the machine has another key than the one pinned for it
	KindClosed      Kind = "closed"      // the connection was lost
	KindExit        Kind = "exit"        // a command ended with a status other than 0
	KindFile        Kind = "file"        // a file operation failed on the machine
	KindProtocol    Kind = "protocol"    // the other side violates the protocol
)

// Error is the type of all failures of this package.
type Error struct {
	Kind   Kind
	Op     string // what was tried: "dial", "run", "upload /path", …
	Target string // user@host:port
	Err    error
}

// Error returns operation, target and cause.
func (e *Error) Error() string { return fmt.Sprintf("%s on %s: %v", e.Op, e.Target, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same call may succeed later without a change: the machine was not reachable or the
// connection broke. A machine that is still booting looks like this.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindRefused, KindTimeout, KindUnreachable, KindClosed:
		return true
	case KindAuth, KindHostKey, KindExit, KindFile, KindProtocol:
	}
	return false
}

// KindOf returns the kind of the first Error in err's chain, or "".
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// ExitError is the cause of an Error of KindExit.
type ExitError struct {
	Status int    // exit status, or -1 when a signal ended the command
	Signal string // name of that signal without SIG, e.g. "KILL"
	// Stderr holds the last lines that the command wrote to standard error.
	Stderr []string
}

// Error shows the status and the last line of standard error.
func (e *ExitError) Error() string {
	what := fmt.Sprintf("exit status %d", e.Status)
	if e.Signal != "" {
		what = "ended by signal " + e.Signal
	}
	if len(e.Stderr) > 0 {
		what += ": " + e.Stderr[len(e.Stderr)-1]
	}
	return what
}

// HostKeyError is the cause of an Error of KindHostKey. Fingerprints are SHA256 as ssh-keygen -l shows them.
type HostKeyError struct {
	VNFC   string
	Pinned string // fingerprint and type of the key that was pinned on first use
	Seen   string // fingerprint and type of the key the machine has now
}

// Error shows both fingerprints.
func (e *HostKeyError) Error() string {
	return fmt.Sprintf(
		"the host key of %s has changed: pinned %s, seen %s; another machine may be answering at its address", e.VNFC,
		e.Pinned, e.Seen,
	)
}

// classify returns the kind of an error of the network or x/crypto.
func classify(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if _, ok := errors.AsType[*HostKeyError](err); ok {
		return KindHostKey
	}
	if _, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err); ok {
		return KindProtocol
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return KindTimeout
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return KindUnreachable
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, syscall.ETIMEDOUT):
		return KindTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return KindRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.ENETDOWN),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		return KindUnreachable
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return KindClosed
	case strings.HasSuffix(err.Error(), "in response to channel open: <nil>"):
		// the connection went while x/crypto waited for the answer
		return KindClosed
	case strings.Contains(err.Error(), "unable to authenticate"): // x/crypto has no type for it on the client's side
		return KindAuth
	}
	return KindProtocol
}
