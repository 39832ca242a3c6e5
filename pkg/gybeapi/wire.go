// Package gybeapi holds the JSON types of Gybe's own interfaces: /gybe/v1 and the VIM registry.
// The server writes them and the client reads them; those of the standard are in package sol.
package gybeapi

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Progress says how far an operation is.
type Progress struct {
	VnfLcmOpOccID    string                    `json:"vnfLcmOpOccId"`
	VnfInstanceID    string                    `json:"vnfInstanceId"`
	Operation        sol.LcmOperationType      `json:"operation"`
	OperationState   sol.LcmOperationStateType `json:"operationState"`
	StateEnteredTime time.Time                 `json:"stateEnteredTime,omitzero"`
	StartTime        time.Time                 `json:"startTime"`
	// Deadline is when the operation fails if it has not finished.
	Deadline time.Time `json:"deadline,omitzero"`
	// Phase is the one under way, Waiting what it waits for.
	Phase   string              `json:"phase,omitempty"`
	Waiting string              `json:"waiting,omitempty"`
	Node    string              `json:"node,omitempty"`
	Error   *sol.ProblemDetails `json:"error,omitempty"`
	// Actions are the requests of users about the operation, the oldest first.
	Actions []Action `json:"actions"`
	// Phases and Steps are in the order they began.
	Phases []Phase `json:"phases"`
	Steps  []Step  `json:"steps"`
	// Lines is the output of the steps after the cursor that was asked for; Next is the cursor to ask with next.
	Lines []Line `json:"lines"`
	Next  string `json:"next"`
}

// Phase is a stage of an operation.
type Phase struct {
	// Run numbers the passes over the phases, from 0; a rollback begins a new one.
	Run      int       `json:"run,omitempty"`
	Name     string    `json:"name"`
	State    string    `json:"state"` // RUNNING, WAITING, DONE or FAILED
	Attempts int       `json:"attempts"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Detail   string    `json:"detail,omitempty"`
	Error    *Failure  `json:"error,omitempty"`
}

// Step is a part of a phase that is done once, on one target.
type Step struct {
	ID       int64     `json:"id"`
	Run      int       `json:"run,omitempty"`
	Phase    string    `json:"phase"`
	Name     string    `json:"name"`
	Target   string    `json:"target,omitempty"`
	State    string    `json:"state"` // OPEN, UNFINISHED, DONE or FAILED
	Attempts int       `json:"attempts"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Detail   string    `json:"detail,omitempty"`
	Error    *Failure  `json:"error,omitempty"`
}

