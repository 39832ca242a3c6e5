package lcm

import (
	"fmt"
	"time"
)

// LeaseTime is how long a lease lasts after it was taken or renewed. A request that a dead node has left locks its
// instance for this long.
const LeaseTime = 15 * time.Second

// Lease is the right of one request to work on an instance without an operation. While it lasts, no operation is
// admitted and the instance is not deleted. It ends with EndLease, or LeaseTime after its last renewal.
type Lease struct {
	// Token is the secret of the holder: the lease of another request has another token.
	Token string
	// Instance is the instance as it was when the lease was taken.
	Instance *Instance
}

// LeaseConflict returns the CodeConflict error of a request that the lease of another request forbids.
func LeaseConflict(instanceID, purpose string, expires time.Time) *Error {
	return &Error{
		Code: CodeConflict, Title: "Another request is active",
		Detail: fmt.Sprintf("another request works on VNF instance %s: %s", instanceID, purpose),
		Hint: "wait until it has ended, and send the request again; if its node has died, this is possible at " +
			expires.UTC().Format(time.TimeOnly+" MST"),
	}
}

// LeaseLost returns the CodeConflict error of a request whose lease has expired.
func LeaseLost(instanceID string) *Error {
	return &Error{
		Code: CodeConflict, Title: "Request took too long",
		Detail: fmt.Sprintf("the time for this request to work on VNF instance %s has expired", instanceID),
		Hint:   "send the request again",
	}
}
