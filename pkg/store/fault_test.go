package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestOnlyADatabaseThatIsAwayIsWorthARetry(t *testing.T) {
	t.Parallel()
	sqlstate := func(code string) error {
		return &pgconn.PgError{Code: code, Message: "password authentication failed for user x"}
	}
	for _, c := range []struct {
		name string
		err  error
		away bool
	}{
		{"shutdown by the administrator", sqlstate("57P01"), true},
		{"crash of another backend", sqlstate("57P02"), true},
		{"starting up", sqlstate("57P03"), true},
		{"too many connections", sqlstate("53300"), true},
		{"disk full", sqlstate("53100"), true},
		{"serialization", sqlstate("40001"), true},
		{"deadlock", sqlstate("40P01"), true},
		{"lock timeout", sqlstate("55P03"), true},
		{"standby", sqlstate("25006"), true},
		{"connection failure", sqlstate("08006"), true},
		{"broken answer", io.ErrUnexpectedEOF, true},
		{"reset", &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, true},
		{"slow", context.DeadlineExceeded, true},
		{"syntax", sqlstate("42601"), false},
		{"unique", sqlstate("23505"), false},
		{"ours", errors.New("decode"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := fault("do", fmt.Errorf("wrapped: %w", c.err))
			require.ErrorIs(t, err, c.err)
			e := lcm.AsError(err)
			require.NotContains(t, e.Error(), "password", "the cause is for the log")
			if c.away {
				require.Equal(t, lcm.CodeUnavailable, e.Code)
				require.Equal(t, lcm.Transient, e.Class)
				require.Equal(t, retryAfter, e.RetryAfter)
				return
			}
			require.Equal(t, lcm.CodeInternal, e.Code)
		})
	}
	require.NoError(t, fault("do", nil))
	require.Same(t, lcm.ErrFenced, fault("do", sqlstate("GY001")))
	conflict := lcm.Errorf(lcm.CodeConflict, "x")
	require.Same(t, conflict, fault("do", conflict))
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(fault("do", sqlstate("22P05"))).Code)
}

func TestNULIsReplacedOnlyWhereItIsOne(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"a"`: `"a"`, `"\u0000"`: `"\ufffd"`, `"\\u0000"`: `"\\u0000"`, `"\\\u0000"`: `"\\\ufffd"`,
		`"\u0000\u0000"`: `"\ufffd\ufffd"`, `"\`: `"\`,
	} {
		require.Equal(t, want, string(noNUL([]byte(in))), in)
	}
}
