package lcm

import "github.com/gybe-nfv/gybe/pkg/sol"

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationChangeExtConn, Path: "change_ext_conn", Hook: "change_external_connectivity",
		Requires: sol.InstantiationStateInstantiated, VIM: true, NeedsGrant: true, CanRollBack: true,
		Body: sol.ChangeExtVnfConnectivityRequest{}, Decode: decodes(connectivityTask), Phases: changePhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.ChangeExtConn = link },
	})
}

// connectivityTask is SOL003 clause 5.4.11.
func connectivityTask(req sol.ChangeExtVnfConnectivityRequest) Task {
	return Task{Connections: req.VimConnectionInfo, Decide: func(a *Admission) error {
		if len(req.ExtVirtualLinks) == 0 {
			a.Reject("/extVirtualLinks", "is empty: nothing would change")
		}
		a.Bad = append(a.Bad, badLinks(a.Present.Flavour, req.ExtVirtualLinks, nil)...)
		a.Scope = stay(a.Instance.Instantiated, a.Present.Flavour.ID)
		return nil
	}}
}
