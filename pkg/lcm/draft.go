package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// task is a request to do something with an instance, in the form that all kinds of requests have in common.
type task struct {
	kind sol.LcmOperationType
	raw  json.RawMessage // the body as sent
	// conns is the vimConnectionInfo of the request; vnfdID and pkgID name the package that the instance is to change to, "" for none.
	conns         map[string]sol.VimConnectionInfo
	vnfdID, pkgID string
	// decide looks at an instance and says what the operation will do to it: it fills the draft, or returns an error that says what forbids
	// it. It MUST be pure, as it is called again with the instance locked when that has changed.
	decide func(d *draft) error
}

// draft is an operation that is not admitted yet.
type draft struct {
	task
	material
	// instance is the instance as the admission will store it; maps and pointers in it are shared with the stored one and MUST be replaced,
	// not changed.
	instance *Instance
	scope    *Scope
	bad      []InvalidParam
	infras   Infras
}

// material is what decisions are made from, besides the instance: read beforehand, so that nothing has to be waited for while the
// instance is locked.
type material struct {
	present Origin  // of the instance
	next    *Origin // of the package to change to
	nextID  string  // its package id
	// completed is task.conns with what the VIM registry knows, or the default VIM.
	completed map[string]sol.VimConnectionInfo
}

// target is what the instance will be made from.
func (d *draft) target() Origin {
	if d.next != nil {
		return *d.next
	}
	return d.present
}

// refuse notes a wrong member of the request.
func (d *draft) refuse(pointer, format string, args ...any) {
	d.bad = append(d.bad, InvalidParam{pointer, fmt.Sprintf(format, args...)})
}

// submit checks a task and admits its operation.
func (s *Service) submit(ctx context.Context, id string, t task) (*Operation, error) {
	d, err := s.draft(ctx, id, t)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	op := &Operation{
		ID: uuid.NewString(), InstanceID: id, Type: t.kind, Version: 1,
		State: sol.LcmOperationStateStarting, StateEntered: now, Started: now, Updated: now,
		Params: t.raw, Deadline: now.Add(s.limit(t.kind)), Tries: 1,
	}
	if t.kind == sol.LcmOperationModifyInfo { // needs no grant
		op.State = sol.LcmOperationStateProcessing
	}
	m, err := stateMessage(op, s.Clock)
	if err != nil {
		return nil, err
	}
	err = s.Store.Admit(ctx, op, []Message{m}, func(locked *Instance) error {
		if locked.Version != d.instance.Version {
			if d, err = s.redraft(ctx, locked, d); err != nil {
				return err
			}
		}
		op.Scope, op.VnfPkgID = d.scope, d.nextID
		if t.kind != sol.LcmOperationInstantiate {
			before := *locked
			op.Before = &before
		}
		*locked = *d.instance
		return nil
	})
	if err != nil {
		return nil, err
	}
	op.Before = nil // it is the store's, and holds credentials
	return op, nil
}

// limit is how long an operation may take.
func (s *Service) limit(t sol.LcmOperationType) time.Duration {
	if s.Deadline == nil {
		return DefaultDeadline
	}
	return s.Deadline(t)
}

