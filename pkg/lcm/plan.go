package lcm

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Plan is what an operation consists of. It is computed anew at every claim and MUST be the same each
// time for the same operation, because progress is kept by phase name.
type Plan struct {
	Starting   []Phase // run in STARTING; their failure leaves nothing behind (ROLLED_BACK)
	Processing []Phase // run in PROCESSING; their failure is FAILED_TEMP
	Rollback   []Phase // run in ROLLING_BACK
	// Completed and RolledBack set the instance's state when the operation ends that way; may be nil.
	Completed  func(w *Work)
	RolledBack func(w *Work)
}

// phases lists the phases of an operation's state.
func (p *Plan) phases(s sol.LcmOperationStateType) []Phase {
	switch s {
	case sol.LcmOperationStateStarting:
		return p.Starting
	case sol.LcmOperationStateProcessing:
		return p.Processing
	case sol.LcmOperationStateRollingBack:
		return p.Rollback
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed, sol.LcmOperationStateRolledBack:
	}
	return nil
}

// Planner makes the plan of every operation from the drivers.
type Planner struct {
	Infras  Infras
	Mgmt    MgmtDrivers
	Grantor Grantor
}

// Plan returns the phases of w's operation. Hooks that the VNFD does not implement are left out.
func (p *Planner) Plan(w *Work) (*Plan, error) {
	infra, err := p.infra(w.Instance)
	if err != nil {
		return nil, err
	}
	grant := Phase{Name: "grant", Run: p.grant}
	switch w.Op.Type {
	case sol.LcmOperationInstantiate:
		return &Plan{
			Starting: []Phase{grant},
			Processing: p.hooked(w, "instantiate",
				Phase{Name: "infra", Run: infra.Instantiate},
				Phase{Name: "inventory", Run: infra.Inventory}),
			Rollback: p.hooked(w, "instantiate_rollback",
				Phase{Name: "rollback_infra", Run: infra.Terminate}),
			Completed:  instantiated,
			RolledBack: notInstantiated,
		}, nil
	case sol.LcmOperationTerminate:
		return &Plan{
			Starting:   []Phase{grant},
			Processing: p.hooked(w, "terminate", Phase{Name: "infra", Run: infra.Terminate}),
			Completed:  notInstantiated,
		}, nil
	default:
		return nil, Errorf(CodeUnprocessable, "operation %s is not supported", w.Op.Type)
	}
}

// infra finds the driver of the instance's VIM.
func (p *Planner) infra(i *Instance) (Infra, error) {
	_, vim, ok := PrimaryVim(i.VimConnections)
	if !ok {
		return nil, Errorf(CodeUnprocessable, "the instance has no VIM connection")
	}
	d, ok := p.Infras.Infra(vim.VimType)
	if !ok {
		return nil, Errorf(CodeUnprocessable, "vimType %q is not supported", vim.VimType)
	}
	return d, nil
}

// hooked puts the mgmt hooks <op>_start and <op>_end around phases, where the VNFD implements them.
func (p *Planner) hooked(w *Work, op string, phases ...Phase) []Phase {
	var out []Phase
	if ph, ok := p.hook(w, op+"_start"); ok {
		out = append(out, ph)
	}
	out = append(out, phases...)
	if ph, ok := p.hook(w, op+"_end"); ok {
		out = append(out, ph)
	}
	return out
}

func (p *Planner) hook(w *Work, hook string) (Phase, bool) {
	if w.Flavour == nil {
		return Phase{}, false
	}
	impl, ok := w.Flavour.LCM[hook]
	if !ok {
		return Phase{}, false
	}
	return Phase{Name: hook, Run: func(ctx context.Context, w *Work) error {
		d, err := p.Mgmt.Driver(impl)
		if err != nil {
			return err
		}
		return d.Run(ctx, hook, w)
	}}, true
}

func (p *Planner) grant(ctx context.Context, w *Work) error {
	if w.Op.Grant != nil {
		return nil
	}
	g, err := p.Grantor.Grant(ctx, w)
	if err != nil {
		return err
	}
	w.Op.Grant = g
	return nil
}

// instantiated ends a successful instantiation.
func instantiated(w *Work) { w.Instance.State = sol.InstantiationStateInstantiated }

// notInstantiated ends a termination or a rolled back instantiation: the VIM holds nothing any more.
func notInstantiated(w *Work) {
	w.Instance.State = sol.InstantiationStateNotInstantiated
	for _, r := range w.Instance.Inventory {
		if r.VNFC != "" && !slices.Contains(w.effects.ForgetVNFCs, r.VNFC) {
			w.effects.ForgetVNFCs = append(w.effects.ForgetVNFCs, r.VNFC)
		}
	}
	w.Instance.Instantiated = nil
	w.Instance.Inventory = nil
	w.Instance.VimConnections = nil
	w.Instance.HoldsResources = false
}
