package lcm

import (
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationRevertToSnapshot, Path: "revert_to_snapshot", Hook: "revert_to_snapshot",
		Requires: sol.InstantiationStateInstantiated, VIM: true, NeedsGrant: true, Deletes: DeletesVNFCs,
		Body: sol.RevertToVnfSnapshotRequest{}, Decode: decodes(revertTask), Phases: changePhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.RevertToSnapshot = link },
	})
}

// revertTask is SOL003 clause 5.4.22, with vnfcSnapshotInfoId of SOL002. The disks of the VNFCs become those of the
// snapshot; everything else of the VNF has to be as it was when the snapshot was taken.
func revertTask(req sol.RevertToVnfSnapshotRequest) Task {
	return Task{SnapshotID: req.VnfSnapshotInfoID, Decide: func(a *Admission) error {
		s := a.Snapshot
		if s == nil {
			a.Reject("/vnfSnapshotInfoId", "is required")
			return nil
		}
		if err := requireComplete(s); err != nil {
			return err
		}
		if s.InstanceID != a.Instance.ID {
			a.Reject("/vnfSnapshotInfoId", "is a snapshot of VNF instance %s", s.InstanceID)
			return nil
		}
		if err := refuseOtherRevision(s, a.Instance); err != nil {
			return err
		}
		taken := slices.SortedFunc(maps.Values(s.VNFCs), func(x, y VNFCSnapshot) int {
			return strings.Compare(x.ID, y.ID)
		})
		whole := req.VnfcSnapshotInfoID == ""
		if !whole {
			taken = slices.DeleteFunc(taken, func(c VNFCSnapshot) bool { return c.ID != req.VnfcSnapshotInfoID })
			if len(taken) == 0 {
				a.Reject("/vnfcSnapshotInfoId", "is not a VNFC snapshot of the VNF snapshot; it has %s", listed(
					slices.Sorted(maps.Keys(byPlace(s.VNFCs))), func(id string) string { return id }))
				return nil
			}
		}
		return scopeRevert(a, s, taken, whole)
	}}
}

// byPlace has the VNFCs of a snapshot by VDU and index.
func byPlace(of map[string]VNFCSnapshot) map[string]VNFCSnapshot {
	out := make(map[string]VNFCSnapshot, len(of))
	for _, c := range of {
		out[c.ID] = c
	}
	return out
}

// refuseOtherRevision returns CodeConflict when the VNF is made from something else than at the time of the snapshot.
func refuseOtherRevision(s *Snapshot, has *Instance) error {
	had := s.Instance
	if had.VnfdID != has.VnfdID || had.VnfPkgID != has.VnfPkgID {
		return Errorf(CodeConflict, "the snapshot was taken with the VNFD %s, and VNF instance %s has %s now",
			had.VnfdID, has.ID, has.VnfdID).WithHint("change the package back first")
	}
	if had.Instantiated != nil && had.Instantiated.FlavourID != has.Instantiated.FlavourID {
		return Errorf(CodeConflict, "the snapshot was taken with the flavour %s, and VNF instance %s has %s now",
			had.Instantiated.FlavourID, has.ID, has.Instantiated.FlavourID).WithHint("change the flavour back first")
	}
	return nil
}

// scopeRevert sets the scope to the VNFCs that have the places of those of the snapshot. A VNFC that was healed since
// has its place.
func scopeRevert(a *Admission, s *Snapshot, taken []VNFCSnapshot, whole bool) error {
	i := a.Instance
	have := i.places()
	scope := stay(i.Instantiated, a.Present.Flavour.ID)
	scope.Snapshot = &SnapshotScope{ID: s.ID, Version: s.Version}
	var missing []string
	for _, c := range taken {
		id, ok := have[c.ID]
		if !ok {
			missing = append(missing, c.ID)
			continue
		}
		scope.VNFCs, scope.Snapshot.VNFCs = append(scope.VNFCs, id), append(scope.Snapshot.VNFCs, c)
	}
	var others []string
	if whole {
		others = lacking(byPlace(s.VNFCs), have)
	}
	if err := differentVNFCs(i.ID, missing, others); err != nil {
		return err
	}
	a.Scope = scope
	return nil
}

// differentVNFCs returns CodeConflict when an instance lacks VNFCs of a snapshot, or has others.
func differentVNFCs(instanceID string, missing, others []string) error {
	var words []string
	if len(missing) > 0 {
		words = append(words, "it does not have "+strings.Join(missing, ", "))
	}
	if len(others) > 0 {
		words = append(words, "the snapshot does not have "+strings.Join(others, ", "))
	}
	if len(words) == 0 {
		return nil
	}
	return Errorf(CodeConflict, "VNF instance %s has other VNFCs than the snapshot: %s", instanceID,
		strings.Join(words, "; ")).WithHint("scale the VNF to the level of the snapshot first, or revert single VNFCs")
}

// places are the vnfcInfo ids of the VNFCs by VDU and index.
func (i *Instance) places() map[string]string {
	out := map[string]string{}
	for _, c := range i.Instantiated.VnfcInfo {
		if index, ok := i.ComputeIndex(c.ID); ok {
			out[VNFCSnapshotID(c.VduID, index)] = c.ID
		}
	}
	return out
}

// lacking lists the places that one side has and the other one does not have.
func lacking[A, B any](has map[string]A, wanted map[string]B) []string {
	var out []string
	for _, place := range slices.Sorted(maps.Keys(wanted)) {
		if _, ok := has[place]; !ok {
			out = append(out, place)
		}
	}
	return out
}

// requireComplete returns CodeConflict for a snapshot that nothing can be reverted to.
func requireComplete(s *Snapshot) error {
	if s.Finished.IsZero() || s.Instance == nil {
		return Errorf(CodeConflict, "the VNF snapshot %s does not hold a complete snapshot", s.ID).
			WithHint("take one with create_snapshot, and wait until the operation is COMPLETED")
	}
	return nil
}

// Revertible returns the CodeConflict error of a request to revert a whole instance to a snapshot of it; nil when its
// state does not forbid it. Drivers are not asked.
func Revertible(s *Snapshot, i *Instance) error {
	if err := requireComplete(s); err != nil {
		return err
	}
	if i.Instantiated == nil || i.State != sol.InstantiationStateInstantiated {
		return Errorf(CodeConflict, "VNF instance %s is not instantiated", i.ID)
	}
	if err := refuseOtherRevision(s, i); err != nil {
		return err
	}
	taken, have := byPlace(s.VNFCs), i.places()
	return differentVNFCs(i.ID, lacking(have, taken), lacking(taken, have))
}
