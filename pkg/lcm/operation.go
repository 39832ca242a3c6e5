package lcm

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Operation is the durable VNF LCM operation occurrence (SOL003 VnfLcmOpOcc) with its engine state.
type Operation struct {
	ID           string // UUID
	InstanceID   string
	Type         sol.LcmOperationType
	State        sol.LcmOperationStateType
	StateEntered time.Time
	Started      time.Time
	Updated      time.Time
	Version      int64
	Automatic    bool // isAutomaticInvocation

	// Params is the request body as accepted; it may hold secrets, is encrypted at rest and redacted in answers.
	Params json.RawMessage

	// Phase is the name of the phase under way, "" before the first and after the last.
	Phase string
	// Run numbers the passes over the phases: a rollback, and a retry after a failed rollback, begin a new
	// one. Phase and step records belong to a run, so that a pass never takes an earlier one's work for its own.
	Run int
	// FailedIn is the state in which the operation failed last.
	FailedIn sol.LcmOperationStateType
	// Epoch is the fence: it grows with every claim.
	Epoch int64
	// Node is the id of the node that claimed it last.
	Node string
	// Waiting says what the current phase waits for, in words for the user; "" when it is working.
	Waiting string
	// Deadline is the time after which the operation fails instead of going on.
	Deadline time.Time

	Grant *Grant

	Error           *Failure
	ResourceChanges *sol.ResourceChanges
	ChangedInfo     *sol.VnfInfoModifications
}

// Failure is why an operation is in FAILED_TEMP, FAILED or ROLLED_BACK (VnfLcmOpOcc.error).
type Failure struct {
	Status int            `json:"status"`
	Title  string         `json:"title,omitempty"`
	Detail string         `json:"detail"`
	Hint   string         `json:"hint,omitempty"`
	Phase  string         `json:"phase,omitempty"`
	Params []InvalidParam `json:"params,omitempty"`
}

// FailureOf makes the durable failure of an error met in a phase.
func FailureOf(err error, phase string) *Failure {
	e := AsError(err)
	return &Failure{Status: e.Status(), Title: e.Title, Detail: e.Detail, Hint: e.Hint, Phase: phase, Params: e.Params}
}

// Active says whether the operation still holds its instance: at most one per instance does.
// FAILED_TEMP counts, as the standard forbids another operation until it is resolved.
func Active(s sol.LcmOperationStateType) bool {
	switch s {
	case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack, sol.LcmOperationStateFailedTemp:
		return true
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailed, sol.LcmOperationStateRolledBack:
	}
	return false
}

// Running says whether a node has work to do for an operation in this state.
func Running(s sol.LcmOperationStateType) bool {
	return Active(s) && s != sol.LcmOperationStateFailedTemp
}

// Grant is what the NFVO (or the local grantor) allowed: where VNFCs go and which VIM assets they use.
type Grant struct {
	ID string `json:"id"`
	// Zones holds the granted zone by VDU; a VDU that is absent goes where the VIM likes.
	Zones map[string]string `json:"zones,omitempty"`
	// Images and Flavours hold VIM ids or names by VNFD node name; absent = as the VNFD says.
	Images   map[string]string `json:"images,omitempty"`
	Flavours map[string]string `json:"flavours,omitempty"`
	// AdditionalParams are merged into nfv after those of the request.
	AdditionalParams sol.KeyValuePairs `json:"additionalParams,omitempty"`
}
