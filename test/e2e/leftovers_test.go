package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// While the VIM delays its answer to a removal of leftovers, no transaction is open, and requests that change the
// instance are refused.
func TestRemoveLeftoversHoldsNoTransactionWhileTheVIMAnswers(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	id, o := w.broken(1)
	require.NoError(t, w.api.Fail(t.Context(), o.ID))

	delay := w.cloud.AddFault(simcloud.Fault{
		Kind: fault.Delay, Service: "heat", Method: "DELETE", Delay: simcloud.Duration(time.Minute), Count: 1,
	})
	type answer struct {
		out *gybeapi.RemovedLeftovers
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		out, err := w.api.RemoveLeftovers(t.Context(), id)
		answers <- answer{out, err}
	}()
	require.Eventually(t, func() bool {
		rule, _ := w.cloud.Faults().Get(delay)
		return rule.Fired == 1
	}, time.Minute, 10*time.Millisecond, "the VIM is called")

	var called time.Time
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&called))
	require.Eventually(t, func() bool { // short transactions of the engine come and go
		var open int
		err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND xact_start <= $1`, called).Scan(&open)
		require.NoError(t, err)
		return open == 0
	}, time.Minute, 10*time.Millisecond, "a transaction is open while the VIM is called")
	w.held(id)
	_, err := w.api.RemoveLeftovers(t.Context(), id)
	require.Contains(t, status(t, err, 409).Error(), "another request works on VNF instance "+id+
		": it removes leftovers from the VIM")
	_, err = w.api.Leftovers(t.Context(), id)
	require.NoError(t, err, "reading is allowed")
	select {
	case a := <-answers:
		t.Fatalf("the removal ended before the VIM answered: %+v", a)
	default:
	}

	w.cloud.Faults().Remove(delay)
	a := <-answers
	require.NoError(t, a.err)
	require.NotEmpty(t, a.out.Removed)
	require.Empty(t, a.out.Left)
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))
}
