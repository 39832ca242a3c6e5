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
	lcm.EventRetry, lcm.EventRollback, lcm.EventFail,
}

// Every pair of state and event is decided here, so that a change of the table is a decision and not an accident.
func TestOperationNeverTakesATransitionTheStandardForbids(t *testing.T) {
	t.Parallel()
	want := map[sol.LcmOperationStateType]map[lcm.Event]sol.LcmOperationStateType{
		"STARTING":     {"granted": "PROCESSING", "failed": "ROLLED_BACK"},
		"PROCESSING":   {"completed": "COMPLETED", "failed": "FAILED_TEMP"},
		"FAILED_TEMP":  {"retry": "PROCESSING", "rollback": "ROLLING_BACK", "fail": "FAILED"},
		"ROLLING_BACK": {"rolled_back": "ROLLED_BACK", "failed": "FAILED_TEMP"},
	}
	for _, s := range states {
		for _, e := range events {
			to, err := lcm.Next(sol.LcmOperationInstantiate, s, e)
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
	_, err := lcm.Next(sol.LcmOperationTerminate, sol.LcmOperationStateFailedTemp, lcm.EventRollback)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.Equal(t, []lcm.Event{lcm.EventRetry, lcm.EventFail}, lcm.Allowed(sol.LcmOperationTerminate, sol.LcmOperationStateFailedTemp))
	require.Equal(t, []lcm.Event{lcm.EventRetry, lcm.EventRollback, lcm.EventFail}, lcm.Allowed(sol.LcmOperationInstantiate, sol.LcmOperationStateFailedTemp))
}

func TestEveryStateThatHoldsAnInstanceCanBeLeft(t *testing.T) {
	t.Parallel()
	for _, s := range states {
		left := false
		for _, e := range events {
			_, err := lcm.Next(sol.LcmOperationInstantiate, s, e)
			left = left || err == nil
		}
		require.Equal(t, lcm.Active(s), left, "state %s", s)
		if lcm.Running(s) {
			require.True(t, lcm.Active(s))
		}
	}
}
