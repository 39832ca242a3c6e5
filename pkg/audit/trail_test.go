package audit_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/audit"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// table keeps entries as the store does, and fails when the test says so.
type table struct {
	mu         sync.Mutex
	rows       []lcm.AuditEntry
	statements int
	broken     bool
}

var errBroken = errors.New("the database does not answer")

func (s *table) AddAudit(_ context.Context, e *lcm.AuditEntry, _ bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statements++
	if s.broken {
		return errBroken
	}
	e.ID = int64(len(s.rows) + 1)
	s.rows = append(s.rows, *e)
	return nil
}

func (s *table) CompleteAudit(_ context.Context, entries []*lcm.AuditEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statements++
	if s.broken {
		return errBroken
	}
	for _, e := range entries {
		s.rows[e.ID-1] = *e
	}
	return nil
}

func (s *table) set(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *table) read() ([]lcm.AuditEntry, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]lcm.AuditEntry{}, s.rows...), s.statements
}

// run starts a trail and stops it with the test. It MUST be called in a bubble of synctest.
func run(t *testing.T) (*audit.Trail, *table) {
	t.Helper()
	s := &table{}
	trail := audit.New(s, "node-1", slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		_ = trail.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return trail, s
}

// TestOutcomesAreStoredTogether: a request costs the trail one statement, and outcomes that come at the same time share
// one.
func TestOutcomesAreStoredTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trail, s := run(t)
		const requests = 50
		for range requests {
			e := &lcm.AuditEntry{}
			require.NoError(t, trail.Add(t.Context(), e, false))
			e.Status = 202
			trail.Complete(e)
		}
		<-time.After(time.Second)
		synctest.Wait()
		rows, statements := s.read()
		require.Len(t, rows, requests)
		for _, e := range rows {
			require.Equal(t, 202, e.Status)
			require.Equal(t, "node-1", e.Node)
		}
		require.Equal(t, requests+1, statements)
	})
}

// TestOutcomesWaitForTheDatabase: an outage does not lose them.
func TestOutcomesWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trail, s := run(t)
		e := &lcm.AuditEntry{}
		require.NoError(t, trail.Add(t.Context(), e, false))
		s.set(true)
		require.ErrorIs(t, trail.Add(t.Context(), &lcm.AuditEntry{}, false), errBroken)
		e.Status = 204
		trail.Complete(e)
		<-time.After(10 * time.Second)
		rows, _ := s.read()
		require.Zero(t, rows[0].Status)
		s.set(false)
		require.NoError(t, trail.Flush(t.Context()))
		rows, _ = s.read()
		require.Equal(t, 204, rows[0].Status)
	})
}

func failure(remote, name string) *lcm.AuditEntry {
	return &lcm.AuditEntry{
		Remote: remote, Status: 401, Principal: lcm.Principal{Subject: name, Project: "blue", Mode: "keystone"},
	}
}

// TestFailedLoginsOfAnAddressAreCounted: an attacker adds one row a minute, and less than two dozen with any number of
// addresses.
func TestFailedLoginsOfAnAddressAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trail, s := run(t)
		for n := range 1000 {
			require.NoError(t, trail.AddFailure(t.Context(), failure("192.0.2.1", "eve"+strconv.Itoa(n))))
		}
		require.NoError(t, trail.AddFailure(t.Context(), failure("192.0.2.2", strings.Repeat("ä", 4000))))
		<-time.After(time.Second)
		rows, statements := s.read()
		require.Len(t, rows, 2)
		require.Less(t, statements, 10)
		require.Equal(t, "eve0", rows[0].Principal.Subject, "the first claimed name")
		require.Equal(t, 1000, rows[0].Count)
		require.Equal(t, lcm.DefaultProject, rows[0].Principal.Project, "a stranger cannot choose the trail")
		require.Equal(t, 1, rows[1].Count)
		require.Less(t, len(rows[1].Principal.Subject), 150)

		<-time.After(time.Minute)
		require.NoError(t, trail.AddFailure(t.Context(), failure("192.0.2.1", "eve")))
		rows, _ = s.read()
		require.Len(t, rows, 3, "a new minute")
		for n := range 5000 {
			address := "2001:db8:" + strconv.FormatInt(int64(n/16), 16) + "::" + strconv.FormatInt(int64(n%16), 16)
			require.NoError(t, trail.AddFailure(t.Context(), failure(address, "eve")))
		}
		<-time.After(time.Second)
		rows, _ = s.read()
		require.LessOrEqual(t, len(rows), 3+21)
		last := rows[len(rows)-1]
		require.Equal(t, "several addresses", last.Remote)
		sum := 0
		for _, e := range rows[3:] {
			sum += e.Count
		}
		require.Equal(t, 5000, sum)
		require.Equal(t, 16, rows[3].Count, "one client may have all of an IPv6 network")
	})
}

// TestFailedLoginsAreCountedAfterAnOutage: an entry that could not be added does not hide the following ones.
func TestFailedLoginsAreCountedAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trail, s := run(t)
		s.set(true)
		require.ErrorIs(t, trail.AddFailure(t.Context(), failure("192.0.2.1", "eve")), errBroken)
		s.set(false)
		require.NoError(t, trail.AddFailure(t.Context(), failure("192.0.2.1", "eve")))
		rows, _ := s.read()
		require.Len(t, rows, 1)
	})
}
