package stack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// TestAFailureIsSeenTwice: one that Heat takes back immediately does not fail an operation; each is doubted on its own.
func TestAFailureIsSeenTwice(t *testing.T) {
	t.Parallel()
	d, now := &Doubts{}, time.Now()
	first := &cloud.Stack{ID: "s", Status: "UPDATE_FAILED", Tags: []string{"i", "op", "token-1"}}
	require.Error(t, d.confirmed(now, "op", first))
	now = now.Add(doubtPause / 2)
	require.Error(t, d.confirmed(now, "op", first), "too early")
	other := &cloud.Stack{ID: "s", Status: "UPDATE_FAILED", Tags: []string{"i", "op", "token-2"}}
	now = now.Add(doubtPause)
	require.Error(t, d.confirmed(now, "op", other), "the failure of another update")
	require.NoError(t, d.confirmed(now, "op", first))
	require.Error(t, d.confirmed(now, "op", first), "the next operation doubts again")
	now = now.Add(2 * doubtAge)
	require.Error(t, d.confirmed(now, "op", other))
	require.Len(t, d.seen, 1, "a doubt that nothing asked about again is forgotten")
}
