package lcm

import (
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationCreateSnapshot, Path: "create_snapshot", Hook: "create_snapshot",
		Requires: sol.InstantiationStateInstantiated, VIM: true, NeedsGrant: true, CanRollBack: true,
		Body: sol.CreateVnfSnapshotRequest{}, Decode: decodes(createSnapshotTask), Phases: createSnapshotPhases,
		Link: func(l *sol.VnfInstanceLinks, link *sol.Link) { l.CreateSnapshot = link },
	})
}

// createSnapshotTask is SOL003 clause 5.4.21. It takes a snapshot of every VNFC and changes nothing of the VNF.
func createSnapshotTask(req sol.CreateVnfSnapshotRequest) Task {
	return Task{SnapshotID: req.VnfSnapshotInfoID, Decide: func(a *Admission) error {
		s, i := a.Snapshot, a.Instance.Instantiated
		switch {
		case s == nil:
			a.Reject("/vnfSnapshotInfoId", "is required")
			return nil
		case !s.Finished.IsZero():
			return Errorf(CodeConflict, "the VNF snapshot %s already holds a snapshot of VNF instance %s", s.ID,
				s.InstanceID).WithHint("create another snapshot resource, with POST /vnf_snapshots")
		case s.Operation != "":
			return Errorf(CodeConflict, "the VNF snapshot %s is filled by operation %s, which is not complete", s.ID,
				s.Operation).WithHint("if that operation has failed, delete the snapshot and create another one")
		case len(i.VnfcInfo) == 0:
			return Errorf(CodeConflict, "VNF instance %s has no VNFCs of which a snapshot could be taken",
				a.Instance.ID)
		}
		a.Scope = stay(i, a.Present.Flavour.ID)
		a.Scope.VNFCs = vnfcIDs(i, nil)
		a.Scope.Snapshot = &SnapshotScope{ID: s.ID, Version: s.Version}
		return nil
	}}
}

// createSnapshotPhases are those of an operation that changes nothing of the VNF: there is nothing to record.
func createSnapshotPhases(infra Infra) Phases {
	return Phases{
		Processing: []Phase{{Name: "infra", Run: infra.Change}},
		Rollback:   []Phase{{Name: "rollback_infra", Run: infra.Restore}},
		Completed: func(w *Execution) error {
			w.effects.Snapshot.Finished = w.Clock.Now()
			return nil
		},
		RolledBack: func(w *Execution) error {
			w.ReleaseSnapshot()
			return nil
		},
	}
}

// ReleaseSnapshot makes the snapshot that a CREATE_SNAPSHOT was to fill an empty one when the tick commits.
func (w *Execution) ReleaseSnapshot() {
	if w.Op.Type == sol.LcmOperationCreateSnapshot {
		w.effects.Snapshot.Release = true
	}
}
