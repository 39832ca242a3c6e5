package gybeapi

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// PlanRequest asks what an operation would do.
type PlanRequest struct {
	VnfInstanceID string               `json:"vnfInstanceId"`
	Operation     sol.LcmOperationType `json:"operation"`
	// Params is the body of the operation's request; absent means an empty one.
	Params json.RawMessage `json:"params,omitempty"`
}

// Preview is what an operation would do.
type Preview struct {
	Operation sol.LcmOperationType `json:"operation"`
	// Add, Remove, Replace and Change list resources by what would happen to them.
	Add     []PlannedResource `json:"add"`
	Remove  []PlannedResource `json:"remove"`
	Replace []PlannedResource `json:"replace"`
	Change  []PlannedResource `json:"change"`
	// Work is what the mgmt drivers would do, in the order of their hooks.
	Work []PlannedWork `json:"work"`
	// Checks are what was asked of the VIM, the failed ones first.
	Checks []Check `json:"checks"`
	// Possible is false when a check failed.
	Possible bool `json:"possible"`
}

// PlannedResource is one resource of a Preview.
type PlannedResource struct {
	Type string `json:"type"`            // the VIM's name for the kind of resource
	Name string `json:"name"`            // name in the template, with the VNFC's index
	VDU  string `json:"vduId,omitempty"` // of a VNFC and what belongs to it
	VNFC string `json:"vnfcInstanceId,omitempty"`
	ID   string `json:"resourceId,omitempty"` // in the VIM, of one that exists
	// Detail says in words what changes, or why.
	Detail string `json:"detail,omitempty"`
	// Kind is COMPUTE, CONTAINER, STORAGE, PORT, ADDRESS, NETWORK, IMAGE or OTHER.
	Kind string `json:"kind,omitempty"`
	// LosesData says that data on the resource are lost.
	LosesData bool `json:"losesData,omitempty"`
}

// Values of PlannedResource.Kind.
const (
	ResourceCompute   = "COMPUTE"
	ResourceContainer = "CONTAINER"
)

// PlannedWork is a thing that a mgmt driver would do.
type PlannedWork struct {
	Hook   string `json:"hook"`   // e.g. "scale_end"
	Driver string `json:"driver"` // the name that the VNFD has for it
	Detail string `json:"detail"` // in words
}

// The values of Check.State.
const (
	CheckOK      = "OK"
	CheckWarning = "WARNING" // the VIM does not tell, or it may still fail
	CheckFailed  = "FAILED"
)

// Check is one thing that a Preview has looked up in the VIM.
type Check struct {
	State   string `json:"state"`
	Subject string `json:"subject"` // "flavour m1.small", "quota of cores"
	Detail  string `json:"detail"`
	Hint    string `json:"hint,omitempty"`
}

// Leftovers are the differences between an instance's inventory and its VIM.
type Leftovers struct {
	// Extra carry the instance's name or tag in the VIM and are not in the inventory.
	Extra []Leftover `json:"extra"`
	// Missing are in the inventory and not in the VIM.
	Missing []Leftover `json:"missing"`
}

// Leftover is a resource that is on one side only.
type Leftover struct {
	Type   string `json:"type"` // the VIM's name for the kind of resource
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Status string `json:"status,omitempty"` // the VIM's word
	// Why says how it was recognised, or why it could not be removed.
	Why string `json:"why,omitempty"`
}

// ProtectionRequest asks for the protection of an instance.
type ProtectionRequest struct {
	Reason string `json:"reason,omitempty"`
}

// Protection says whether requests that delete machines of an instance are rejected.
type Protection struct {
	Protected bool   `json:"protected"`
	Reason    string `json:"reason,omitempty"`
	// By is who protected the instance, as far as that is known, and Since when.
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// RemovedLeftovers is the outcome of removing leftovers.
type RemovedLeftovers struct {
	Removed []Leftover `json:"removed"`
	// Left are still there; each says why.
	Left []Leftover `json:"left"`
}
