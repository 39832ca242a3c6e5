package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// expire ends the time of a lease.
func (b *bundle) expire(tb testing.TB, instanceID string) {
	tb.Helper()
	tag, err := b.pool.Exec(
		tb.Context(), "UPDATE instance_lease SET expires = now() WHERE instance_id = $1", instanceID,
	)
	require.NoError(tb, err)
	require.EqualValues(tb, 1, tag.RowsAffected())
}

func TestLeaseKeepsOtherRequestsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	l, err := b.Lease(t.Context(), i.ID, "it looks around")
	require.NoError(t, err)
	require.Equal(t, i, l.Instance)
	requests := map[string]func() error{
		"admit":  func() error { return b.Admit(t.Context(), newOperation(i.ID), nil, ok) },
		"lease":  func() error { _, err := b.Lease(t.Context(), i.ID, "too"); return err },
		"delete": func() error { return b.DeleteInstance(t.Context(), i.ID, nil, nil) },
		"update": func() error {
			return b.UpdateInstance(t.Context(), i.ID, func(*lcm.Instance) ([]string, error) { return nil, nil })
		},
	}
	for name, request := range requests {
		t.Log(name)
		err := request()
		requireCode(t, lcm.CodeConflict, err)
		require.Contains(t, err.Error(), "it looks around")
	}
	require.NoError(t, b.RenewLease(t.Context(), l))
	require.NoError(t, b.EndLease(t.Context(), l, func(locked *lcm.Instance) { locked.HoldsResources = true }))
	got, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.True(t, got.HoldsResources)
	require.Equal(t, i.Version+1, got.Version)
	requireCode(t, lcm.CodeConflict, b.RenewLease(t.Context(), l))
	requireCode(t, lcm.CodeConflict, b.EndLease(t.Context(), l, nil))
	require.NoError(t, requests["admit"]())
	_, err = b.Lease(t.Context(), i.ID, "x")
	requireCode(t, lcm.CodeConflict, err)
	require.Contains(t, err.Error(), "operation", "the active operation is named")
}

func TestExpiredLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	hold := func(locked *lcm.Instance) { locked.HoldsResources = true }

	dead, err := b.Lease(t.Context(), i.ID, "its node dies")
	require.NoError(t, err)
	b.expire(t, i.ID)
	requireCode(t, lcm.CodeConflict, b.RenewLease(t.Context(), dead))
	requireCode(t, lcm.CodeConflict, b.EndLease(t.Context(), dead, hold))
	next, err := b.Lease(t.Context(), i.ID, "the user tries again")
	require.NoError(t, err)
	requireCode(t, lcm.CodeConflict, b.RenewLease(t.Context(), dead))
	requireCode(t, lcm.CodeConflict, b.EndLease(t.Context(), dead, hold))
	require.NoError(t, b.EndLease(t.Context(), next, nil))
	got, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, i, got, "nothing is stored")

	_, err = b.Lease(t.Context(), i.ID, "its node dies")
	require.NoError(t, err)
	b.expire(t, i.ID)
	require.NoError(t, b.DeleteInstance(t.Context(), i.ID, nil, nil))
	require.Zero(t, b.count(t, "SELECT count(*) FROM instance_lease WHERE instance_id = $1", i.ID))
	for _, wrong := range []string{i.ID, uuid.NewString(), "x"} {
		_, err = b.Lease(t.Context(), wrong, "x")
		requireCode(t, lcm.CodeNotFound, err)
	}
}
