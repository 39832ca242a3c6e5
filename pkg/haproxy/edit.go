package haproxy

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// File is HAProxy's configuration.
const File = "/etc/haproxy/haproxy.cfg"

// LockFile is locked by all who replace the configuration.
const LockFile = "/run/lock/gybe-haproxy"

// maxFile bounds the file, in bytes.
const maxFile = 4 << 20

// activate is the script that replaces the file.
//
//go:embed activate.sh
var activate string

// The statuses with which activate ends. Those that flock and sudo end with, 1 and 64 to 73, are others.
const (
	statusChanged  = 75 // the file is not the one that the change was made from, or the lock is taken
	statusRejected = 81 // haproxy -c rejects the new file
	statusInactive = 82 // HAProxy does not work with the new file; the old one is in place again
)

// Connection is the part of a connection to a machine that an Edit uses; *remote.Client implements it.
type Connection interface {
	Run(ctx context.Context, command string, o remote.RunOptions) error
	Output(ctx context.Context, command string, stdin io.Reader, limit int) ([]byte, error)
}

var _ Connection = (*remote.Client)(nil)

// Wanted is the new file.
type Wanted struct {
	Text string
	// Open are the TCP ports that have to be open when HAProxy has loaded the file, and Closed those that must not be.
	Open, Closed []int
}

// Edit is a change of the configuration within a step.
type Edit struct {
	Connection Connection
	// Step keeps the digest of the file that is replaced, and has what HAProxy says in its log.
	Step *lcm.Step
	// Timeout bounds each command on the machine. It is longer than the 40 s in which activate.sh waits for the lock
	// and for the ports.
	Timeout time.Duration
	// Make makes the new file from the one that there is. It is called again if the file has changed by then. Its error
	// ends Apply.
	Make func(ctx context.Context, old string) (Wanted, error)
}

// checkpoint is stored before the file is replaced.
type checkpoint struct {
	// Base is the digest of the file that is replaced.
	Base string `json:"base"`
}

// RefusedError says that the machine has its old configuration, and why. Hint says what to do.
type RefusedError struct{ Why, Hint string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Why }

// ErrBusy says that others have changed or locked the file at each attempt.
var ErrBusy = errors.New(File + " is changed again and again by others, or they hold the lock " + LockFile)

// FailedError is a failure of the connection or of a command. Err is an error of package remote, or the context's.
type FailedError struct {
	Doing string // such as "list open ports"
	Err   error
}

// Error returns the command's purpose and the failure.
func (e *FailedError) Error() string { return e.Doing + ": " + e.Err.Error() }

// Unwrap gives the failure.
func (e *FailedError) Unwrap() error { return e.Err }

// errChanged says that the file is not the one that was read.
var errChanged = errors.New("the file has changed")

// maxTries bounds how often a change is made again because another one was faster.
const maxTries = 10

// Apply replaces the file, and returns when HAProxy works with it. It does nothing if the file is the wanted one,
// unless an earlier attempt of the step was cut off: then HAProxy may not have loaded it. The error is a *RefusedError,
// ErrBusy, a *FailedError, one of the step, or that of Make.
func (e Edit) Apply(ctx context.Context) error {
	for range maxTries {
		if err := e.try(ctx); !errors.Is(err, errChanged) {
			return err
		}
	}
	return ErrBusy
}

// try reads the file, makes the new one and replaces it, unless the file has changed since.
func (e Edit) try(ctx context.Context) error {
	old, err := e.output(ctx, "read the configuration of HAProxy", "sudo -n cat "+File)
	if err != nil {
		return err
	}
	next, err := e.Make(ctx, string(old))
	if err != nil {
		return err
	}
	var cp checkpoint
	begun, err := e.Step.Load(&cp)
	if err != nil {
		return err
	}
	if next.Text == string(old) && !begun {
		e.Step.Logf(ctx, "the configuration of HAProxy is up to date")
		return nil
	}
	current := digest(string(old))
	if next.Text != string(old) {
		cp.Base = current
		if err := e.Step.Save(ctx, cp); err != nil {
			return err
		}
	}
	return e.replace(ctx, next, current, cp.Base)
}

// replace runs the script that replaces the file. It waits until the ports are open, and the others closed.
func (e Edit) replace(ctx context.Context, next Wanted, current, base string) error {
	args := []string{File, digest(next.Text), current, base}
	for _, p := range next.Open {
		args = append(args, "+"+strconv.Itoa(p))
	}
	for _, p := range next.Closed {
		args = append(args, "-"+strconv.Itoa(p))
	}
	command := fmt.Sprintf("sudo -n flock -w 30 -E %d %s bash -c %s gybe %s", statusChanged, LockFile,
		remote.Quote(activate), strings.Join(args, " "))
	var said []string
	line := func(text string) {
		e.Step.Logf(ctx, text)
		if strings.Contains(text, "ALERT") || strings.HasPrefix(text, "gybe: ") ||
			strings.HasPrefix(text, "flock: ") {
			said = append(said, strings.TrimPrefix(text, "gybe: "))
		}
	}
	bounded, cancel := context.WithTimeoutCause(ctx, e.Timeout, errSlow)
	defer cancel()
	err := e.Connection.Run(bounded, command, remote.RunOptions{Stdin: strings.NewReader(next.Text), Stderr: line})
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*remote.ExitError](err); ok {
		switch exit.Status {
		case statusChanged:
			return errChanged
		case statusRejected:
			return &RefusedError{
				"haproxy -c rejects the new configuration, and the old one stays: " + strings.Join(said, "; "),
				"haproxy -c -f " + File + " on the load balancer tells whether the rest of the file is valid",
			}
		case statusInactive:
			return &RefusedError{
				"HAProxy did not work with the new configuration, and has the old one again: " +
					strings.Join(said, "; "), "journalctl -u haproxy on the load balancer has the cause",
			}
		}
	}
	doing := "replace the configuration of HAProxy"
	if len(said) > 0 {
		doing += " (" + strings.Join(said, "; ") + ")"
	}
	return &FailedError{doing, slow(ctx, bounded, err)}
}

// output runs a short command and returns its standard output.
func (e Edit) output(ctx context.Context, doing, command string) ([]byte, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, e.Timeout, errSlow)
	defer cancel()
	out, err := e.Connection.Output(bounded, command, nil, maxFile)
	if err != nil {
		return nil, &FailedError{doing, slow(ctx, bounded, err)}
	}
	return out, nil
}

var errSlow = errors.New("the machine did not answer in time")

// slow makes a timeout of this package an error of the machine.
func slow(ctx, bounded context.Context, err error) error {
	if ctx.Err() == nil && bounded.Err() != nil {
		return &remote.Error{Kind: remote.KindTimeout, Op: "run", Err: errSlow}
	}
	return err
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// socket is the local address in a line of ss.
var socket = regexp.MustCompile(`(?m)^LISTEN\s+\d+\s+\d+\s+\S+:(\d+)\s`)

// Listening asks the machine for its open TCP ports. The error is a *FailedError.
func (e Edit) Listening(ctx context.Context) (map[int]bool, error) {
	text, err := e.output(ctx, "list open ports", "ss -lnt")
	if err != nil {
		return nil, err
	}
	out := map[int]bool{}
	for _, match := range socket.FindAllSubmatch(text, -1) {
		if port, err := strconv.Atoi(string(match[1])); err == nil {
			out[port] = true
		}
	}
	return out, nil
}
