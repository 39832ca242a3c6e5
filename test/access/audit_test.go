package access_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// trail reads the audit trail of a project.
func (w *world) trail(t *testing.T, project string, query ...string) []gybeapi.AuditEntry {
	t.Helper()
	q := url.Values{"limit": {"1000"}}
	for n := 0; n < len(query); n += 2 {
		q.Set(query[n], query[n+1])
	}
	page, err := w.as(t, project, lcm.RoleAdmin).Audit(t.Context(), q)
	require.NoError(t, err)
	return page.Entries
}

// TestEveryChangeIsAudited sends requests of all kinds and reads the trail: who, from where, what, and the outcome.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	entries := w.trail(t, red)
	seen := map[string]int{}
	for n, e := range entries {
		require.Equal(t, "operator-of-red", e.Subject)
		require.Equal(t, "operator", e.Role)
		require.Equal(t, red, e.Project)
		require.Equal(t, "token", e.Mode)
		require.Equal(t, "127.0.0.1", e.Remote)
		require.NotEmpty(t, e.RequestID)
		require.NotEmpty(t, e.Node)
		require.WithinDuration(t, time.Now(), e.Time, time.Hour)
		if n > 0 {
			require.False(t, e.Time.After(entries[n-1].Time), "newest first")
		}
		seen[e.Method+" "+e.Route] = e.Status
	}
	require.Equal(t, map[string]int{
		"POST /v1.0/vims": 201, "POST /vnfpkgm/v1/vnf_packages": 201,
		"PUT /vnfpkgm/v1/vnf_packages/{vnfPkgId}/package_content": 202, "POST /vnflcm/v2/vnf_instances": 201,
		"POST /vnflcm/v2/vnf_instances/{vnfInstanceId}/instantiate": 202, "POST /vnflcm/v2/subscriptions": 201,
		"POST /vnflcm/v2/vnf_snapshots": 201,
	}, seen, "no GET is in it")
	require.Empty(t, w.trail(t, blue), "the trail is of a project")

	byOp := w.trail(t, red, "vnfLcmOpOccId", of.op)
	require.Len(t, byOp, 1)
	require.ElementsMatch(t, []string{of.instance, of.op}, byOp[0].Resources)
	require.Len(t, w.trail(t, red, "vnfPkgId", of.pkg), 2)
	require.Len(t, w.trail(t, red, "vimId", of.vim), 1)
	require.Len(t, w.trail(t, red, "method", "PUT"), 1)
	require.Empty(t, w.trail(t, red, "subject", "admin-of-red"))
	require.Empty(t, w.trail(t, red, "since", time.Now().Add(time.Hour).Format(time.RFC3339)))
	require.Empty(t, w.trail(t, red, "until", time.Now().Add(-time.Hour).Format(time.RFC3339)))

	// Pages.
	var paged []gybeapi.AuditEntry
	q := url.Values{"limit": {"2"}}
	for {
		page, err := w.as(t, red, lcm.RoleAdmin).Audit(t.Context(), q)
		require.NoError(t, err)
		paged = append(paged, page.Entries...)
		if page.Next == "" {
			break
		}
		q.Set("before", page.Next)
	}
	require.Equal(t, entries, paged)
	for _, bad := range []string{"since=x", "until=1", "before=0", "limit=0", "limit=1001", "vimId=x", "nonsense=1"} {
		a := w.send(t, request{
			method: http.MethodGet, path: "/gybe/v1/audit?" + bad, token: w.tokens[red][lcm.RoleAdmin],
		})
		require.Equal(t, http.StatusBadRequest, a.status, bad)
	}

	// A failure has its title, and refusals of the role are in the trail; those of credentials are not.
	operator := w.as(t, red, lcm.RoleOperator)
	require.Error(t, operator.DeleteInstance(t.Context(), of.instance))
	failed := w.trail(t, red)[0]
	require.Equal(t, http.StatusConflict, failed.Status)
	require.NotEmpty(t, failed.Error)
	require.Error(t, w.as(t, red, lcm.RoleReader).DeleteInstance(t.Context(), of.instance))
	refused := w.trail(t, red)[0]
	require.Equal(t, http.StatusForbidden, refused.Status)
	require.Equal(t, "reader-of-red", refused.Subject)
	require.Equal(t, []string{of.instance}, refused.Resources)
	count := len(w.trail(t, red))
	a := w.send(t, request{method: http.MethodDelete, path: failed.Path, token: w.invalid["expired"]})
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Len(t, w.trail(t, red), count)

	// The log has the same, and neither has a secret.
	log := w.log.String()
	require.Equal(t, count, strings.Count(log, `"msg":"audit"`))
	for _, e := range w.trail(t, red) {
		require.Contains(t, log, `"request_id":"`+e.RequestID+`"`)
	}
	var rows string
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT string_agg(audit::text, ' ') FROM audit").Scan(&rows))
	for _, secret := range []string{simcloud.Password, w.tokens[red][lcm.RoleOperator], "canary"} {
		require.NotContains(t, rows, secret)
	}
}

