package lcm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

var states = []sol.LcmOperationStateType{
	sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateCompleted,
	sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed, sol.LcmOperationStateRollingBack,
	sol.LcmOperationStateRolledBack,
}

var events = []lcm.Event{
	lcm.EventGranted, lcm.EventCompleted, lcm.EventFailed, lcm.EventRolledBack,
	lcm.EventCancelled, lcm.EventRetry, lcm.EventRollback, lcm.EventFail, lcm.EventCancel,
}

var operations = []sol.LcmOperationType{
	sol.LcmOperationInstantiate, sol.LcmOperationScale, sol.LcmOperationScaleToLevel, sol.LcmOperationChangeFlavour,
	sol.LcmOperationTerminate, sol.LcmOperationHeal, sol.LcmOperationOperate, sol.LcmOperationChangeExtConn,
	sol.LcmOperationModifyInfo, sol.LcmOperationChangeVnfpkg,
}

// Every triple of operation, state and event is decided here, so that a change of the table is a decision and not an
// accident.
func TestOperationNeverTakesATransitionTheStandardForbids(t *testing.T) {
	t.Parallel()
	want := map[sol.LcmOperationStateType]map[lcm.Event]sol.LcmOperationStateType{
		"STARTING": {
			"granted": "PROCESSING", "failed": "ROLLED_BACK", "cancel": "STARTING", "cancelled": "ROLLED_BACK",
		},
		"PROCESSING": {
			"completed": "COMPLETED", "failed": "FAILED_TEMP", "cancel": "PROCESSING", "cancelled": "FAILED_TEMP",
		},
		"FAILED_TEMP": {"retry": "PROCESSING", "rollback": "ROLLING_BACK", "fail": "FAILED"},
		"ROLLING_BACK": {
			"rolled_back": "ROLLED_BACK", "failed": "FAILED_TEMP", "cancel": "ROLLING_BACK", "cancelled": "FAILED_TEMP",
		},
	}
	removes := &lcm.Scope{Remove: []string{"workerNode-1"}}
	noWayBack := map[sol.LcmOperationType]bool{sol.LcmOperationTerminate: true, sol.LcmOperationHeal: true}
	noWayBackOfLess := map[sol.LcmOperationType]bool{sol.LcmOperationScale: true, sol.LcmOperationScaleToLevel: true}
	pairs := 0
	for _, o := range operations {
		for _, s := range states {
			for _, e := range events {
				for _, scope := range []*lcm.Scope{nil, {}, removes} {
					to, err := lcm.Next(&lcm.Operation{Type: o, State: s, Scope: scope}, e)
					w, ok := want[s][e]
					if e == lcm.EventRollback && (noWayBack[o] || noWayBackOfLess[o] && scope == removes) {
						ok = false
					}
					pairs++
					if ok {
						require.NoError(t, err, "%s: %s in %s", o, e, s)
						require.Equal(t, w, to, "%s: %s in %s", o, e, s)
						continue
					}
					require.Error(t, err, "%s: %s in %s", o, e, s)
					require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
				}
			}
		}
	}
	require.Equal(t, 10*7*9*3, pairs)
}

func TestACancelCanOnlyBecomeMoreForceful(t *testing.T) {
	t.Parallel()
	for mode, possible := range map[sol.CancelModeType]bool{
		"": true, sol.CancelModeGraceful: true, sol.CancelModeForceful: false,
	} {
		op := &lcm.Operation{Type: sol.LcmOperationHeal, State: sol.LcmOperationStateProcessing, Cancel: mode}
		_, err := lcm.Next(op, lcm.EventCancel)
		require.Equal(t, possible, err == nil, "%s", mode)
		require.Equal(t, possible, len(lcm.Allowed(op)) == 1)
	}
}

func TestTerminateIsNotOfferedARollbackThatWouldRebuildAVnf(t *testing.T) {
	t.Parallel()
	_, err := lcm.Next(failed(sol.LcmOperationTerminate), lcm.EventRollback)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.Equal(t, []lcm.Event{lcm.EventRetry, lcm.EventFail}, lcm.Allowed(failed(sol.LcmOperationTerminate)))
	require.Equal(t, []lcm.Event{lcm.EventRetry, lcm.EventRollback, lcm.EventFail},
		lcm.Allowed(failed(sol.LcmOperationInstantiate)))
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

// TestHintsOfferOnlyWhatIsPossible: what a hint says can be done about an operation is what the state machine allows
// then.
func TestHintsOfferOnlyWhatIsPossible(t *testing.T) {
	t.Parallel()
	removes := &lcm.Scope{Remove: []string{"workerNode-1"}}
	for _, tt := range []struct {
		op   lcm.Operation
		want string
	}{
		{lcm.Operation{
			Type: sol.LcmOperationScale, State: sol.LcmOperationStateProcessing,
		}, "retry the operation, roll it back or mark it failed"},
		{
			lcm.Operation{Type: sol.LcmOperationScale, State: sol.LcmOperationStateProcessing, Scope: removes},
			"retry the operation or mark it failed",
		},
		{lcm.Operation{
			Type: sol.LcmOperationHeal, State: sol.LcmOperationStateProcessing, Cancel: sol.CancelModeForceful,
		}, "retry the operation or mark it failed"},
		{
			lcm.Operation{Type: sol.LcmOperationInstantiate, State: sol.LcmOperationStateRollingBack},
			"retry the operation, roll it back or mark it failed",
		},
		{lcm.Operation{Type: sol.LcmOperationScale, State: sol.LcmOperationStateStarting}, ""},
	} {
		require.Equal(t, tt.want, lcm.WaysOut(&tt.op), tt.op)
	}
}

// TestHintsGoWhenNothingCanBeDone: an operation that has ended, or goes on again, does not tell its user to retry it.
func TestHintsGoWhenNothingCanBeDone(t *testing.T) {
	t.Parallel()
	op := failed(sol.LcmOperationScale)
	op.FailedIn, op.Error = sol.LcmOperationStateProcessing, &lcm.Failure{
		Detail: "no room", Hint: "add a host, then retry",
	}
	for _, s := range states {
		op.State = s
		require.Equal(t, "no room", op.Reason().Detail)
		require.Equal(t, s == sol.LcmOperationStateFailedTemp, op.Reason().Hint != "", s)
		require.Equal(t, op.Reason().Hint, op.Error.Problem(op).Hint)
	}
	op.State, op.FailedIn = sol.LcmOperationStateRolledBack, sol.LcmOperationStateStarting
	require.NotEmpty(t, op.Reason().Hint, "it never began: the request may be sent again")
}
