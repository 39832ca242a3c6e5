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
// CodeUnprocessable when no enabled package has the vnfdId, or the metadata gives VNFCs ids that cannot be.
func (s *Service) CreateInstance(ctx context.Context, req sol.CreateVnfRequest) (*Instance, error) {
	model, pkgID, err := s.Packages.Model(ctx, req.VnfdID)
	if err != nil {
		return nil, pointAt(err, "/vnfdId")
	}
	if err := Unprocessable(badMapping(req.Metadata)...); err != nil {
		return nil, err
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
