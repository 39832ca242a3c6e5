package lcm

import (
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Protection forbids requests that delete machines of a VNF instance, until a user removes it.
type Protection struct {
	// Reason is the text of the user who protected the instance; may be empty.
	Reason string `json:"reason,omitempty"`
	// By is the subject of the principal; empty without authentication.
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since"`
}

// RefuseDeletion returns the CodeConflict error of a request that would delete machines of a protected instance: deed
// says how. It returns nil for an instance that is not protected.
func (p *Protection) RefuseDeletion(instanceID, deed string) error {
	if p == nil {
		return nil
	}
	text := "VNF instance " + instanceID + " has been protected since " + p.Since.UTC().Format(time.RFC3339)
	if p.By != "" {
		text += " by " + p.By
	}
	if p.Reason != "" {
		text += fmt.Sprintf(" (%s)", p.Reason)
	}
	return &Error{
		Code: CodeConflict, Title: "VNF instance is protected", Detail: text + ": " + deed,
		Hint: "remove the protection first: gybe vnf unprotect " + instanceID +
			", or DELETE /gybe/v1/vnf_instances/" + instanceID + "/protection",
	}
}

// RequireUnprotected returns CodeConflict if the decided operation would delete machines of a protected instance.
func (a *Admission) RequireUnprotected() error {
	i, deed := a.Instance, a.Task.Kind.deletion(a.Scope)
	if a.Task.Kind.Instantiates() && i.HoldsResources {
		deed = "an INSTANTIATE operation first deletes what an earlier one has left in the VIM"
	}
	if deed == "" {
		return nil
	}
	return i.Protection.RefuseDeletion(i.ID, deed)
}

// deletion says which machines an operation deletes that exist before it; "" when there are none.
func (k *OperationKind) deletion(s *Scope) string {
	switch {
	case k.Deletes == DeletesAll:
		return fmt.Sprintf("a %s operation deletes all its machines", k.Type)
	case s == nil:
		return ""
	case k.Deletes == DeletesVNFCs && s.Whole:
		return fmt.Sprintf("this %s operation deletes and recreates all its machines", k.Type)
	case k.Deletes == DeletesVNFCs:
		return fmt.Sprintf("a %s operation deletes and recreates the machines of %s", k.Type, vnfcs(s.VNFCs))
	case len(s.Remove) > 0:
		return fmt.Sprintf("this %s operation deletes the machines of %s", k.Type, vnfcs(s.Remove))
	case len(s.Replace) > 0:
		return fmt.Sprintf("this %s operation replaces the machines of %s", k.Type, vnfcs(s.Replace))
	}
	return ""
}

// RefuseSteering returns CodeConflict if an event would delete machines of a protected instance that existed before the
// operation. A rollback that only deletes the machines that the operation has created is permitted.
func RefuseSteering(op *Operation, e Event, p *Protection) error {
	switch e { //nolint:exhaustive // the others delete nothing
	case EventRetry:
		if op.FailedIn == sol.LcmOperationStateRollingBack {
			return RefuseSteering(op, EventRollback, p)
		}
		if deed := op.Kind().deletion(op.Scope); deed != "" {
			return p.RefuseDeletion(op.InstanceID, "the retry continues, and "+deed)
		}
	case EventRollback:
		if op.Scope != nil && len(op.Scope.Replace) > 0 {
			return p.RefuseDeletion(op.InstanceID, fmt.Sprintf(
				"the rollback of this %s operation replaces the machines of %s", op.Type, vnfcs(op.Scope.Replace),
			))
		}
	}
	return nil
}

// vnfcs names VNFCs in a message.
func vnfcs(ids []string) string {
	const most = 5
	if len(ids) == 1 {
		return "VNFC " + ids[0]
	}
	if len(ids) > most {
		return fmt.Sprintf("%d VNFCs", len(ids))
	}
	return "the VNFCs " + strings.Join(ids, ", ")
}
