package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
)

// Exit codes.
const (
	ExitOK          = 0   // done
	ExitFailed      = 1   // failed in a way that has no code of its own
	ExitUsage       = 2   // the command line is wrong
	ExitOperation   = 3   // it was started, but what was started failed
	ExitNotFound    = 4   // there is no such thing
	ExitConflict    = 5   // the state of the thing forbids it
	ExitUnreachable = 6   // no gybe answers at the endpoint, or it cannot work now
	ExitRejected    = 7   // the request, file or package is wrong in itself
	ExitImpossible  = 8   // --plan: the VIM cannot do it now
	ExitInterrupted = 130 // interrupted by a signal
)

const exitCodes = `Exit codes of gybe:

  0    done
  1    failed in a way that has no code of its own
  2    the command line is wrong
  3    it was started, but what was started failed (operation, onboarding)
  4    there is no such thing
  5    the state of the thing forbids it (409, 412)
  6    no gybe answers at the endpoint, or it cannot work now
  7    the request, file or package is wrong in itself (400, 422)
  8    --plan: the VIM cannot do it now
  130  interrupted by a signal; what was started goes on`

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes}
}

// usageError is a wrong command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func failWith(code int, format string, args ...any) error {
	return &codeError{code, fmt.Errorf(format, args...)}
}

// toldError is one that the user has been told about already.
type toldError struct{ err error }

func (e *toldError) Error() string { return e.err.Error() }
func (e *toldError) Unwrap() error { return e.err }

// exitCode maps an error to an exit code.
func exitCode(err error) int {
	var (
		code        *codeError
		usage       *usageError
		answer      *client.Error
		unreachable *client.Unreachable
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &unreachable):
		return ExitUnreachable
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &answer):
		switch answer.Status() {
		case http.StatusNotFound:
			return ExitNotFound
		case http.StatusConflict, http.StatusPreconditionFailed:
			return ExitConflict
		case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
			return ExitUnreachable
		case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
			return ExitRejected
		}
	}
	return ExitFailed
}
