package lcm

import (
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Event is what can happen to an operation.
type Event string

// The events of the operation state machine. The first block is the engine's, the second the user's.
const (
	EventGranted    Event = "granted"     // the phases of STARTING are done
	EventCompleted  Event = "completed"   // the last phase is done
	EventFailed     Event = "failed"      // a phase failed for good
	EventRolledBack Event = "rolled_back" // the last rollback phase is done
	EventCancelled  Event = "cancelled"   // a cancelled operation has come to rest

	EventRetry    Event = "retry"
	EventRollback Event = "rollback"
	EventFail     Event = "fail"
	EventCancel   Event = "cancel"
)

// UserEvents lists the events that a user can cause.
var UserEvents = []Event{EventRetry, EventRollback, EventFail, EventCancel}

// RunningStates are the states in which the engine works on an operation.
var RunningStates = []sol.LcmOperationStateType{
	sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack,
}

// ActiveStates are the states in which an operation holds its instance: no other operation of it can start.
var ActiveStates = append(slices.Clone(RunningStates), sol.LcmOperationStateFailedTemp)

// FinalStates are the states that an operation does not leave.
var FinalStates = []sol.LcmOperationStateType{
	sol.LcmOperationStateCompleted, sol.LcmOperationStateFailed, sol.LcmOperationStateRolledBack,
}

// transition is one row of the state machine.
type transition struct {
	from  sol.LcmOperationStateType
	event Event
	to    sol.LcmOperationStateType
}

// transitions is the whole state machine of VNF LCM operations (SOL003 clause 5.6.2.2): what is not here is forbidden.
// docs/state-machine.md shows it as a picture.
var transitions = []transition{
	{from: sol.LcmOperationStateStarting, event: EventGranted, to: sol.LcmOperationStateProcessing},
	// nothing was made yet
	{from: sol.LcmOperationStateStarting, event: EventFailed, to: sol.LcmOperationStateRolledBack},
	{from: sol.LcmOperationStateStarting, event: EventCancel, to: sol.LcmOperationStateStarting},
	{from: sol.LcmOperationStateStarting, event: EventCancelled, to: sol.LcmOperationStateRolledBack},

	{from: sol.LcmOperationStateProcessing, event: EventCompleted, to: sol.LcmOperationStateCompleted},
	{from: sol.LcmOperationStateProcessing, event: EventFailed, to: sol.LcmOperationStateFailedTemp},
	{from: sol.LcmOperationStateProcessing, event: EventCancel, to: sol.LcmOperationStateProcessing},
	{from: sol.LcmOperationStateProcessing, event: EventCancelled, to: sol.LcmOperationStateFailedTemp},

	{from: sol.LcmOperationStateFailedTemp, event: EventRetry, to: sol.LcmOperationStateProcessing},
	{from: sol.LcmOperationStateFailedTemp, event: EventRollback, to: sol.LcmOperationStateRollingBack},
	{from: sol.LcmOperationStateFailedTemp, event: EventFail, to: sol.LcmOperationStateFailed},

	{from: sol.LcmOperationStateRollingBack, event: EventRolledBack, to: sol.LcmOperationStateRolledBack},
	{from: sol.LcmOperationStateRollingBack, event: EventFailed, to: sol.LcmOperationStateFailedTemp},
	{from: sol.LcmOperationStateRollingBack, event: EventCancel, to: sol.LcmOperationStateRollingBack},
	{from: sol.LcmOperationStateRollingBack, event: EventCancelled, to: sol.LcmOperationStateFailedTemp},
}

// Next returns the state that an event leads the operation to, or a CodeConflict error that says what forbids it.
func Next(op *Operation, e Event) (sol.LcmOperationStateType, error) {
	at := slices.IndexFunc(transitions, func(t transition) bool { return t.from == op.State && t.event == e })
	if at < 0 {
		return "", Errorf(CodeConflict, "the operation is %s; %s is not possible in this state", op.State, e)
	}
	if e == EventRollback && !op.Kind().CanRollBack {
		return "", Errorf(CodeConflict, "%s is not possible for a %s operation", e, op.Type).WithHint(
			"retry it, or mark it failed",
		)
	}
	if e == EventRollback && op.Scope != nil && len(op.Scope.Remove) > 0 && op.Kind().Scales {
		return "", Errorf(CodeConflict,
			"a %s operation that takes VNFCs away cannot be rolled back: what they held is lost", op.Type).
			WithHint("retry it, or mark it failed")
	}
	if e == EventCancel && op.Cancel == sol.CancelModeForceful {
		return "", Errorf(CodeConflict, "the operation is being cancelled already")
	}
	return transitions[at].to, nil
}

// WaysOut says in words what a user can do about an operation that fails or is cancelled now, as the state machine has
// it, without the given events; "" for one that then ends by itself.
func WaysOut(op *Operation, but ...Event) string {
	then := *op
	then.Cancel = ""
	then.State, _ = Next(op, EventFailed)
	words := map[Event]string{
		EventRetry: "retry the operation", EventRollback: "roll it back", EventFail: "mark it failed",
	}
	var ways []string
	for _, e := range Allowed(&then) {
		if !slices.Contains(but, e) {
			ways = append(ways, words[e])
		}
	}
	if len(ways) < 2 {
		return strings.Join(ways, "")
	}
	last := len(ways) - 1
	return strings.Join(ways[:last], ", ") + " or " + ways[last]
}

// Allowed lists the user's events that are possible now, in the order of UserEvents.
func Allowed(op *Operation) []Event {
	var out []Event
	for _, e := range UserEvents {
		if _, err := Next(op, e); err == nil {
			out = append(out, e)
		}
	}
	return out
}
