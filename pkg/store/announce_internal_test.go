package store

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAConnectionIsMadeAgainUntilItIsNotNeeded: a connection that breaks is made again, and one that is not needed any
// more is not: a node without followers of its events would otherwise connect without a pause.
func TestAConnectionIsMadeAgainUntilItIsNotNeeded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := &Feed{store: &Store{log: slog.New(slog.DiscardHandler)}}
	calls := 0
	f.reconnect(ctx, "test", func(context.Context) error {
		calls++
		switch calls {
		case 1, 2:
			return errors.New("broken")
		case 3:
			return nil
		}
		cancel()
		return nil
	})
	require.Equal(t, 3, calls)
}
