package lcm

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Plan is what an operation consists of. It is computed anew at every claim and MUST be the same each
// time for the same operation, because progress is kept by phase name.
type Plan struct {
	Starting   []Phase // run in STARTING; their failure leaves nothing behind (ROLLED_BACK)
	Processing []Phase // run in PROCESSING; their failure is FAILED_TEMP
	Rollback   []Phase // run in ROLLING_BACK
	// Completed and RolledBack set the instance's attributes when the operation ends that way; may be nil.
	Completed  func(w *Work) error
	RolledBack func(w *Work) error
	// Observe reads what is there after a failure, and Halt ends what goes on for a cancelled operation; nil where the VIM is not concerned.
	Observe func(ctx context.Context, w *Work) error
	Halt    func(ctx context.Context, w *Work) error
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

// hooks gives the operations' names in the interface Vnflcm of a VNFD (SOL001); a mgmt driver's hooks are <name>_start and <name>_end, and those
// of the rollback <name>_rollback_start and <name>_rollback_end.
var hooks = map[sol.LcmOperationType]string{
	sol.LcmOperationInstantiate:   "instantiate",
	sol.LcmOperationScale:         "scale",
	sol.LcmOperationScaleToLevel:  "scale_to_level",
	sol.LcmOperationChangeFlavour: "change_flavour",
	sol.LcmOperationTerminate:     "terminate",
	sol.LcmOperationHeal:          "heal",
	sol.LcmOperationOperate:       "operate",
	sol.LcmOperationChangeExtConn: "change_external_connectivity",
	sol.LcmOperationChangeVnfpkg:  "change_current_package",
	sol.LcmOperationModifyInfo:    "modify_information",
}

// Planner makes the plan of every operation from the drivers.
type Planner struct {
	Infras  Infras
	Mgmt    MgmtDrivers
	Grantor Grantor
}

// Plan returns the phases of w's operation. Hooks that the VNFD does not implement are left out.
func (p *Planner) Plan(w *Work) (*Plan, error) {
	name, ok := hooks[w.Op.Type]
	if !ok {
		return nil, Errorf(CodeUnprocessable, "operation %s is not supported", w.Op.Type)
	}
	if w.Op.Type == sol.LcmOperationModifyInfo {
		return &Plan{
			Processing: p.hooked(w, name, Phase{Name: "modify", Run: modify}),
			Rollback:   p.hooked(w, name+"_rollback", Phase{Name: "rollback_modify", Run: func(context.Context, *Work) error { return nil }}),
			Completed:  modified,
			RolledBack: unmodified,
		}, nil
	}
	infra, err := p.infra(w.Instance)
	if err != nil {
		return nil, err
	}
	inventory := func(ctx context.Context, w *Work) error { return takeInventory(ctx, infra, w) }
	plan := &Plan{
		Starting: []Phase{{Name: "grant", Run: p.grant}},
		Observe:  inventory,
		Halt:     func(ctx context.Context, w *Work) error { return infra.Halt(ctx, w, w.Op.Cancel) },
	}
	switch w.Op.Type {
	case sol.LcmOperationInstantiate:
		plan.Processing = p.hooked(w, name, Phase{Name: "infra", Run: infra.Instantiate}, Phase{Name: "inventory", Run: inventory})
		plan.Rollback = p.hooked(w, name+"_rollback", Phase{Name: "rollback_infra", Run: unmade(infra)})
		plan.Completed, plan.RolledBack = instantiated, notInstantiated
	case sol.LcmOperationTerminate:
		plan.Processing = p.hooked(w, name, Phase{Name: "infra", Run: infra.Terminate})
		plan.Completed = notInstantiated
	default: // whether there is a way back is the state machine's business
		plan.Processing = p.hooked(w, name, Phase{Name: "infra", Run: infra.Change}, Phase{Name: "inventory", Run: inventory})
		plan.Rollback = p.hooked(w, name+"_rollback", Phase{Name: "rollback_infra", Run: infra.Restore}, Phase{Name: "rollback_inventory", Run: inventory})
		plan.Completed, plan.RolledBack = changed, restored
	}
	return plan, nil
}

// unmade takes back an instantiation. When nothing was ever made the VIM is not asked: it may be one that nobody can enter.
func unmade(infra Infra) func(context.Context, *Work) error {
	return func(ctx context.Context, w *Work) error {
		if !w.Instance.HoldsResources {
			return nil
		}
		return infra.Terminate(ctx, w)
	}
}

// takeInventory reads what is there and completes it. What is half read is not kept.
func takeInventory(ctx context.Context, infra Infra, w *Work) error {
	instance, op := *w.Instance, *w.Op
	complete := false
	defer func() {
		if !complete {
			*w.Instance, *w.Op = instance, op
		}
	}()
	err := infra.Inventory(ctx, w)
	if err == nil {
		err = w.settle(instance.Instantiated)
	}
	complete = err == nil
	return err
}

// infra finds the driver of the instance's VIM.
func (p *Planner) infra(i *Instance) (Infra, error) {
	_, vim, ok := PrimaryVim(i.VimConnections)
	if !ok {
		return nil, Errorf(CodeUnprocessable, "the instance has no VIM connection")
	}
	d, ok := p.Infras.Infra(vim.VimType)
	if !ok {
		return nil, Errorf(CodeUnprocessable, badVimType, vim.VimType)
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
	impl, ok := implementation(p.Mgmt, w.Flavour, hook)
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

// modify is the one phase of a MODIFY_INFO: the instance is stored with the tick.
func modify(_ context.Context, w *Work) error {
	model := w.VNFD
	if w.Op.VnfPkgID == "" {
		model = nil
	}
	bad, err := patch(w.Instance, w.Op.Params, model, w.Op.VnfPkgID)
	if err != nil {
		return err
	}
	return Unprocessable(bad...)
}
