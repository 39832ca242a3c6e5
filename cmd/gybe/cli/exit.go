package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/cmd/gybe/login"
	"github.com/gybe-nfv/gybe/pkg/client"
)

// Exit codes.
const (
	ExitOK          = 0   // done
	ExitFailed      = 1   // any other failure
	ExitUsage       = 2   // invalid command line
	ExitOperation   = 3   // started, but the operation or onboarding failed
	ExitNotFound    = 4   // not found
	ExitConflict    = 5   // the current state does not allow it
	ExitUnreachable = 6   // no Gybe server at the endpoint, or it is unavailable
	ExitRejected    = 7   // invalid request, file or package
	ExitImpossible  = 8   // --plan: the VIM cannot do it now
	ExitLogin       = 9   // the login is missing or rejected, or the role is not sufficient
	ExitInterrupted = 130 // interrupted by a signal
)

const exitCodes = `Exit codes of gybe:

  0    done
  1    any other failure
  2    invalid command line
  3    the operation or onboarding was started, but failed
  4    not found
  5    not possible in the current state of the resource (409, 412)
  6    no gybe server at the endpoint, or it is unavailable
  7    the request, file or package is invalid (400, 422)
  8    --plan: not possible in the VIM now
  9    not logged in, the server rejects the login (401), or the role is not sufficient (403)
  130  interrupted by a signal; a started operation continues`

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "Meaning of the exit codes", Long: exitCodes}
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

// reportedError is one that was already reported to the user.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// exitCode maps an error to an exit code.
func exitCode(err error) int {
	var (
		code        *codeError
		usage       *usageError
		answer      *client.Error
		unreachable *client.Unreachable
		expired     *login.ExpiredError
		rejected    *login.RejectedError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &expired), errors.As(err, &rejected):
		return ExitLogin
	case errors.As(err, &unreachable):
		return ExitUnreachable
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &answer):
		if answer.Foreign {
			return ExitUnreachable
		}
		switch answer.Status() {
		case http.StatusUnauthorized, http.StatusForbidden:
			return ExitLogin
		case http.StatusNotFound:
			return ExitNotFound
		case http.StatusConflict, http.StatusPreconditionFailed:
			return ExitConflict
		case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway,
			http.StatusGatewayTimeout:
			return ExitUnreachable
		case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
			return ExitRejected
		}
	}
	return ExitFailed
}
