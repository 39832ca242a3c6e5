package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Service is the VNF lifecycle as its users see it: it checks requests against the VNFD and the drivers,
// and admits operations. The Runner does the work.
type Service struct {
	Store    Store
	Packages Packages
	Infras   Infras
	Mgmt     MgmtDrivers
	Clock    Clock
	// Deadline returns how long an operation of a type may take; nil means DefaultDeadline.
	Deadline func(sol.LcmOperationType) time.Duration
}

// DefaultDeadline bounds an operation for which nothing is configured.
const DefaultDeadline = 2 * time.Hour

// CreateInstance makes a VNF instance resource in NOT_INSTANTIATED (SOL003 clause 5.4.2.3.1). It returns
// CodeUnprocessable when no enabled package has the vnfdId.
func (s *Service) CreateInstance(ctx context.Context, req sol.CreateVnfRequest) (*Instance, error) {
	model, pkgID, err := s.Packages.Model(ctx, req.VnfdID)
	if err != nil {
		return nil, pointAt(err, "/vnfdId")
	}
	now := s.Clock.Now()
	i := &Instance{
		ID: uuid.NewString(), Version: 1, Created: now, Updated: now,
		Name: req.VnfInstanceName, Description: req.VnfInstanceDescription, Metadata: req.Metadata,
		VnfdID: model.ID, VnfPkgID: pkgID, Provider: model.Provider, ProductName: model.ProductName,
		SoftwareVersion: model.SoftwareVersion, VnfdVersion: model.Version,
		State: sol.InstantiationStateNotInstantiated,
	}
	m, err := identifierMessage(KindCreation, i.ID, s.Clock)
	if err != nil {
		return nil, err
	}
	if err := s.Store.InsertInstance(ctx, i, []Message{m}); err != nil {
		return nil, err
	}
	return i, nil
}

// DeleteInstance deletes a VNF instance resource (SOL003 clause 5.4.3.3.5). CodeConflict when it is
// instantiated, has an active operation, or the VIM may still hold resources of it; ifVersion is the
// version that If-Match names.
func (s *Service) DeleteInstance(ctx context.Context, id string, ifVersion *int64) error {
	m, err := identifierMessage(KindDeletion, id, s.Clock)
	if err != nil {
		return err
	}
	return s.Store.DeleteInstance(ctx, id, ifVersion, []Message{m})
}

// Instantiate admits an INSTANTIATE operation (SOL003 clause 5.4.4). raw is the request body as sent.
// Everything that can be known to be wrong is refused here, before anything is created.
func (s *Service) Instantiate(ctx context.Context, id string, req sol.InstantiateVnfRequest, raw json.RawMessage) (*Operation, error) {
	i, err := s.Store.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := mayInstantiate(i); err != nil {
		return nil, err
	}
	conns, err := s.connections(ctx, req.VimConnectionInfo)
	if err != nil {
		return nil, err
	}
	if err := s.checkInstantiate(ctx, i, req, raw, conns); err != nil {
		return nil, err
	}
	return s.admit(ctx, id, sol.LcmOperationInstantiate, raw, func(i *Instance) error {
		if err := mayInstantiate(i); err != nil {
			return err
		}
		i.VimConnections = conns
		return nil
	})
}

func mayInstantiate(i *Instance) error {
	if i.State == sol.InstantiationStateInstantiated {
		return Errorf(CodeConflict, "VNF instance %s is already INSTANTIATED", i.ID).
			WithHint("terminate it first, or create another instance")
	}
	return nil
}

// Terminate admits a TERMINATE operation (SOL003 clause 5.4.8).
func (s *Service) Terminate(ctx context.Context, id string, _ sol.TerminateVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationTerminate, raw, func(i *Instance) error {
		if i.State != sol.InstantiationStateInstantiated {
			return Errorf(CodeConflict, "VNF instance %s is NOT_INSTANTIATED; there is nothing to terminate", i.ID)
		}
		return nil
	})
}

// admit stores an operation in STARTING with its job and notification, if check and the store agree.
func (s *Service) admit(ctx context.Context, instanceID string, t sol.LcmOperationType, raw json.RawMessage, check func(*Instance) error) (*Operation, error) {
	now := s.Clock.Now()
	limit := DefaultDeadline
	if s.Deadline != nil {
		limit = s.Deadline(t)
	}
	op := &Operation{
		ID: uuid.NewString(), InstanceID: instanceID, Type: t, Version: 1,
		State: sol.LcmOperationStateStarting, StateEntered: now, Started: now, Updated: now,
		Params: raw, Deadline: now.Add(limit), Tries: 1,
	}
	m, err := stateMessage(op, s.Clock)
	if err != nil {
		return nil, err
	}
	if err := s.Store.Admit(ctx, op, []Message{m}, check); err != nil {
		return nil, err
	}
	return op, nil
}

// Steer applies retry, rollback or fail to an operation in FAILED_TEMP (SOL003 clauses 5.4.14 to 5.4.16);
// CodeConflict in any other state. A retried or rolled back operation gets a new deadline.
func (s *Service) Steer(ctx context.Context, opID string, ev Event) (*Operation, error) {
	return s.Store.Steer(ctx, opID, func(op *Operation) ([]Message, error) {
		to, err := Next(op, ev)
		if err != nil {
			return nil, err
		}
		now := s.Clock.Now()
		if ev == EventRollback || ev == EventRetry && op.FailedIn == sol.LcmOperationStateRollingBack {
			op.Run++
			op.Phase = ""
		}
		op.State, op.StateEntered, op.Waiting = to, now, ""
		if Running(to) {
			limit := DefaultDeadline
			if s.Deadline != nil {
				limit = s.Deadline(op.Type)
			}
			op.Deadline = now.Add(limit)
		}
		m, err := stateMessage(op, s.Clock)
		if err != nil {
			return nil, err
		}
		return []Message{m}, nil
	})
}

// pointAt gives err a pointer to the member that caused it. A fault of ours, or of what we need, is no member's.
func pointAt(err error, pointer string) error {
	e := *AsError(err)
	ours := e.Code == CodeInternal || e.Code == CodeUnavailable || e.Code == CodeTimeout
	if len(e.Params) == 0 && !ours {
		e.Params = []InvalidParam{{Pointer: pointer, Detail: e.Detail}}
	}
	return &e
}

// decodeParams decodes the additionalParams of any request body.
func decodeParams(raw json.RawMessage) (sol.KeyValuePairs, error) {
	var body struct {
		AdditionalParams sol.KeyValuePairs `json:"additionalParams"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, fmt.Errorf("decode additionalParams: %w", err)
	}
	return body.AdditionalParams, nil
}

// AdditionalParams returns the additionalParams of the operation's request.
func (o *Operation) AdditionalParams() (sol.KeyValuePairs, error) { return decodeParams(o.Params) }
