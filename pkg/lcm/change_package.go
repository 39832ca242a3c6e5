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
			a.Reject("/vnfdId", "the VNFD has no flavour %q, which the VNF has; it has %s", a.Present.Flavour.ID,
				flavourIDs(a.Next.VNFD))
			return nil
		}
		options, err := a.options()
		if err != nil {
			return err
		}
		// Those that there are stay; VDUs that are new come with the numbers of the default level.
		counts, _ := f.Counts("")
		levels := levelOf(f, f.Level(""))
		for vdu, n := range countVNFCs(i) {
			if _, ok := counts[vdu]; ok {
				counts[vdu] = n
			}
		}
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
