package wire

import (
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// PlanRequest asks what an operation would do.
type PlanRequest struct {
	VnfInstanceID string               `json:"vnfInstanceId"`
	Operation     sol.LcmOperationType `json:"operation"`
	// Params is the body of the operation's request; absent means an empty one.
	Params json.RawMessage `json:"params,omitempty"`
}

// What the domain says about plans and leftovers goes over the wire as it is.
type (
	// Preview is what an operation would do.
	Preview = lcm.Preview
	// PlannedResource is one resource of a Preview.
	PlannedResource = lcm.PlannedResource
	// PlannedWork is a thing that a mgmt driver would do.
	PlannedWork = lcm.PlannedWork
	// Check is one thing that a Preview has looked up in the VIM.
	Check = lcm.Check
	// Leftovers are the differences between an instance's inventory and its VIM.
	Leftovers = lcm.Leftovers
	// Leftover is a resource that is on one side only.
	Leftover = lcm.Leftover
)

// RemovedLeftovers is the outcome of removing leftovers.
type RemovedLeftovers struct {
	Removed []Leftover `json:"removed"`
	// Left are still there; each says why.
	Left []Leftover `json:"left"`
}
