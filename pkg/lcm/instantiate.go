package lcm

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationInstantiate, Path: "instantiate", Hook: "instantiate",
		Requires: sol.InstantiationStateNotInstantiated, VIM: true, NeedsGrant: true, CanRollBack: true,
		Body: sol.InstantiateVnfRequest{}, Decode: decodes(instantiateTask), Phases: instantiatePhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.Instantiate = link },
	})
}

func instantiatePhases(infra Infra) Phases {
	return Phases{
		Processing: []Phase{{Name: "infra", Run: infra.Instantiate}, inventoryPhase(PhaseInventory, infra)},
		Rollback:   []Phase{{Name: "rollback_infra", Run: undoInstantiate(infra)}},
		Completed:  instantiated, RolledBack: notInstantiated,
	}
}

// undoInstantiate takes an instantiation back. When no resource was ever created the VIM is not asked: it may reject
// every login.
func undoInstantiate(infra Infra) func(context.Context, *Execution) error {
	return func(ctx context.Context, w *Execution) error {
		if !w.Instance.HoldsResources {
			return nil
		}
		return releasing(infra.Terminate)(ctx, w)
	}
}

// instantiateTask is SOL003 clause 5.4.4. Everything that can be known to be wrong is rejected here, before anything is
// created.
func instantiateTask(req sol.InstantiateVnfRequest) Task {
	return Task{Connections: req.VimConnectionInfo, Decide: func(a *Admission) error {
		if a.Instance.State == sol.InstantiationStateInstantiated {
			return Errorf(CodeConflict, "VNF instance %s is already INSTANTIATED", a.Instance.ID).
				WithHint("terminate it first, or create another instance")
		}
		a.Instance.VimConnections = a.Connections
		own, err := decodeParams(a.Task.Raw)
		if err != nil {
			return err
		}
		if a.Instance.Params, err = lastingParams(a.infra(), own).Raw(); err != nil {
			return err
		}
		f := a.Present.VNFD.Flavour(req.FlavourID)
		a.Present.Flavour = f
		if f == nil {
			a.Reject("/flavourId", "%s", noFlavour(a.Present.VNFD, req.FlavourID))
			return nil
		}
		if bad := badLevel(f, req.InstantiationLevelID); bad != "" {
			a.Reject("/instantiationLevelId", "%s", bad)
		}
		a.Bad = append(a.Bad, badLinks(f, req.ExtVirtualLinks, req.ExtManagedVirtualLinks)...)
		return nil
	}}
}

func flavourIDs(m *vnfd.VNFD) string {
	return listed(m.Flavours, func(f vnfd.Flavour) string { return f.ID })
}
