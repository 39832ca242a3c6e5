package subscriber

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestStatesThatAnOperationPassed(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		decisions []string
		operation sol.LcmOperationType
		now       sol.LcmOperationStateType
	}{
		"STARTING ROLLED_BACK":            {nil, sol.LcmOperationScale, sol.LcmOperationStateRolledBack},
		"STARTING PROCESSING COMPLETED":   {nil, sol.LcmOperationScale, sol.LcmOperationStateCompleted},
		"PROCESSING COMPLETED":            {nil, sol.LcmOperationModifyInfo, sol.LcmOperationStateCompleted},
		"STARTING PROCESSING FAILED_TEMP": {nil, sol.LcmOperationScale, sol.LcmOperationStateFailedTemp},
		"STARTING PROCESSING FAILED_TEMP FAILED": {
			[]string{"fail"}, sol.LcmOperationScale, sol.LcmOperationStateFailed,
		},
		"STARTING PROCESSING FAILED_TEMP ROLLING_BACK FAILED_TEMP": {
			[]string{"rollback"}, sol.LcmOperationScale, sol.LcmOperationStateFailedTemp,
		},
		"STARTING PROCESSING FAILED_TEMP PROCESSING FAILED_TEMP ROLLING_BACK ROLLED_BACK": {
			[]string{"retry", "rollback"}, sol.LcmOperationScale, sol.LcmOperationStateRolledBack,
		},
	} {
		var got []string
		for _, s := range passed(tt.decisions, &sol.VnfLcmOpOcc{Operation: tt.operation, OperationState: tt.now}) {
			got = append(got, string(s))
		}
		require.Equal(t, want, strings.Join(got, " "))
	}
}

// TestDifferences: notifications that are absent, in another order, of another kind, or different for the other
// subscription are found.
func TestDifferences(t *testing.T) {
	t.Parallel()
	of := func(verbosity sol.LcmOpOccNotificationVerbosityType) []notification {
		occurrence := notification{Type: "VnfLcmOperationOccurrenceNotification", Operation: "o", Instance: "i"}
		starting, completed := occurrence, occurrence
		starting.ID, starting.Status, starting.State, starting.Verbosity = "1", "START", "STARTING", verbosity
		completed.ID, completed.Status, completed.State, completed.Verbosity = "2", "RESULT", "COMPLETED", verbosity
		created := notification{ID: "0", Type: "VnfIdentifierCreationNotification", Instance: "i"}
		return []notification{created, starting, completed}
	}
	want := map[string][]string{
		"i": {"VnfIdentifierCreationNotification"},
		"o": {
			"VnfLcmOperationOccurrenceNotification START STARTING",
			"VnfLcmOperationOccurrenceNotification RESULT COMPLETED",
		},
		"p": {"VnfPackageOnboardingNotification", "VnfPackageChangeNotification OP_STATE_CHANGE DISABLED"},
	}
	for name, tt := range map[string]struct {
		change func(got map[string][]notification)
		found  int
	}{
		"all": {func(map[string][]notification) {}, 0},
		"others, too": {func(got map[string][]notification) {
			got[packages] = append(got[packages], notification{ID: "9"})
		}, 0},
		"nothing":       {func(got map[string][]notification) { clear(got) }, 5},
		"no package":    {func(got map[string][]notification) { delete(got, packages) }, 1},
		"no change":     {func(got map[string][]notification) { got[packages] = got[packages][:1] }, 1},
		"no identifier": {func(got map[string][]notification) { got[full] = got[full][1:] }, 2},
		"no last state": {func(got map[string][]notification) { got[short] = got[short][:2] }, 2},
		"another order": {func(got map[string][]notification) { slices.Reverse(got[full]) }, 2},
		"another state": {func(got map[string][]notification) { got[full][2].State = "FAILED_TEMP" }, 1},
		"another id":    {func(got map[string][]notification) { got[short][0].ID = "5" }, 1},
		"verbosity":     {func(got map[string][]notification) { got[full][1].Verbosity = sol.VerbosityShort }, 1},
	} {
		got := map[string][]notification{
			full: of(sol.VerbosityFull), short: of(sol.VerbosityShort), packages: {
				{ID: "3", Type: "VnfPackageOnboardingNotification", Package: "p"},
				{
					ID: "4", Type: "VnfPackageChangeNotification", Package: "p", Change: "OP_STATE_CHANGE",
					OperationalState: "DISABLED",
				},
			},
		}
		tt.change(got)
		require.Len(t, differences(want, got), tt.found, name)
	}
}
