package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// TestFollowAuditReturnsEachEntryOnce: an entry that becomes visible later than the next one is not left out, and one
// without an outcome holds the following ones back for a moment.
func TestFollowAuditReturnsEachEntryOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	p := lcm.Principal{Subject: "ada", Project: "blue"}
	add := func(path string, status int) *lcm.AuditEntry {
		t.Helper()
		e := &lcm.AuditEntry{Principal: p, Method: "POST", Path: path, Status: status}
		require.NoError(t, s.AddAudit(t.Context(), e, false))
		return e
	}
	place := lcm.AuditStart
	q := lcm.AuditQuery{Limit: 2}
	read := func() (paths []string) {
		t.Helper()
		entries, next, err := s.Of(p).FollowAudit(t.Context(), place, q)
		require.NoError(t, err)
		place = next
		for _, e := range entries {
			paths = append(paths, e.Path)
		}
		return paths
	}
	add("/1", 201)
	add("/2", 201)
	add("/3", 201)
	require.Equal(t, []string{"/1", "/2"}, read())
	require.Equal(t, []string{"/3"}, read())
	require.Empty(t, read())

	late, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = late.Exec(t.Context(), `INSERT INTO audit (project, subject, role, mode, remote, request_id, method, route,
		path, node, status) VALUES ('blue', '', '', '', '', '', 'POST', '', '/4', '', 201)`)
	require.NoError(t, err)
	add("/5", 201)
	require.Empty(t, read(), "it would hide the entry before it")
	require.NoError(t, late.Commit(t.Context()))
	require.Equal(t, []string{"/4", "/5"}, read())

	open := add("/6", 0)
	add("/7", 201)
	require.Empty(t, read())
	open.Status, open.Count = 202, 1
	require.NoError(t, s.CompleteAudit(t.Context(), []*lcm.AuditEntry{open}))
	require.Equal(t, []string{"/6", "/7"}, read())
	add("/8", 0) // its node died
	require.Empty(t, read())
	_, err = s.pool.Exec(t.Context(), "UPDATE audit SET time = time - interval '11 s' WHERE path = '/8'")
	require.NoError(t, err)
	require.Equal(t, []string{"/8"}, read())

	q.Method = "GET"
	add("/9", 201)
	require.Empty(t, read())
	q.Method = ""
	require.Empty(t, read(), "it was looked at already")
	place = lcm.AuditEnd
	require.Empty(t, read())
	place = "18446744073709551615-1" // of another server
	require.Empty(t, read())
	_, err = s.pool.Exec(t.Context(), "UPDATE audit SET tx = '999999999999' WHERE path IN ('/1', '/2')")
	require.NoError(t, err)
	_, err = store.New(t.Context(), s.pool, s.ring, nil, quiet) // a restored database
	require.NoError(t, err)
	place = lcm.AuditStart
	require.Equal(t, []string{"/1", "/2"}, read())
	for _, bad := range []string{"x", "1", "-1-1", "1-x"} {
		_, _, err = s.Of(p).FollowAudit(t.Context(), bad, q)
		require.Equal(t, lcm.CodeInvalid, lcm.AsError(err).Code, bad)
	}
}
