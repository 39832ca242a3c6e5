package lcm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

var states = []sol.LcmOperationStateType{
	sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp,
	sol.LcmOperationStateFailed, sol.LcmOperationStateRollingBack, sol.LcmOperationStateRolledBack,
}

var events = []lcm.Event{
	lcm.EventGranted, lcm.EventCompleted, lcm.EventFailed, lcm.EventRolledBack,
	lcm.EventCancelled, lcm.EventRetry, lcm.EventRollback, lcm.EventFail, lcm.EventCancel,
}

// Every pair of state and event is decided here, so that a change of the table is a decision and not an accident.
func TestOperationNeverTakesATransitionTheStandardForbids(t *testing.T) {
	t.Parallel()
	want := map[sol.LcmOperationStateType]map[lcm.Event]sol.LcmOperationStateType{
		"STARTING":     {"granted": "PROCESSING", "failed": "ROLLED_BACK", "cancel": "STARTING", "cancelled": "ROLLED_BACK"},
		"PROCESSING":   {"completed": "COMPLETED", "failed": "FAILED_TEMP", "cancel": "PROCESSING", "cancelled": "FAILED_TEMP"},
		"FAILED_TEMP":  {"retry": "PROCESSING", "rollback": "ROLLING_BACK", "fail": "FAILED"},
		"ROLLING_BACK": {"rolled_back": "ROLLED_BACK", "failed": "FAILED_TEMP", "cancel": "ROLLING_BACK", "cancelled": "FAILED_TEMP"},
	}
	for _, s := range states {
		for _, e := range events {
			to, err := lcm.Next(&lcm.Operation{Type: sol.LcmOperationInstantiate, State: s}, e)
			if w, ok := want[s][e]; ok {
				require.NoError(t, err, "%s in %s", e, s)
				require.Equal(t, w, to, "%s in %s", e, s)
				continue
			}
			require.Error(t, err, "%s in %s", e, s)
			require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
		}
	}
}

func TestTerminateIsNotOfferedARollbackThatWouldRebuildAVnf(t *testing.T) {
	t.Parallel()
	_, err := lcm.Next(failed(sol.LcmOperationTerminate), lcm.EventRollback)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.Equal(t, []lcm.Event{lcm.EventRetry, lcm.EventFail}, lcm.Allowed(failed(sol.LcmOperationTerminate)))
	require.Equal(t, []lcm.Event{lcm.EventRetry, lcm.EventRollback, lcm.EventFail}, lcm.Allowed(failed(sol.LcmOperationInstantiate)))
}

func TestEveryStateThatHoldsAnInstanceCanBeLeft(t *testing.T) {
	t.Parallel()
	for _, s := range states {
		left := false
		for _, e := range events {
			_, err := lcm.Next(&lcm.Operation{Type: sol.LcmOperationInstantiate, State: s}, e)
			left = left || err == nil
		}
		require.Equal(t, lcm.Active(s), left, "state %s", s)
		if lcm.Running(s) {
			require.True(t, lcm.Active(s))
		}
	}
}

func failed(t sol.LcmOperationType) *lcm.Operation {
	return &lcm.Operation{Type: t, State: sol.LcmOperationStateFailedTemp}
}
