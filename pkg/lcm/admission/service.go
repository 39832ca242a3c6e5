package admission

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Services gives each principal its Service. Handlers hold Services, so code that forgets the principal does not
// compile.
type Services struct {
	Stores   lcm.Stores
	Packages lcm.Packages
	Infras   lcm.Infras
	Mgmt     lcm.MgmtDrivers
	Clock    lcm.Clock
	// Deadline returns how long an operation of a type may take; nil means DefaultDeadline.
	Deadline func(sol.LcmOperationType) time.Duration
	// Limits bound attributes of instances to which requests add.
	Limits lcm.Limits
	// NFVO is the address of the NFVO that grants operations; "" for none.
	NFVO string
	// Source brings packages that are not onboarded; nil for none.
	Source lcm.PackageSource
}

// In returns the Service for the project of a principal.
func (s *Services) In(p lcm.Principal) *Service {
	return &Service{Services: s, Store: s.Stores.In(p), principal: p}
}

// Service is the VNF lifecycle as its users see it: it checks requests against the VNFD and the drivers,
// and admits operations. Package execution works on them.
type Service struct {
	*Services
	Store     lcm.Records
	principal lcm.Principal
	// ifVersion is the version that an operation has to have when it is steered or cancelled; nil is any.
	ifVersion *int64
}

// If returns a Service that steers and cancels only operations that have a version; nil is any.
func (s *Service) If(version *int64) *Service {
	c := *s
	c.ifVersion = version
	return &c
}

// requireVersion returns CodePrecondition for an operation that does not have the version of If.
func (s *Service) requireVersion(op *lcm.Operation) error {
	if s.ifVersion != nil && *s.ifVersion != op.Version {
		return lcm.Changed("operation", op.ID)
	}
	return nil
}

// model returns the VNFD and the package of a vnfdId. One that is not onboarded is brought from the source.
func (s *Service) model(ctx context.Context, vnfdID string) (*vnfd.VNFD, string, error) {
	model, pkgID, err := s.Packages.Model(ctx, s.principal, vnfdID)
	if s.Source == nil || err == nil || lcm.AsError(err).Code != lcm.CodeUnprocessable {
		return model, pkgID, err
	}
	switch missing := s.Source.Bring(ctx, s.principal, vnfdID); {
	case missing == nil:
		return s.Packages.Model(ctx, s.principal, vnfdID)
	case lcm.AsError(missing).Code == lcm.CodeNotFound:
		e := *lcm.AsError(err)
		e.Detail += "; " + lcm.AsError(missing).Detail
		return nil, "", &e
	default:
		return nil, "", missing
	}
}

// DefaultDeadline bounds an operation for which nothing is configured.
const DefaultDeadline = 2 * time.Hour

// CreateInstance makes a VNF instance resource in NOT_INSTANTIATED (SOL003 clause 5.4.2.3.1). It returns
// CodeUnprocessable when no enabled package has the vnfdId, or the metadata gives VNFCs ids that cannot be.
func (s *Service) CreateInstance(ctx context.Context, req sol.CreateVnfRequest) (*lcm.Instance, error) {
	model, pkgID, err := s.model(ctx, req.VnfdID)
	if err != nil {
		return nil, lcm.PointAt(err, "/vnfdId")
	}
	metadata, err := req.Metadata.Raw()
	if err != nil {
		return nil, err
	}
	if err := lcm.Unprocessable(lcm.CheckMetadata(metadata)...); err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	i := &lcm.Instance{
		ID: uuid.NewString(), Version: 1, Created: now, Updated: now,
		Name: req.VnfInstanceName, Description: req.VnfInstanceDescription, Metadata: metadata,
		VnfdID: model.ID, VnfPkgID: pkgID, Provider: model.Provider, ProductName: model.ProductName,
		SoftwareVersion: model.SoftwareVersion, VnfdVersion: model.Version,
		State: sol.InstantiationStateNotInstantiated, SecretNames: model.Secrets,
	}
	m, err := lcm.IdentifierMessage(lcm.KindCreation, i.ID, s.Clock)
	if err != nil {
		return nil, err
	}
	if err := s.Store.InsertInstance(ctx, i, []lcm.Message{m}); err != nil {
		return nil, err
	}
	return i, nil
}

// DeleteInstance deletes a VNF instance resource (SOL003 clause 5.4.3.3.5). CodeConflict when it is
// protected, instantiated, has an active operation, or the VIM may still hold resources of it; ifVersion is the
// version that If-Match names.
func (s *Service) DeleteInstance(ctx context.Context, id string, ifVersion *int64) error {
	m, err := lcm.IdentifierMessage(lcm.KindDeletion, id, s.Clock)
	if err != nil {
		return err
	}
	return s.Store.DeleteInstance(ctx, id, ifVersion, []lcm.Message{m})
}
