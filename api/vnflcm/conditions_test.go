package vnflcm_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// Every request that changes an instance or an operation respects If-Match and If-Unmodified-Since.
func TestChangesDependOnThePreconditions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fresh := b.create(t)
	up, _ := b.instantiate(t)
	_, retried := b.broken(t)
	_, rolledBack := b.broken(t)
	_, failed := b.broken(t)
	cancel := b.Do(t, "POST", instances+"/"+fresh+"/instantiate", apitest.Params())
	require.Equal(t, 202, cancel.Status)
	gone := b.create(t)

	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	tests := []struct {
		method, resource, task string
		body                   any
		status                 int
	}{
		{"POST", instances + "/" + b.create(t), "/instantiate", apitest.Params(), 202},
		{"POST", instances + "/" + up, "/terminate", sol.TerminateVnfRequest{
			TerminationType: sol.TerminationTypeForceful,
		}, 202},
		{"PATCH", instances + "/" + gone, "", `{"vnfInstanceName":"x"}`, 202},
		{"DELETE", instances + "/" + b.create(t), "", nil, 204},
		{"POST", operations + "/" + retried, "/retry", nil, 202},
		{"POST", operations + "/" + rolledBack, "/rollback", nil, 202},
		{"POST", operations + "/" + failed, "/fail", nil, 200},
		{"POST", operations + "/" + cancel.LocationID(t), "/cancel", `{"cancelMode":"FORCEFUL"}`, 202},
	}
	for _, tt := range tests {
		tag := b.Do(t, "GET", tt.resource, nil).Header.Get("Etag")
		require.NotEmpty(t, tag)
		a := b.Do(t, tt.method, tt.resource+tt.task, tt.body, "If-Match", `"0", "99"`)
		require.Equal(t, 412, a.Status, tt.method+tt.task)
		a = b.Do(t, tt.method, tt.resource+tt.task, tt.body, "If-Unmodified-Since", past)
		require.Equal(t, 412, a.Status, tt.method+tt.task)
		a = b.Do(t, tt.method, tt.resource+tt.task, tt.body, "If-Match", `"0", `+tag)
		require.Equal(t, tt.status, a.Status, "%s%s: %s", tt.method, tt.task, a.Body)
	}
}
