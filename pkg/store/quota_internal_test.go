package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCountsAreRepeatedBeforeTheLimitCanBeReached: the farther a project is from its limit, the longer a count is used.
func TestCountsAreRepeatedBeforeTheLimitCanBeReached(t *testing.T) {
	t.Parallel()
	now := time.Now()
	key := countKey{"blue", quotaInstances}
	for _, tt := range []struct {
		used, highest int64
		age           time.Duration
		far           bool
	}{
		{0, 10_000, 0, true},
		{0, 10_000, 400 * time.Millisecond, true},
		{0, 10_000, 500 * time.Millisecond, false},
		{9_000, 10_000, 10 * time.Millisecond, true},
		{9_000, 10_000, 50 * time.Millisecond, false},
		{9_801, 10_000, 0, false},
		{10_001, 10_000, 0, false},
		{0, 100, 0, false},
	} {
		var c counts
		require.False(t, c.farFrom(tt.highest, key, now), "not counted yet")
		c.put(key, tt.used, now.Add(-tt.age))
		require.Equal(t, tt.far, c.farFrom(tt.highest, key, now), "%+v", tt)
		require.False(t, c.farFrom(tt.highest, countKey{"red", quotaInstances}, now))
	}
}
