package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// SQLSTATEs that the store tells apart.
const (
	stateUnique        = "23505"
	stateForeignKey    = "23503"
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateFenced        = "GY001" // raised by gybe_fence
)

// retryAfter is the time that clients have to wait while the database is away.
const retryAfter = 2 * time.Second

// fault makes the error of a failed transaction what its receivers expect: lcm.ErrFenced and *lcm.Error stay, a
// database that is away becomes a transient CodeUnavailable, and anything else keeps its cause for the log.
func fault(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*lcm.Error](err); ok || errors.Is(err, lcm.ErrFenced) {
		return err
	}
	if violates(err, "request_key_pkey") {
		return keyUsed(err)
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pe.Code {
		case stateFenced:
			return lcm.ErrFenced
		case stateQuota:
			return overQuota(pe)
		case "22003", "22P02", "22P05", "54000":
			return &lcm.Error{
				Code: lcm.CodeUnprocessable, Title: "Not storable",
				Detail: "a value is too large or has a form that cannot be stored",
				Cause:  fmt.Errorf("%s: %w", what, err),
			}
		}
	}
	if Away(err) {
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Database unavailable", RetryAfter: retryAfter,
			Detail: "the database does not answer now; nothing is lost", Hint: "try again in a moment",
			Cause: fmt.Errorf("%s: %w", what, err),
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Away reports whether an error means that the database could not do its work now, and may later: it is
// unreachable, shutting down, starting, out of connections, or gave a transaction up.
func Away(err error) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pe.Code {
		case stateSerialization, stateDeadlock,
			"53300", // too many connections
			"55P03", // lock timeout
			"57014", // statement timeout
			"57P01", "57P02", "57P03", "57P05",
			"25006", // read only: a standby, a failover is under way
			"58030": // I/O error
			return true
		}
		return strings.HasPrefix(pe.Code, "08") || strings.HasPrefix(pe.Code, "53")
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	// A connection that broke in the middle of an answer.
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(),
		"closed pool") ||
		errors.Is(err, context.DeadlineExceeded)
}

// givenUp reports whether PostgreSQL ended a transaction only because of others at the same time.
func givenUp(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == stateSerialization || pe.Code == stateDeadlock)
}

// violates reports whether err is a violation of the named unique constraint or index.
func violates(err error, constraint string) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pe.Code == stateUnique && pe.ConstraintName == constraint
}

// refers reports whether err is a violation of the named foreign key.
func refers(err error, constraint string) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pe.Code == stateForeignKey && pe.ConstraintName == constraint
}
