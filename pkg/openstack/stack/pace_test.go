package stack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// TestPaceIsCheaperThanALookEveryFiveSeconds: however long a stack takes, it costs the VIM no more calls, and is seen
// sooner on average.
func TestPaceIsCheaperThanALookEveryFiveSeconds(t *testing.T) {
	t.Parallel()
	const (
		ours   = 6 // beside looks: create, and the inventory
		theirs = 8 // beside a look and a login for each
	)
	for takes := 2 * time.Second; takes < 10*time.Minute; takes += 100 * time.Millisecond {
		looks, at := 1, cloud.Pace(0)
		for at < takes {
			at += cloud.Pace(at)
			looks++
		}
		counts := 0
		if takes > countFrom {
			counts = int((takes-countFrom)/countEvery) + 1
		}
		require.LessOrEqual(t, ours+looks+counts, theirs+2*(int((takes-1)/(5*time.Second))+2), "%s", takes)
		require.Less(t, cloud.Pace(takes)/2, 2500*time.Millisecond, "%s", takes)
	}
	require.LessOrEqual(t, cloud.Pace(20*time.Second)/2, 1250*time.Millisecond)
}
