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
	const pause = 300 * time.Millisecond
	d, now := &Doubts{}, time.Now()
	first := &cloud.Stack{ID: "s", Status: "UPDATE_FAILED", Tags: []string{"i", "op", "token-1"}}
	require.Error(t, d.confirmed(now, pause, "op", first))
	now = now.Add(pause / 2)
	require.Error(t, d.confirmed(now, pause, "op", first), "too early")
	other := &cloud.Stack{ID: "s", Status: "UPDATE_FAILED", Tags: []string{"i", "op", "token-2"}}
	now = now.Add(pause)
	require.Error(t, d.confirmed(now, pause, "op", other), "the failure of another update")
	require.NoError(t, d.confirmed(now, pause, "op", first))
	require.Error(t, d.confirmed(now, pause, "op", first), "the next operation doubts again")
	now = now.Add(2 * doubtAge)
	require.Error(t, d.confirmed(now, pause, "op", other))
	require.Len(t, d.seen, 1, "a doubt that nothing asked about again is forgotten")
}
