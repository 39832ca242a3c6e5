package web_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (w *world) SnapshotsOf(_ context.Context, instanceID string) ([]*lcm.Snapshot, error) {
	return list(w, &w.snapshots, func(s *lcm.Snapshot) bool { return s.InstanceID == instanceID })
}

// photograph gives an instance snapshots: one to which it can be reverted, one of fewer VNFCs, one whose operation has
// failed, and one that is being deleted.
func (w *world) photograph(i *lcm.Instance) {
	image := &lcm.SnapshotResource{Type: "OS::Glance::Image", ID: "0e1", Name: "image"}
	taken := map[string]lcm.VNFCSnapshot{}
	for _, c := range i.Instantiated.VnfcInfo {
		index, _ := i.ComputeIndex(c.ID)
		taken[c.ID] = lcm.VNFCSnapshot{
			ID: lcm.VNFCSnapshotID(c.VduID, index), VNFC: c.ID, VDU: c.VduID, Index: index, Compute: image,
		}
	}
	add := func(n int, state sol.LcmOperationStateType, edit func(s *lcm.Snapshot)) {
		begun := began.Add(time.Duration(n) * time.Minute)
		s := &lcm.Snapshot{
			ID: fmt.Sprintf("9999999%d-aaaa-4bbb-8ccc-000000000009", n), InstanceID: i.ID, Instance: i,
			Operation: fmt.Sprintf("8888888%d-aaaa-4bbb-8ccc-000000000008", n), Started: begun,
			Finished: begun.Add(40 * time.Second), VNFCs: taken,
		}
		edit(s)
		w.snapshots = append(w.snapshots, s)
		if state != "" {
			w.ops = append(w.ops, &lcm.Operation{
				ID: s.Operation, InstanceID: i.ID, Type: sol.LcmOperationCreateSnapshot, State: state, Started: begun,
				StateEntered: begun.Add(40 * time.Second), Phase: "infra",
			})
		}
	}
	add(1, "", func(*lcm.Snapshot) {}) // its operation is older than what is kept
	add(2, sol.LcmOperationStateCompleted, func(s *lcm.Snapshot) {
		s.VNFCs = map[string]lcm.VNFCSnapshot{}
		for id, c := range taken {
			if c.Index == 0 {
				c.Storages = []lcm.SnapshotStorage{{Storage: "s", Name: "data", Resource: *image}}
				s.VNFCs[id] = c
			}
		}
	})
	add(3, sol.LcmOperationStateFailed, func(s *lcm.Snapshot) { s.Finished, s.VNFCs = time.Time{}, nil })
	add(4, sol.LcmOperationStateCompleted, func(s *lcm.Snapshot) { s.Deleting = now.Add(time.Minute) })
}

// TestASnapshotThatIsBeingTaken: it becomes complete, or not, with its operation.
func TestASnapshotThatIsBeingTaken(t *testing.T) {
	t.Parallel()
	w := sample()
	w.snapshots = []*lcm.Snapshot{{ID: "s", InstanceID: site, Operation: scaling, Started: began}}
	body := get(t, handler(w.deps()), "/ui/instances/"+site).Body.String()
	require.Contains(t, body, "Being taken")
	require.Contains(t, body, "Not possible now: the VNF snapshot s does not hold a complete snapshot")
}
