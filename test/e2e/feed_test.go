package e2e_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

type configuration = config.Config

func decode(t *testing.T, raw []byte, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, v), "%s", raw)
}

// events reads the feed of an operation that is at rest, from its beginning to its last state.
func (w *world) events(op string) []gybeapi.Event {
	w.t.Helper()
	o, err := w.api.Operation(w.t.Context(), op)
	require.NoError(w.t, err)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var out []gybeapi.Event
	for e, err := range w.api.Events(ctx, client.EventQuery{OpID: op, After: client.FromStart}) {
		require.NoError(w.t, err)
		out = append(out, e)
		if e.Kind != gybeapi.KindOperationState {
			continue
		}
		var s gybeapi.OperationState
		decode(w.t, e.Body, &s)
		if s.State == o.OperationState && s.Entered.Equal(o.StateEnteredTime) {
			return out
		}
	}
	return out
}

// notified lists the states that the outbox has notifications of, in their order.
func (w *world) notified(op string) []string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), "SELECT body FROM outbox WHERE op_id = $1 ORDER BY seq", op)
	require.NoError(w.t, err)
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	require.NoError(w.t, err)
	var out []string
	for _, b := range bodies {
		var n sol.VnfLcmOperationOccurrenceNotification
		decode(w.t, b, &n)
		out = append(out, string(n.OperationState))
	}
	return out
}
