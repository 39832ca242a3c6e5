package admission

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Submit checks a task and admits its operation.
func (s *Service) Submit(ctx context.Context, id string, t lcm.Task) (*lcm.Operation, error) {
	c, err := s.check(ctx, id, t)
	if err != nil {
		return nil, err
	}
	op := s.newOperation(id, t)
	op.AddAction(s.principal, lcm.ActionStart, op.Started, "")
	m, err := lcm.StateMessage(op, s.Clock)
	if err != nil {
		return nil, err
	}
	err = s.Store.Admit(ctx, op, []lcm.Message{m}, func(locked *lcm.Instance) error {
		a, err := s.recheck(ctx, locked, c)
		if err != nil {
			return err
		}
		apply(a, op, locked)
		return nil
	})
	if err != nil {
		return nil, err
	}
	op.Before = nil // it is the store's, and holds credentials
	return op, nil
}

// newOperation makes the operation occurrence of a task.
func (s *Service) newOperation(instanceID string, t lcm.Task) *lcm.Operation {
	now := s.Clock.Now()
	op := &lcm.Operation{
		ID: uuid.NewString(), InstanceID: instanceID, Type: t.Kind.Type, Version: 1,
		State: sol.LcmOperationStateProcessing, StateEntered: now, Started: now, Updated: now,
		Params: t.Raw, Deadline: now.Add(s.limit(t.Kind.Type)), Try: 1,
	}
	if t.Kind.NeedsGrant {
		op.State = sol.LcmOperationStateStarting
	}
	return op
}

// apply writes an admission into the operation and the locked instance.
func apply(a *lcm.Admission, op *lcm.Operation, locked *lcm.Instance) {
	op.Scope, op.VnfPkgID = a.Scope, a.NextPkgID
	if !a.Task.Kind.Instantiates() {
		before := *locked
		op.Before = &before
	}
	*locked = *a.Instance
	op.SecretNames = locked.SecretNames
	if _, vim, ok := lcm.PrimaryVim(locked.VimConnections); ok {
		op.VimKey = lcm.VimKey(vim)
	}
}

// limit is how long an operation may take.
func (s *Service) limit(t sol.LcmOperationType) time.Duration {
	if s.Deadline == nil {
		return DefaultDeadline
	}
	return s.Deadline(t)
}

// checked is a task that was checked against an instance: what the decision was made from, and the decision.
type checked struct {
	inputs   lcm.Admission
	decision *lcm.Admission
}

// check reads the instance and everything else that the task needs, and decides.
func (s *Service) check(ctx context.Context, id string, t lcm.Task) (checked, error) {
	i, err := s.Store.Instance(ctx, id)
	if err != nil {
		return checked{}, err
	}
	if t.IfVersion != nil && *t.IfVersion != i.Version {
		return checked{}, lcm.Changed("VNF instance", id)
	}
	if i, err = s.reobserve(ctx, i, t); err != nil {
		return checked{}, err
	}
	if t.IfVersion != nil {
		t.IfVersion = &i.Version // the inventory may have been repeated
	}
	c, err := s.decideOn(ctx, i, t)
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Code == lcm.CodeConflict {
		// The active operation matters more than the state that it has caused.
		if busy := s.busy(ctx, id); busy != nil {
			return checked{}, busy
		}
	}
	return c, err
}

func (s *Service) decideOn(ctx context.Context, i *lcm.Instance, t lcm.Task) (checked, error) {
	inputs, err := s.gather(ctx, i, t)
	if err != nil {
		return checked{}, err
	}
	a, err := s.decide(ctx, inputs, i)
	return checked{inputs, a}, err
}

