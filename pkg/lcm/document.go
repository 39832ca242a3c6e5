package lcm

import (
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Document is a resource as the store keeps it for clients: rendered, without secrets and without what depends on the
// request.
type Document struct {
	ID      string
	Version int64
	Updated time.Time
	// Brief is a JSON object with the attributes that lists contain by default. A list ends with a document that has
	// none, if it has read many rows for a query: the list goes on after its ID, and more may match.
	Brief []byte
	// Details is a JSON object with the others; nil when there are none or they were not asked for (Query.Brief).
	Details []byte
}

// InstanceDocument is the document of an instance, with what its links depend on.
type InstanceDocument struct {
	Document
	VnfPkgID string
	State    sol.InstantiationState
	// FlavourID is "" before the first instantiation.
	FlavourID string
	// Protected says that the instance is protected.
	Protected bool
	// Params is a JSON object with the additionalParams without secrets and with names in camel case, which only
	// version 1 of the interface shows; nil when there are none or the details were not asked for.
	Params []byte
}

// OperationDocument is the document of an operation, with what its links depend on.
type OperationDocument struct {
	Document
	InstanceID string
	// Events are those that a user can cause now, separated by spaces.
	Events string
	// GrantHref is the URI of the grant at the NFVO; "" without an NFVO.
	GrantHref string
	// SnapshotID is "" for an operation without a VNF snapshot.
	SnapshotID string
}

// Validator says which version of a resource is there.
type Validator struct {
	Version int64
	Updated time.Time
}