// TestSecretsAreNotSentWithoutAuditEntry: if the trail cannot be written, nothing is changed and no secret is sent.
func TestSecretsAreNotSentWithoutAuditEntry(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	path := "/gybe/v1/vnf_instances/" + of.instance + "/kubeconfig"
	get := request{method: http.MethodGet, path: path, token: w.tokens[red][lcm.RoleOperator]}
	a := w.send(t, get)
	require.Equal(t, http.StatusNotFound, a.status, "it is not a cluster")
	entry := w.trail(t, red)[0]
	require.Equal(t, path, entry.Path)
	require.Equal(t, http.StatusNotFound, entry.Status)

	before := w.everything(t, red, of)
	_, err := w.pool.Exec(t.Context(), "ALTER TABLE audit RENAME TO audit_away")
	require.NoError(t, err)
	for _, r := range []request{
		get,
		{method: http.MethodDelete, path: "/vnflcm/v2/vnf_instances/" + of.idle, token: get.token},
		{method: http.MethodDelete, path: "/v1.0/vims/" + of.vim, token: get.token},
	} {
		a := w.send(t, r)
		require.Equal(t, http.StatusServiceUnavailable, a.status, a.body)
		require.NotEmpty(t, a.header.Get("Retry-After"))
		require.NotContains(t, a.body, "relation", "the reason is for the log")
	}
	require.Equal(t, before, w.everything(t, red, of))
	a = w.send(t, request{method: http.MethodDelete, path: path, token: w.tokens[red][lcm.RoleReader]})
	require.NotEqual(t, http.StatusOK, a.status)
	_, err = w.pool.Exec(t.Context(), "ALTER TABLE audit_away RENAME TO audit")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, w.send(t, get).status)
}

// TestAuditEntryPrecedesTheChange: a node that dies during a request leaves the entry, without an outcome.
func TestAuditEntryPrecedesTheChange(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	of := w.fill(t, red)
	lock, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "SELECT FROM vnf_instance WHERE id = $1 FOR UPDATE", of.idle)
	require.NoError(t, err)
	done, operator := make(chan error, 1), w.as(t, red, lcm.RoleOperator)
	go func() { done <- operator.DeleteInstance(t.Context(), of.idle) }()
	var open gybeapi.AuditEntry
	require.Eventually(t, func() bool {
		open = w.trail(t, red)[0]
		return open.Method == http.MethodDelete
	}, time.Minute, 10*time.Millisecond)
	require.Zero(t, open.Status, "the request is still worked on")
	require.Equal(t, []string{of.idle}, open.Resources)
	require.NoError(t, lock.Rollback(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, http.StatusNoContent, w.trail(t, red)[0].Status)
}

// TestAuditTrailIsPruned deletes entries by age.
func TestAuditTrailIsPruned(t *testing.T) {
	t.Parallel()
	// The node itself deletes entries of 90 days, some time after its start.
	w := start(t, nil)
	_, err := w.as(t, red, lcm.RoleOperator).CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	_, err = w.pool.Exec(t.Context(), "UPDATE audit SET time = now() - interval '31 days'")
	require.NoError(t, err)
	_, err = w.as(t, red, lcm.RoleOperator).CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	require.Len(t, w.trail(t, red), 2)
	n, err := w.store(t).PruneAudit(t.Context(), 30*24*time.Hour, 100)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Len(t, w.trail(t, red), 1)
}
