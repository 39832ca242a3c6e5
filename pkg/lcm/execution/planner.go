package execution

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// plan is what an operation consists of. It is computed at every claim and MUST be the same each time for the same
// operation, because progress is kept by phase name.
type plan struct {
	lcm.Phases
	starting []lcm.Phase // their failure leaves nothing behind (ROLLED_BACK)
	// observe reads what is there after a failure, and halt ends what goes on for a cancelled operation; nil where the
	// VIM is not concerned.
	observe, halt func(ctx context.Context, w *lcm.Execution) error
}

// of lists the phases of an operation's state.
func (p *plan) of(s sol.LcmOperationStateType) []lcm.Phase {
	switch s {
	case sol.LcmOperationStateStarting:
		return p.starting
	case sol.LcmOperationStateProcessing:
		return p.Processing
	case sol.LcmOperationStateRollingBack:
		return p.Rollback
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed,
		sol.LcmOperationStateRolledBack:
	}
	return nil
}

// Planner makes the plan of every operation from its kind and the drivers.
type Planner struct {
	Infras  lcm.Infras
	Mgmt    lcm.MgmtDrivers
	Grantor lcm.Grantor
}

// plan returns the phases of w's operation. Hooks that the VNFD does not implement are left out.
func (p *Planner) plan(w *lcm.Execution) (*plan, error) {
	kind, err := lcm.OperationKindOf(w.Op.Type)
	if err != nil {
		return nil, err
	}
	out := &plan{}
	var infra lcm.Infra
	if kind.NeedsGrant {
		out.starting = []lcm.Phase{{Name: "grant", Run: p.grant, ReadOnly: true}}
	}
	if kind.VIM {
		if _, _, ok := lcm.PrimaryVim(w.Instance.VimConnections); !ok && kind.NeedsGrant && w.Op.Grant == nil &&
			w.Op.State == sol.LcmOperationStateStarting {
			return out, nil // the grant brings the connection, and the plan is made again then
		}
		if infra, err = p.infra(w.Instance); err != nil {
			return nil, err
		}
		out.observe = func(ctx context.Context, w *lcm.Execution) error { return lcm.TakeInventory(ctx, infra, w) }
		out.halt = func(ctx context.Context, w *lcm.Execution) error { return infra.Halt(ctx, w, w.Op.Cancel) }
	}
	out.Phases = kind.Phases(infra)
	start, end := kind.Hooks()
	out.Processing = p.addHooks(w, start, out.Processing, end)
	if len(out.Rollback) > 0 {
		start, end = kind.RollbackHooks()
		out.Rollback = p.addHooks(w, start, out.Rollback, end)
	}
	return out, nil
}

// infra finds the driver of the instance's VIM.
func (p *Planner) infra(i *lcm.Instance) (lcm.Infra, error) {
	_, vim, ok := lcm.PrimaryVim(i.VimConnections)
	if !ok {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VIM connection")
	}
	d, ok := p.Infras.Infra(vim.VimType)
	if !ok {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "%s", lcm.UnsupportedVim(vim.VimType))
	}
	return d, nil
}

// addHooks puts mgmt hooks around phases, where the VNFD or its driver asks for them.
func (p *Planner) addHooks(w *lcm.Execution, start lcm.Hook, phases []lcm.Phase, end lcm.Hook) []lcm.Phase {
	var out []lcm.Phase
	if ph, ok := p.hook(w, start); ok {
		out = append(out, ph)
	}
	out = append(out, phases...)
	if ph, ok := p.hook(w, end); ok {
		out = append(out, ph)
	}
	return out
}

func (p *Planner) hook(w *lcm.Execution, hook lcm.Hook) (lcm.Phase, bool) {
	if w.Flavour == nil {
		return lcm.Phase{}, false
	}
	impl, ok := lcm.FindHook(p.Mgmt, w.Flavour, hook)
	if !ok {
		return lcm.Phase{}, false
	}
	return lcm.Phase{Name: string(hook), Run: func(ctx context.Context, w *lcm.Execution) error {
		_, handler, err := lcm.FindHandler(p.Mgmt, impl, hook)
		if err != nil || handler.Run == nil {
			return err
		}
		return handler.Run(ctx, w)
	}}, true
}

func (p *Planner) grant(ctx context.Context, w *lcm.Execution) error {
	g, err := p.Grantor.Grant(ctx, w)
	if err != nil {
		return err
	}
	w.Op.Grant = g
	if w.Op.GrantHref == "" || !w.Op.Kind().VIM {
		return nil
	}
	infra, err := p.infra(w.Instance)
	if err != nil {
		return err
	}
	return infra.Granted(ctx, w)
}
