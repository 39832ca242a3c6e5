package lcm

import (
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationChangeFlavour, Path: "change_flavour", Hook: "change_flavour",
		Requires: sol.InstantiationStateInstantiated, VIM: true, NeedsGrant: true, CanRollBack: true, NewRevision: true,
		Body: sol.ChangeVnfFlavourRequest{}, Decode: decodes(flavourTask), Phases: changePhases,
		Link:    func(l *sol.VnfInstanceLinks, link *sol.Link) { l.ChangeFlavour = link },
		Offered: func(v *vnfd.VNFD, _ []vnfd.Flavour) bool { return len(v.Flavours) > 1 },
	})
}

// flavourTask is SOL003 clause 5.4.7.
func flavourTask(req sol.ChangeVnfFlavourRequest) Task {
	return Task{Connections: req.VimConnectionInfo, Decide: func(a *Admission) error {
		model := a.Present.VNFD
		f := model.Flavour(req.NewFlavourID)
		switch {
		case f == nil:
			a.Reject("/newFlavourId", "%s", noFlavour(model, req.NewFlavourID))
			return nil
		case f.ID == a.Present.Flavour.ID:
			a.Reject("/newFlavourId", "the VNF has the flavour %q already", f.ID)
			return nil
		}
		a.Next = &Revision{VNFD: model, Flavour: f, Package: a.Present.Package}
		if bad := badLevel(f, req.InstantiationLevelID); bad != "" {
			a.Reject("/instantiationLevelId", "%s", bad)
		} else {
			counts, _ := f.Counts(req.InstantiationLevelID)
			a.Scope = scopeTo(a.Instance.Instantiated, f, counts, levelOf(f, f.Level(req.InstantiationLevelID)))
		}
		a.Bad = append(a.Bad, badLinks(f, req.ExtVirtualLinks, req.ExtManagedVirtualLinks)...)
		return nil
	}}
}
