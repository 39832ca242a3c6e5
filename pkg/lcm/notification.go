package lcm

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// Notification types of SOL003 clause 5.5.2 that the outbox carries.
const (
	KindOperation = "VnfLcmOperationOccurrenceNotification"
	KindCreation  = "VnfIdentifierCreationNotification"
	KindDeletion  = "VnfIdentifierDeletionNotification"
)

// StateMessage makes the outbox message of an operation's new state (SOL003 clause 5.5.2.17).
func StateMessage(op *Operation, c Clock) (Message, error) {
	status := sol.NotificationStatusStart
	switch op.State {
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed,
		sol.LcmOperationStateRolledBack:
		status = sol.NotificationStatusResult
	case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
	}
	n := sol.VnfLcmOperationOccurrenceNotification{
		NotificationType:      KindOperation,
		TimeStamp:             c.Now(),
		NotificationStatus:    status,
		OperationState:        op.State,
		VnfInstanceID:         op.InstanceID,
		Operation:             op.Type,
		IsAutomaticInvocation: op.Automatic,
		VnfLcmOpOccID:         op.ID,
		Error:                 op.Error.Problem(op),
	}
	if status == sol.NotificationStatusResult {
		redactor := redact.New(op.SecretNames...)
		n.ChangedInfo, n.ChangedExtConnectivity = redactor.Changes(op.ChangedInfo), op.ChangedExtConnectivity
		n.ModificationsTriggeredByVnfPkgChange = redactor.PackageChanges(op.Modifications)
	}
	if status == sol.NotificationStatusResult && op.ResourceChanges != nil {
		n.AffectedVnfcs = op.ResourceChanges.AffectedVnfcs
		n.AffectedVirtualLinks = op.ResourceChanges.AffectedVirtualLinks
		n.AffectedExtLinkPorts = op.ResourceChanges.AffectedExtLinkPorts
		n.AffectedVirtualStorages = op.ResourceChanges.AffectedVirtualStorages
	}
	n.ID = uuid.NewString()
	return message(n.ID, KindOperation, op.InstanceID, op.ID, c, n)
}

// IdentifierMessage makes the outbox message of a created or deleted instance (SOL003 clauses 5.5.2.18 and 5.5.2.19).
func IdentifierMessage(kind, instanceID string, c Clock) (Message, error) {
	id := uuid.NewString()
	if kind == KindDeletion {
		return message(id, kind, instanceID, "", c, sol.VnfIdentifierDeletionNotification{
			ID: id, NotificationType: sol.NotificationType(kind), TimeStamp: c.Now(), VnfInstanceID: instanceID,
		})
	}
	return message(id, kind, instanceID, "", c, sol.VnfIdentifierCreationNotification{
		ID: id, NotificationType: sol.NotificationType(kind), TimeStamp: c.Now(), VnfInstanceID: instanceID,
	})
}

func message(id, kind, instanceID, opID string, c Clock, body any) (Message, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return Message{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	return Message{ID: id, Kind: kind, InstanceID: instanceID, OperationID: opID, Time: c.Now(), Body: raw}, nil
}

// Problem is the failure as VnfLcmOpOcc.error; nil for no failure.
func (f *Failure) Problem(op *Operation) *sol.ProblemDetails {
	if f == nil {
		return nil
	}
	p := &sol.ProblemDetails{
		Title: f.Title, Status: f.Status, Detail: f.Detail, Hint: op.Reason().Hint,
		VnfInstanceID: op.InstanceID, VnfLcmOpOccID: op.ID,
	}
	for _, ip := range f.Params {
		p.InvalidParams = append(p.InvalidParams, sol.InvalidParam{Pointer: ip.Pointer, Detail: ip.Detail})
	}
	return p
}