// draft reads the instance and everything else that the task needs, and decides.
func (s *Service) draft(ctx context.Context, id string, t task) (*draft, error) {
	i, err := s.Store.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &draft{task: t, infras: s.Infras}
	if d.material, err = s.gather(ctx, i, t); err == nil {
		err = s.decide(ctx, d, i)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeConflict {
		// What is in the way matters more than the state that it has brought about.
		if busy := s.busy(ctx, id); busy != nil {
			return nil, busy
		}
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// redraft decides anew on an instance that has changed since it was looked at.
func (s *Service) redraft(ctx context.Context, locked *Instance, old *draft) (*draft, error) {
	if locked.VnfPkgID != old.instance.VnfPkgID {
		return nil, Errorf(CodeConflict, "the package of VNF instance %s has been changed at this moment", locked.ID).WithHint("send the request again")
	}
	d := &draft{task: old.task, material: old.material, infras: s.Infras}
	return d, s.decide(ctx, d, locked)
}

// gather reads what decisions on a task need.
func (s *Service) gather(ctx context.Context, i *Instance, t task) (material, error) {
	var m material
	var err error
	if m.present, err = s.origin(ctx, i.VnfPkgID); err != nil {
		return m, err
	}
	if t.vnfdID != "" || t.pkgID != "" {
		if m.next, m.nextID, err = s.newOrigin(ctx, t); err != nil {
			return m, err
		}
	}
	if len(t.conns) > 0 || t.kind == sol.LcmOperationInstantiate {
		m.completed, err = s.connections(ctx, t.conns)
	}
	return m, err
}

func (s *Service) origin(ctx context.Context, pkgID string) (Origin, error) {
	model, err := s.Packages.ModelOf(ctx, pkgID)
	if err != nil {
		return Origin{}, err
	}
	files, err := s.Packages.Files(ctx, pkgID)
	return Origin{VNFD: model, Package: files}, err
}

// newOrigin finds the package that a task names; it has to be enabled.
func (s *Service) newOrigin(ctx context.Context, t task) (*Origin, string, error) {
	vnfdID, at := t.vnfdID, "/vnfdId"
	if vnfdID == "" {
		at = "/vnfPkgId"
		model, err := s.Packages.ModelOf(ctx, t.pkgID)
		if err != nil {
			return nil, "", pointAt(err, at)
		}
		vnfdID = model.ID
	}
	_, pkgID, err := s.Packages.Model(ctx, vnfdID)
	if err != nil {
		return nil, "", pointAt(err, at)
	}
	if t.pkgID != "" && t.pkgID != pkgID {
		return nil, "", Unprocessable(InvalidParam{"/vnfPkgId", fmt.Sprintf("is not the package of the vnfdId %q", vnfdID)})
	}
	o, err := s.origin(ctx, pkgID)
	return &o, pkgID, err
}

// decide fills a draft for an instance. Everything that is wrong with the request is reported at once.
func (s *Service) decide(ctx context.Context, d *draft, i *Instance) error {
	copied := *i
	d.instance = &copied
	if i.Instantiated != nil {
		d.present.Flavour = d.present.VNFD.Flavour(i.Instantiated.FlavourID)
	}
	if d.kind != sol.LcmOperationInstantiate && d.kind != sol.LcmOperationModifyInfo {
		if err := isInstantiated(i); err != nil {
			if d.kind == sol.LcmOperationTerminate {
				err = err.WithHint("there is nothing to terminate; what is not needed any more can be deleted")
				if i.HoldsResources {
					err = err.WithHint("a failed instantiation has left something in the VIM: look at its leftovers and remove them, or instantiate it again first")
				}
			}
			return err
		}
		if d.present.Flavour == nil {
			return Errorf(CodeConflict, "the VNFD %s has no flavour that VNF instance %s could have been made from", i.VnfdID, i.ID)
		}
	}
	if d.kind != sol.LcmOperationInstantiate && len(d.completed) > 0 {
		conns, err := mergeConnections(i.VimConnections, d.completed)
		if err != nil {
			return err
		}
		d.instance.VimConnections = conns
	}
	if err := d.task.decide(d); err != nil {
		return err
	}
	if undecided := d.target().Flavour == nil || d.scope == nil && d.kind != sol.LcmOperationInstantiate; len(d.bad) > 0 && undecided {
		return Unprocessable(d.bad...) // drivers could not make sense of it
	}
	more, err := s.askDrivers(ctx, d)
	if err != nil {
		return err
	}
	if bad := slices.Concat(d.bad, more); len(bad) > 0 {
		return Unprocessable(bad...)
	}
	return s.makeKey(d)
}

// isInstantiated returns CodeConflict for an instance that is not.
func isInstantiated(i *Instance) *Error {
	if i.State != sol.InstantiationStateInstantiated || i.Instantiated == nil {
		return Errorf(CodeConflict, "VNF instance %s is NOT_INSTANTIATED", i.ID).WithHint("instantiate it first")
	}
	return nil
}

// busy returns the conflict with the active operation of an instance, nil when there is none.
func (s *Service) busy(ctx context.Context, instanceID string) error {
	ops, err := s.Store.Operations(ctx, Query{InstanceID: instanceID, Limit: 1, Brief: true, States: []sol.LcmOperationStateType{
		sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack, sol.LcmOperationStateFailedTemp,
	}})
	if err != nil || len(ops) == 0 {
		return err
	}
	return InTheWay(ops[0].ID, ops[0].Type, ops[0].State)
}

// InTheWay is the conflict with an active operation.
func InTheWay(opID string, t sol.LcmOperationType, state sol.LcmOperationStateType) *Error {
	hint := "wait until it has ended, or cancel it"
	if state == sol.LcmOperationStateFailedTemp {
		hint = WaysOut(&Operation{Type: t, State: sol.LcmOperationStateProcessing}) + " first"
	}
	return &Error{
		Code: CodeConflict, Title: "Operation in the way", Hint: hint,
		Detail: fmt.Sprintf("operation %s (%s) of this VNF instance is %s", opID, t, state),
	}
}
