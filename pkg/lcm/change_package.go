package lcm

import (
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationChangeVnfpkg, Path: "change_vnfpkg", Hook: "change_current_package",
		Requires: sol.InstantiationStateInstantiated, VIM: true, NeedsGrant: true, CanRollBack: true, NewRevision: true,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.ChangeCurrentVnfPkg = link },
		Body: sol.ChangeCurrentVnfPkgRequest{}, Decode: decodes(packageTask), Phases: changePhases,
	})
}

// packageTask is SOL003 clause 5.4.11a.
func packageTask(req sol.ChangeCurrentVnfPkgRequest) Task {
	return Task{Connections: req.VimConnectionInfo, VnfdID: req.VnfdID, Decide: func(a *Admission) error {
		i := a.Instance.Instantiated
		if a.NextPkgID == a.Instance.VnfPkgID {
			a.Reject("/vnfdId", "is the VNFD that the VNF has already")
			return nil
		}
		f := a.Next.VNFD.Flavour(a.Present.Flavour.ID)
		a.Next.Flavour = f
		if f == nil {
			a.Reject("/vnfdId", "%s, and the VNF has this flavour", noFlavour(a.Next.VNFD, a.Present.Flavour.ID))
			return nil
		}
		options, err := a.options()
		if err != nil {
			return err
		}
		counts := a.nextCounts(f)
		levels := levelOf(f, f.Level(""))
		for aspect, level := range scaleLevels(i) {
			next := f.Aspect(aspect)
			if next != nil && level > next.MaxScaleLevel {
				a.Reject("/vnfdId", "the VNF has the scale level %d of the aspect %s, and the VNFD only %d", level,
					aspect, next.MaxScaleLevel)
			}
			if next != nil {
				levels[aspect] = level
			}
		}
		a.Bad = append(a.Bad, badLinks(f, req.ExtVirtualLinks, req.ExtManagedVirtualLinks)...)
		a.Scope = scopeTo(i, f, counts, levels)
		a.Scope.VNFCs = vnfcIDs(i, vdusToUpgrade(f, options))
		return nil
	}}
}

// nextCounts is the number of VNFCs of each VDU after a change of the package. Existing VNFCs stay; new VDUs get the
// numbers of the default level, and without a default level the request is rejected.
func (a *Admission) nextCounts(f *vnfd.Flavour) map[string]int {
	now := countVNFCs(a.Instance.Instantiated)
	counts, known := f.Counts("")
	bad := badLevel(f, "")
	if !known {
		counts = map[string]int{}
	}
	for _, v := range f.VDUs {
		if bad != "" && a.Present.Flavour.VDU(v.Name) == nil {
			a.Reject("/vnfdId", "the VDU %s is new, and the VNFD does not give it a number of VNFCs: %s", v.Name, bad)
		}
		if n := now[v.Name]; n > 0 || bad != "" {
			counts[v.Name] = n
		}
	}
	return counts
}

// vdusToUpgrade lists the VDUs whose VNFCs change: those of the options, or all of the new flavour.
func vdusToUpgrade(f *vnfd.Flavour, o Options) []string {
	if o.VDUs != nil {
		return o.VDUs
	}
	out := make([]string, len(f.VDUs))
	for n, v := range f.VDUs {
		out[n] = v.Name
	}
	return out
}
