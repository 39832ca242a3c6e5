package lcm

import (
	"context"
	"encoding/json"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Plan says what an operation with this request would do, and whether the VIM can do it. It refuses what the task itself would refuse, in
// the same words, and changes nothing. raw is the body that the task would get.
func (s *Service) Plan(ctx context.Context, id string, t sol.LcmOperationType, raw json.RawMessage) (*Preview, error) {
	work, err := taskOf(t, raw)
	if err != nil {
		return nil, err
	}
	d, err := s.draft(ctx, id, work)
	if err != nil {
		return nil, err
	}
	if err := s.busy(ctx, id); err != nil {
		return nil, err
	}
	r, err := d.request()
	if err != nil {
		return nil, err
	}
	if t == sol.LcmOperationModifyInfo { // concerns nothing in the VIM
		return &Preview{
			Operation: t, Possible: true,
			Add: []PlannedResource{}, Remove: []PlannedResource{}, Replace: []PlannedResource{}, Change: []PlannedResource{},
			Work: []PlannedWork{}, Checks: []Check{},
		}, nil
	}
	infra, err := s.infra(r.Instance)
	if err != nil {
		return nil, err
	}
	p, err := infra.Preview(ctx, r)
	if err == nil {
		p.Work = s.foretold(r)
	}
	return p, err
}

// foretold is what the mgmt drivers say that they would do.
func (s *Service) foretold(r Request) []PlannedWork {
	var out []PlannedWork
	for _, hook := range []string{hooks[r.Type] + "_start", hooks[r.Type] + "_end"} {
		impl, ok := implementation(s.Mgmt, r.Flavour, hook)
		if !ok {
			continue
		}
		if driver, err := s.Mgmt.Driver(impl); err == nil { // or it was refused before
			if f, ok := driver.(Foreteller); ok {
				for _, detail := range f.Foretell(hook, r) {
					out = append(out, PlannedWork{hook, impl.Name, detail})
				}
			}
		}
	}
	return out
}

// taskOf makes the task of a request body.
func taskOf(t sol.LcmOperationType, raw json.RawMessage) (task, error) {
	switch t {
	case sol.LcmOperationInstantiate:
		return decoded(raw, func(r sol.InstantiateVnfRequest) task { return instantiateTask(r, raw) })
	case sol.LcmOperationTerminate:
		return decoded(raw, func(sol.TerminateVnfRequest) task { return terminateTask(raw) })
	case sol.LcmOperationScale:
		return decoded(raw, func(r sol.ScaleVnfRequest) task { return scaleTask(r, raw) })
	case sol.LcmOperationScaleToLevel:
		return decoded(raw, func(r sol.ScaleVnfToLevelRequest) task { return levelTask(r, raw) })
	case sol.LcmOperationChangeFlavour:
		return decoded(raw, func(r sol.ChangeVnfFlavourRequest) task { return flavourTask(r, raw) })
	case sol.LcmOperationHeal:
		return decoded(raw, func(r sol.HealVnfRequest) task { return healTask(r, raw) })
	case sol.LcmOperationOperate:
		return decoded(raw, func(r sol.OperateVnfRequest) task { return operateTask(r, raw) })
	case sol.LcmOperationChangeExtConn:
		return decoded(raw, func(r sol.ChangeExtVnfConnectivityRequest) task { return connectivityTask(r, raw) })
	case sol.LcmOperationChangeVnfpkg:
		return decoded(raw, func(r sol.ChangeCurrentVnfPkgRequest) task { return packageTask(r, raw) })
	case sol.LcmOperationModifyInfo:
		return decoded(raw, func(r sol.VnfInfoModificationRequest) task { return modifyTask(r, raw, nil) })
	case sol.LcmOperationCreateSnapshot, sol.LcmOperationRevertToSnapshot:
	}
	return task{}, Unprocessable(InvalidParam{"/operation", "there is no operation " + string(t)})
}

func decoded[T any](raw json.RawMessage, of func(T) task) (task, error) {
	var req T
	if err := json.Unmarshal(raw, &req); err != nil {
		return task{}, Errorf(CodeInvalid, "the request of the operation is malformed: %w", err)
	}
	return of(req), nil
}
