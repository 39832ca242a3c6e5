package lcm

import (
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationHeal, Path: "heal", Hook: "heal", Requires: sol.InstantiationStateInstantiated, VIM: true,
		NeedsGrant: true, Deletes: DeletesVNFCs,
		Body: sol.HealVnfRequest{}, Decode: decodes(healTask), Phases: changePhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.Heal = link },
	})
}

// healTask is SOL003 clause 5.4.9, with vnfcInstanceId of SOL002.
func healTask(req sol.HealVnfRequest) Task {
	return Task{Decide: func(a *Admission) error {
		i := a.Instance.Instantiated
		options, err := a.options()
		if err != nil {
			return err
		}
		scope := stay(i, a.Present.Flavour.ID)
		f := a.Present.Flavour
		for n, id := range req.VnfcInstanceID {
			switch _, _, found := a.Instance.VNFC(id); {
			case !found:
				a.Reject(fmt.Sprintf("/vnfcInstanceId/%d", n), "the VNF has no VNFC %q; it has %s", id,
					listed(i.VnfcInfo, func(c sol.VnfcInfo) string { return c.ID }))
			case !slices.Contains(scope.VNFCs, id):
				scope.VNFCs = append(scope.VNFCs, id)
			}
		}
		if len(a.Bad) > 0 {
			return nil
		}
		scope.Storages = options.Whole && len(req.VnfcInstanceID) > 0
		if len(req.VnfcInstanceID) == 0 {
			scope.VNFCs, scope.Whole = vnfcIDs(i, nil), options.Whole
		}
		if scope.Whole { // VNFCs that were lost come back
			scope.Counts = levelCounts(f, scope.ScaleLevels, scope.Counts)
		}
		if err := refuseEmptyHeal(a.Instance, scope); err != nil {
			return err
		}

		a.Scope = scope
		return nil
	}}
}

// refuseEmptyHeal returns CodeConflict for a heal that would heal nothing, or would rebuild a VNF without VNFCs.
func refuseEmptyHeal(i *Instance, scope *Scope) error {
	switch {
	case scope.Whole && equalCounts(scope.Counts, nil):
		return Errorf(CodeConflict, "VNF instance %s has no VNFCs at its scale levels; a heal would rebuild nothing",
			i.ID).
			WithHint("scale the VNF to a level with VNFCs, or terminate it")
	case !scope.Whole && len(scope.VNFCs) == 0:
		return Errorf(CodeConflict, "VNF instance %s has no VNFCs to heal", i.ID).
			WithHint("heal the whole VNF with additionalParams.all, or terminate it")
	}
	return nil
}
