package access_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
)

// TestOperationsShowWhoActed: who started an operation, retried it, cancelled it and failed it is kept with it, and is
// shown by the progress, the list of actions and the console, but not by the standard's resource.
func TestOperationsShowWhoActed(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	operator, admin := w.as(t, red, lcm.RoleOperator), w.as(t, red, lcm.RoleAdmin)
	params := stack.PlainParams("default", "", w.cloud.Info())
	delete(params, "vimConnectionInfo")
	raw, err := json.Marshal(params)
	require.NoError(t, err)

	reaches := func(op string, state sol.LcmOperationStateType) {
		require.Eventually(t, func() bool {
			o, err := operator.Operation(t.Context(), op)
			return err == nil && o.OperationState == state
		}, time.Minute, 20*time.Millisecond, state)
	}
	_, err = w.cloud.Faults().Add(fault.Rule{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create",
		Reason: "No valid host was found.",
	})
	require.NoError(t, err)
	op, err := operator.Instantiate(t.Context(), of.idle, raw)
	require.NoError(t, err)
	reaches(op, sol.LcmOperationStateFailedTemp)
	require.NoError(t, admin.Retry(t.Context(), op))
	reaches(op, sol.LcmOperationStateFailedTemp)
	require.NoError(t, admin.Fail(t.Context(), op))

	p, err := operator.Progress(t.Context(), op, "", 0)
	require.NoError(t, err)
	var got []string
	for _, a := range p.Actions {
		require.WithinDuration(t, time.Now(), a.Time, time.Hour)
		got = append(got, fmt.Sprintf("%s by %s (%s) %s", a.Action, a.Subject, a.Mode, a.Detail))
	}
	require.Equal(t, []string{
		"start by operator-of-red (token) ", "retry by admin-of-red (token) ", "fail by admin-of-red (token) ",
	}, got)
	all, err := operator.OperationActions(t.Context(), of.op, op, "nonsense")
	require.NoError(t, err)
	require.Equal(t, p.Actions, all[op])
	require.Equal(t, "operator-of-red", all[of.op][0].Subject)
	foreign, err := w.as(t, blue, lcm.RoleAdmin).OperationActions(t.Context(), of.op, op)
	require.NoError(t, err)
	require.Empty(t, foreign)
	page := w.send(t, request{
		method: http.MethodGet, path: "/ui/operations/" + op, token: w.tokens[red][lcm.RoleReader],
	})
	require.Contains(t, page.body, "admin-of-red")

	// The standard's resource and notifications have no place for it.
	a := w.send(t, request{
		method: http.MethodGet, path: "/vnflcm/v2/vnf_lcm_op_occs/" + op, token: w.tokens[red][lcm.RoleReader],
	})
	require.NotContains(t, a.body, "-of-red")
	var messages string
	require.NoError(t, w.pool.QueryRow(
		t.Context(), "SELECT coalesce(string_agg(body::text, ' '), '') FROM outbox",
	).Scan(&messages))
	require.NotContains(t, messages, "admin-of-red")
}