// recheck decides again if the instance has changed since it was read.
func (s *Service) recheck(ctx context.Context, locked *lcm.Instance, c checked) (*lcm.Admission, error) {
	if locked.Version == c.decision.Instance.Version {
		return c.decision, nil
	}
	if c.inputs.Task.IfVersion != nil {
		return nil, lcm.Changed("VNF instance", locked.ID)
	}
	if locked.VnfPkgID != c.decision.Instance.VnfPkgID {
		return nil, lcm.Errorf(lcm.CodeConflict, "the package of VNF instance %s has just been changed",
			locked.ID).WithHint("send the request again")
	}
	return s.decide(ctx, c.inputs, locked)
}

// decide fills an admission for an instance. Everything that is wrong with the request is reported together.
func (s *Service) decide(ctx context.Context, inputs lcm.Admission, i *lcm.Instance) (*lcm.Admission, error) {
	a := inputs
	copied := *i
	a.Instance = &copied
	if inputs.Next != nil {
		next := *inputs.Next
		a.Next = &next
	}
	if i.Instantiated != nil {
		a.Present.Flavour = a.Present.VNFD.Flavour(i.Instantiated.FlavourID)
	}
	if err := requireInstantiated(&a); err != nil {
		return nil, err
	}
	if !a.Task.Kind.Instantiates() && len(a.Connections) > 0 {
		conns, err := mergeConnections(i.VimConnections, a.Connections)
		if err != nil {
			return nil, err
		}
		a.Instance.VimConnections = conns
	}
	a.NameSecrets()
	if err := a.Task.Decide(&a); err != nil {
		return nil, err
	}
	large, err := a.CheckSizes(i, s.Limits)
	if err != nil {
		return nil, err
	}
	a.Bad = append(a.Bad, large...)
	if !a.Task.Kind.Unchecked {
		a.Bad = append(a.Bad, a.CheckVims()...)
	}
	if len(a.Bad) > 0 && undecided(&a) {
		return nil, rejected(a.Bad, s.missing(&a)) // drivers that exist could not make sense of it
	}
	bad, missing, err := s.askDrivers(ctx, &a)
	if err != nil {
		return nil, err
	}
	if err := rejected(slices.Concat(a.Bad, bad), missing); err != nil {
		return nil, err
	}
	return &a, s.complete(&a)
}

// complete adds what only drivers know to an admission that is valid, and rejects it if the instance is protected.
func (s *Service) complete(a *lcm.Admission) error {
	if err := s.findReplacements(a); err != nil {
		return err
	}
	if err := a.RequireUnprotected(); err != nil {
		return err
	}
	return s.makeKey(a)
}

// undecided says whether a rejected request leaves open what would be done.
func undecided(a *lcm.Admission) bool {
	return a.Target().Flavour == nil || a.Scope == nil && !a.Task.Kind.Instantiates()
}

// requireInstantiated returns CodeConflict for an operation that needs an instantiated VNF and finds none.
func requireInstantiated(a *lcm.Admission) error {
	i, kind := a.Instance, a.Task.Kind
	if kind.Requires != sol.InstantiationStateInstantiated {
		return nil
	}
	if i.State != sol.InstantiationStateInstantiated || i.Instantiated == nil {
		hint := "instantiate it first"
		if kind.NotInstantiated != nil {
			hint = kind.NotInstantiated(i)
		}
		return lcm.Errorf(lcm.CodeConflict, "VNF instance %s is NOT_INSTANTIATED", i.ID).WithHint(hint)
	}
	if a.Present.Flavour == nil {
		return lcm.Errorf(lcm.CodeConflict, "the VNFD %s has no flavour that VNF instance %s could have been made from",
			i.VnfdID, i.ID)
	}
	return nil
}

// busy returns the conflict with the active operation of an instance, nil when there is none.
func (s *Service) busy(ctx context.Context, instanceID string) error {
	ops, err := s.Store.Operations(
		ctx, lcm.Query{InstanceID: instanceID, Limit: 1, Brief: true, States: lcm.ActiveStates},
	)
	if err != nil || len(ops) == 0 {
		return err
	}
	return lcm.ActiveConflict(ops[0].ID, ops[0].Type, ops[0].State)
}
