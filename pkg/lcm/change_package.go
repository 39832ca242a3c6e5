package lcm

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationChangeVnfpkg, Path: "change_vnfpkg", Hook: "change_current_package", Requires: sol.InstantiationStateInstantiated,
		VIM: true, NeedsGrant: true, CanRollBack: true, NewRevision: true,
		Body: sol.ChangeCurrentVnfPkgRequest{}, Decode: decodes(packageTask), Phases: changePhases,
	})
}

// upgradeType is the only way of changing the package that there is: VNFC by VNFC.
const upgradeType = "RollingUpdate"

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
			a.Reject("/vnfdId", "the VNFD has no flavour %q, which the VNF has; it has %s", a.Present.Flavour.ID, flavourIDs(a.Next.VNFD))
			return nil
		}
		if t, ok := req.AdditionalParams["upgrade_type"]; ok && t != upgradeType {
			a.Reject("/additionalParams/upgrade_type", "is not %q", upgradeType)
		}
		vdus := a.vdusToUpgrade(req.AdditionalParams["vdu_params"])
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
				a.Reject("/vnfdId", "the VNF has the scale level %d of the aspect %s, and the VNFD only %d", level, aspect, next.MaxScaleLevel)
			}
			if next != nil {
				levels[aspect] = level
			}
		}
		a.Bad = append(a.Bad, badLinks(f, req.ExtVirtualLinks, req.ExtManagedVirtualLinks)...)
		a.Scope = scopeTo(i, f, counts, levels)
		a.Scope.VNFCs = vnfcIDs(i, vdus)
		return nil
	}}
}

// vdusToUpgrade reads vdu_params: a list of objects with the vdu_id of a VDU that is to be updated. Without it
// all are.
func (a *Admission) vdusToUpgrade(params any) []string {
	const at = "/additionalParams/vdu_params"
	var out []string
	if params == nil {
		for _, v := range a.Next.Flavour.VDUs {
			out = append(out, v.Name)
		}
		return out
	}
	list, ok := params.([]any)
	if !ok || len(list) == 0 {
		a.Reject(at, "is not a list of VDUs")
		return nil
	}
	for n, e := range list {
		member, _ := e.(map[string]any)
		id, ok := member["vdu_id"].(string)
		switch {
		case !ok:
			a.Reject(fmt.Sprintf("%s/%d/vdu_id", at, n), "is missing")
		case a.Next.Flavour.VDU(id) == nil || a.Present.Flavour.VDU(id) == nil:
			a.Reject(fmt.Sprintf("%s/%d/vdu_id", at, n), "there is no VDU %q in both VNFDs", id)
		default:
			out = append(out, id)
		}
	}
	return out
}
