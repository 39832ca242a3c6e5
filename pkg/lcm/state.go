package lcm

import "github.com/gybe-nfv/gybe/pkg/sol"

// Event is what can happen to an operation.
type Event string

// The events of the operation state machine. The first block is the engine's, the second the user's.
const (
	EventGranted    Event = "granted"     // the phases of STARTING are done
	EventCompleted  Event = "completed"   // the last phase is done
	EventFailed     Event = "failed"      // a phase failed for good
	EventRolledBack Event = "rolled_back" // the last rollback phase is done

	EventRetry    Event = "retry"
	EventRollback Event = "rollback"
	EventFail     Event = "fail"
)

// transitions is the whole state machine of VNF LCM operations (SOL003 clause 5.6.2.2): what is not here is forbidden.
// docs/state-machine.md shows it as a picture.
var transitions = map[sol.LcmOperationStateType]map[Event]sol.LcmOperationStateType{
	sol.LcmOperationStateStarting: {
		EventGranted: sol.LcmOperationStateProcessing,
		EventFailed:  sol.LcmOperationStateRolledBack, // nothing was made yet
	},
	sol.LcmOperationStateProcessing: {
		EventCompleted: sol.LcmOperationStateCompleted,
		EventFailed:    sol.LcmOperationStateFailedTemp,
	},
	sol.LcmOperationStateFailedTemp: {
		EventRetry:    sol.LcmOperationStateProcessing,
		EventRollback: sol.LcmOperationStateRollingBack,
		EventFail:     sol.LcmOperationStateFailed,
	},
	sol.LcmOperationStateRollingBack: {
		EventRolledBack: sol.LcmOperationStateRolledBack,
		EventFailed:     sol.LcmOperationStateFailedTemp,
	},
}

// rollbackable lists the operations that EventRollback is allowed for.
var rollbackable = map[sol.LcmOperationType]bool{
	sol.LcmOperationInstantiate: true,
}

// Next returns the state that an event leads to, for one operation type, or a CodeConflict error that
// says which state forbids it.
func Next(t sol.LcmOperationType, s sol.LcmOperationStateType, e Event) (sol.LcmOperationStateType, error) {
	to, ok := transitions[s][e]
	if !ok {
		return "", Errorf(CodeConflict, "the operation is %s; %s is not possible in this state", s, e)
	}
	if e == EventRollback && !rollbackable[t] {
		return "", Errorf(CodeConflict, "a %s operation cannot be rolled back", t).
			WithHint("retry it, or mark it failed")
	}
	return to, nil
}

// Allowed lists the user's events that are possible now, in the order retry, rollback, fail.
func Allowed(t sol.LcmOperationType, s sol.LcmOperationStateType) []Event {
	var out []Event
	for _, e := range []Event{EventRetry, EventRollback, EventFail} {
		if _, err := Next(t, s, e); err == nil {
			out = append(out, e)
		}
	}
	return out
}