// Line is one line of a step's output.
type Line struct {
	StepID int64     `json:"stepId"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
}

// Kinds of events, with the type of their body where there is one here.
const (
	KindInstanceCreated = "instance.created"
	KindInstanceUpdated = "instance.updated"
	KindInstanceDeleted = "instance.deleted"
	KindOperationState  = "op.state" // OperationState
	KindPhase           = "op.phase" // Phase
	KindStep            = "op.step"  // Step
	KindLog             = "step.log" // Log
	KindPackage         = "package.state"
	KindPackageDeleted  = "package.deleted"
	KindVim             = "vim.updated"
	KindVimDeleted      = "vim.deleted"
	KindSubscription    = "subscription.state" // SubscriptionState
	KindNotification    = "notification"       // a notification of an interface as a CloudEvent, on request
)

// Event is something that changed, as the event feed tells it.
type Event struct {
	// Cursor is the event's place in the feed and its id in the stream; a follower that comes back goes on after it.
	Cursor        string          `json:"cursor"`
	Time          time.Time       `json:"time"`
	Kind          string          `json:"kind"`
	VnfInstanceID string          `json:"vnfInstanceId,omitempty"`
	VnfLcmOpOccID string          `json:"vnfLcmOpOccId,omitempty"`
	VnfPkgID      string          `json:"vnfPkgId,omitempty"`
	Body          json.RawMessage `json:"body"`
}

// OperationState is the body of KindOperationState.
type OperationState struct {
	Operation sol.LcmOperationType      `json:"operation"`
	State     sol.LcmOperationStateType `json:"state"`
	// Entered is the stateEnteredTime of the operation in this state.
	Entered time.Time `json:"entered"`
	Run     int       `json:"run,omitempty"`
	Error   *Failure  `json:"error,omitempty"`
}

// SubscriptionState is the body of KindSubscription: a subscriber has begun to fail, or has recovered.
type SubscriptionState struct {
	ID    string `json:"id"`
	State string `json:"state"` // FAILING or RECOVERED
	Error string `json:"error,omitempty"`
}

// Failure is why an operation, phase or step failed.
type Failure struct {
	Status int    `json:"status"`
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
	Phase  string `json:"phase,omitempty"`
}

// Log is the body of KindLog: some lines of one step.
type Log struct {
	Step   int64  `json:"step"`
	Phase  string `json:"phase"`
	Name   string `json:"name"`
	Target string `json:"target"`
	Lines  []struct {
		Time time.Time `json:"time"`
		Text string    `json:"text"`
	} `json:"lines"`
}

// Node is a gybe process that shares the database.
type Node struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Address string    `json:"address,omitempty"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	// Seen is when it last showed that it is alive.
	Seen time.Time `json:"seen"`
	// Ended is when it stopped or was found dead; zero while it lives.
	Ended time.Time `json:"ended,omitzero"`
	// Running is the number of operations it works on.
	Running int `json:"running"`
	// UnavailableVims is the number of VIMs, by login, that do not answer to it.
	UnavailableVims int `json:"unavailableVims"`
}

// Vim is a registered VIM. In answers, what is secret in AuthCred is ***.
type Vim struct {
	ID            string            `json:"id,omitempty"`
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	Type          string            `json:"type"` // openstack or kubernetes
	AuthURL       string            `json:"auth_url"`
	AuthCred      sol.KeyValuePairs `json:"auth_cred"`
	VimProject    sol.KeyValuePairs `json:"vim_project"`
	IsDefault     bool              `json:"is_default"`
	PlacementAttr sol.KeyValuePairs `json:"placement_attr,omitzero"`
	Extra         sol.KeyValuePairs `json:"extra,omitzero"`
	// Status is ACTIVE, or UNREACHABLE for a VIM that does not answer; StatusReason says why, and since when.
	Status       string `json:"status,omitempty"`
	StatusReason string `json:"status_reason,omitempty"`
	TenantID     string `json:"tenant_id,omitempty"` // the project that the VIM belongs to
	CreatedAt    string `json:"created_at,omitempty"`
	UpdatedAt    string `json:"updated_at,omitempty"`
}

// VimBody is a request or answer about one VIM.
type VimBody struct {
	Vim Vim `json:"vim"`
}

// VimChange is what a request changes in a registered VIM. Members that are absent stay. The objects are merge patches
// (RFC 7396); in them an empty text and *** stand for the present value.
type VimChange struct {
	Name          *string           `json:"name,omitempty"`
	Description   *string           `json:"description,omitempty"`
	Type          string            `json:"type,omitempty"` // if given, the present one
	AuthURL       string            `json:"auth_url,omitempty"`
	AuthCred      sol.KeyValuePairs `json:"auth_cred,omitempty"`
	VimProject    sol.KeyValuePairs `json:"vim_project,omitempty"`
	IsDefault     *bool             `json:"is_default,omitempty"`
	PlacementAttr sol.KeyValuePairs `json:"placement_attr,omitempty"`
	Extra         sol.KeyValuePairs `json:"extra,omitempty"`
	TenantID      string            `json:"tenant_id,omitempty"` // if given, the present one
}

// VimChangeBody is a request to change a VIM.
type VimChangeBody struct {
	Vim VimChange `json:"vim"`
}

// VimList is the answer to a list of VIMs.
type VimList struct {
	Vims []Vim `json:"vims"`
}
