package sol_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestTimesAreUTCOnTheWire(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("CET", 3600))
	for name, value := range map[string]any{
		"operation": sol.VnfLcmOpOcc{StartTime: at, StateEnteredTime: at},
		"pointer":   &sol.VnfLcmOpOcc{StartTime: at, StateEnteredTime: at},
		"list":      []sol.VnfLcmOpOcc{{StartTime: at, StateEnteredTime: at}},
		"state":     sol.VnfLcmOperationOccurrenceNotification{TimeStamp: at},
		"creation":  sol.VnfIdentifierCreationNotification{TimeStamp: at},
		"deletion":  sol.VnfIdentifierDeletionNotification{TimeStamp: at},
		"image":     sol.VnfPackageSoftwareImageInfo{CreatedAt: at},
	} {
		out, err := json.Marshal(value)
		require.NoError(t, err, name)
		require.Contains(t, string(out), "2026-01-02T02:04:05Z", name)
		require.NotContains(t, string(out), "+01:00", name)
	}
	require.Equal(t, 3, at.Hour())
}
