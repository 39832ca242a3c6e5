package lcm

import (
	"context"
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Scale admits a SCALE operation (SOL003 clause 5.4.5).
func (s *Service) Scale(ctx context.Context, id string, _ sol.ScaleVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationScale, raw, mustBeInstantiated)
}

// ScaleToLevel admits a SCALE_TO_LEVEL operation (SOL003 clause 5.4.6).
func (s *Service) ScaleToLevel(ctx context.Context, id string, _ sol.ScaleVnfToLevelRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationScaleToLevel, raw, mustBeInstantiated)
}

// ChangeFlavour admits a CHANGE_FLAVOUR operation (SOL003 clause 5.4.7).
func (s *Service) ChangeFlavour(ctx context.Context, id string, _ sol.ChangeVnfFlavourRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationChangeFlavour, raw, mustBeInstantiated)
}

// Heal admits a HEAL operation (SOL003 clause 5.4.9).
func (s *Service) Heal(ctx context.Context, id string, _ sol.HealVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationHeal, raw, mustBeInstantiated)
}

// Operate admits an OPERATE operation (SOL003 clause 5.4.10).
func (s *Service) Operate(ctx context.Context, id string, _ sol.OperateVnfRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationOperate, raw, mustBeInstantiated)
}

// ChangeExtConn admits a CHANGE_EXT_CONN operation (SOL003 clause 5.4.11).
func (s *Service) ChangeExtConn(ctx context.Context, id string, _ sol.ChangeExtVnfConnectivityRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationChangeExtConn, raw, mustBeInstantiated)
}

// ChangePackage admits a CHANGE_VNFPKG operation (SOL003 clause 5.4.11a).
func (s *Service) ChangePackage(ctx context.Context, id string, _ sol.ChangeCurrentVnfPkgRequest, raw json.RawMessage) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationChangeVnfpkg, raw, mustBeInstantiated)
}

// Modify admits a MODIFY_INFO operation (SOL003 clause 5.4.3.3.4). raw is the JSON merge patch; ifVersion is the version that If-Match names.
func (s *Service) Modify(ctx context.Context, id string, _ sol.VnfInfoModificationRequest, raw json.RawMessage, _ *int64) (*Operation, error) {
	return s.admit(ctx, id, sol.LcmOperationModifyInfo, raw, mustBeInstantiated)
}

// Cancel asks for the end of an operation that is STARTING, PROCESSING or ROLLING_BACK (SOL003 clause 5.4.17).
func (s *Service) Cancel(ctx context.Context, opID string, mode sol.CancelModeType) (*Operation, error) {
	return s.Store.Steer(ctx, opID, func(op *Operation) ([]Message, error) {
		if _, err := Next(op, EventCancel); err != nil {
			return nil, err
		}
		op.Cancel = mode
		return nil, nil
	})
}

// Plan says what an operation would do. It refuses what the task itself would refuse, and changes nothing.
func (s *Service) Plan(_ context.Context, _ string, t sol.LcmOperationType, _ json.RawMessage) (*Preview, error) {
	return nil, Errorf(CodeUnprocessable, "there is no plan for %s", t)
}

// Leftovers compares the instance's inventory with its VIM.
func (s *Service) Leftovers(ctx context.Context, id string) (*Leftovers, error) {
	if _, err := s.Store.Instance(ctx, id); err != nil {
		return nil, err
	}
	return &Leftovers{}, nil
}

// RemoveLeftovers removes what Leftovers reports as extra; CodeConflict while an operation is active.
func (s *Service) RemoveLeftovers(ctx context.Context, id string) (removed, left []Leftover, err error) {
	_, err = s.Store.Instance(ctx, id)
	return nil, nil, err
}

func mustBeInstantiated(i *Instance) error {
	if i.State != sol.InstantiationStateInstantiated {
		return Errorf(CodeConflict, "VNF instance %s is NOT_INSTANTIATED", i.ID).WithHint("instantiate it first")
	}
	return nil
}
