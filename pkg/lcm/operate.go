package lcm

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationOperate, Path: "operate", Hook: "operate", Requires: sol.InstantiationStateInstantiated,
		VIM: true, NeedsGrant: true, CanRollBack: true,
		Body: sol.OperateVnfRequest{}, Decode: decodes(operateTask), Phases: changePhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.Operate = link },
	})
}

// operateTask is SOL003 clause 5.4.10, for the whole VNF.
func operateTask(req sol.OperateVnfRequest) Task {
	return Task{Decide: func(a *Admission) error {
		i := a.Instance.Instantiated
		switch req.ChangeStateTo {
		case sol.VnfOperationalStateStarted, sol.VnfOperationalStateStopped:
		default:
			a.Reject("/changeStateTo", "is neither %s nor %s", sol.VnfOperationalStateStarted,
				sol.VnfOperationalStateStopped)
			return nil
		}
		if start := req.ChangeStateTo == sol.VnfOperationalStateStarted; start || req.StopType != sol.StopTypeGraceful {
			if start && req.StopType != "" {
				a.Reject("/stopType", "has no meaning when the VNF is to be started")
			}
			if req.GracefulStopTimeout != 0 {
				a.Reject("/gracefulStopTimeout", "has no meaning without a GRACEFUL stop")
			}
		}
		other := func(c sol.VnfcInfo) bool { return c.VnfcState != req.ChangeStateTo }
		if i.VnfState == req.ChangeStateTo && !slices.ContainsFunc(i.VnfcInfo, other) {
			return Errorf(CodeConflict, "VNF instance %s is already %s", a.Instance.ID, req.ChangeStateTo)
		}
		a.Scope = stay(i, a.Present.Flavour.ID)
		a.Scope.VNFCs = vnfcIDs(i, nil)
		return nil
	}}
}
