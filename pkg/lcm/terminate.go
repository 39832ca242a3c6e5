package lcm

import "github.com/gybe-nfv/gybe/pkg/sol"

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationTerminate, Path: "terminate", Hook: "terminate",
		Requires: sol.InstantiationStateInstantiated, VIM: true, NeedsGrant: true, Unchecked: true, Deletes: DeletesAll,
		Body: sol.TerminateVnfRequest{}, Decode: decodes(terminateTask), Phases: terminatePhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.Terminate = link },
		NotInstantiated: func(i *Instance) string {
			if i.HoldsResources {
				return "a failed instantiation has left something in the VIM: look at its leftovers and remove them, " +
					"or instantiate it again first"
			}
			return "there is nothing to terminate; what is not needed any more can be deleted"
		},
	})
}

func terminatePhases(infra Infra) Phases {
	return Phases{Processing: []Phase{{Name: "infra", Run: releasing(infra.Terminate)}}, Completed: notInstantiated}
}

// terminateTask is SOL003 clause 5.4.8: every instance may be terminated, but a cluster in which other instances have
// resources only FORCEFUL.
func terminateTask(req sol.TerminateVnfRequest) Task {
	return Task{
		NeedsUnused: req.TerminationType != sol.TerminationTypeForceful,
		Decide:      func(*Admission) error { return nil },
	}
}
