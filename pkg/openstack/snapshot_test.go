package openstack_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// createSnapshot admits a snapshot of all VNFCs, and returns its id.
func (w *world) createSnapshot() string {
	w.t.Helper()
	id := uuid.NewString()
	w.store.snapshot = map[string]lcm.VNFCSnapshot{}
	var vnfcs []string
	for _, c := range w.store.instance.Instantiated.VnfcInfo {
		vnfcs = append(vnfcs, c.ID)
	}
	w.change(sol.LcmOperationCreateSnapshot, sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: id}, lcm.Scope{
		Flavour: w.store.instance.Instantiated.FlavourID, VNFCs: vnfcs, Snapshot: &lcm.SnapshotScope{ID: id},
	})
	return id
}

// revert admits a revert of VNFCs to a snapshot, by their names in it; none is all.
func (w *world) revert(id string, only ...string) {
	w.t.Helper()
	scope := lcm.Scope{
		Flavour: w.store.instance.Instantiated.FlavourID, Snapshot: &lcm.SnapshotScope{ID: id},
	}
	for _, c := range w.store.snapshot {
		if len(only) == 0 || slices.Contains(only, c.ID) {
			scope.VNFCs = append(scope.VNFCs, w.vnfc(c.VDU, c.Index))
			scope.Snapshot.VNFCs = append(scope.Snapshot.VNFCs, c)
		}
	}
	w.change(sol.LcmOperationRevertToSnapshot, sol.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: id}, scope)
}

// record is the snapshot as the store has it.
func (w *world) record(id string) *lcm.Snapshot {
	return &lcm.Snapshot{
		ID: id, InstanceID: w.store.instance.ID, Operation: "op", Instance: &w.store.instance, VNFCs: w.store.snapshot,
	}
}

// deleteSnapshot deletes a snapshot of an instance as it was.
func (w *world) deleteSnapshot(id string, i lcm.Instance) error {
	w.t.Helper()
	d, _ := w.node()
	defer d.Close()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		err := d.DeleteSnapshot(w.t.Context(), w.record(id), &i)
		if _, _, waiting := lcm.Waiting(w.t.Context(), err); !waiting {
			return err
		}
	}
	require.Fail(w.t, "the snapshot is not deleted")
	return nil
}

// serverImages are the ids of images of servers by name.
func (w *world) serverImages(id string) map[string]string { return w.snapshotObjects("images", id) }

// copies are the ids of copies of volumes by name.
func (w *world) copies(id string) map[string]string { return w.snapshotObjects("volumes", id) }

func (w *world) snapshotObjects(kind, id string) map[string]string {
	out := map[string]string{}
	for _, o := range w.cloud.State()[kind] {
		if name, ok := strings.CutPrefix(o.Name, w.stackName()+"-snapshot-"+id+"-"); ok {
			out[name] = o.ID
		}
	}
	return out
}

// server is a server of Nova.
func (w *world) server(vdu string, index int) map[string]any {
	w.t.Helper()
	_, res, ok := w.store.instance.VNFC(w.vnfc(vdu, index))
	require.True(w.t, ok)
	s, _ := w.ask("compute", http.MethodGet, "/servers/"+res.ComputeResource.ResourceID, nil)["server"].(map[string]any)
	return s
}

// imageOf is the image that a server was made from.
func (w *world) imageOf(vdu string, index int) any {
	w.t.Helper()
	image, _ := w.server(vdu, index)["image"].(map[string]any)
	return image["id"]
}

// sourceOf is the volume that the volume of VDU2 is a copy of.
func (w *world) sourceOf() any {
	w.t.Helper()
	id := w.ids("OS::Cinder::Volume")["VDU2-0 VDU2-VirtualStorage"]
	v, _ := w.ask("volumev3", http.MethodGet, "/volumes/"+id, nil)["volume"].(map[string]any)
	return v["source_volid"]
}

// TestSnapshotOfImagesAndVolumes: a server that boots from an image becomes an image, and a volume a copy. A revert
// gives the VNFCs these disks in place, or with another server if there are volumes; ports and addresses stay. The
// disks hold for later operations, and not for new VNFCs.
func TestSnapshotOfImagesAndVolumes(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newMixed(t, cloud)
	w.mixed("two")
	w.completed()
	servers, ports, volumes := w.ids("OS::Nova::Server"), w.ids("OS::Neutron::Port"), w.ids("OS::Cinder::Volume")

	id := w.createSnapshot()
	w.completed()
	images, copies := w.serverImages(id), w.copies(id)
	require.ElementsMatch(t, []string{"VDU1-0", "VDU1-1", "VDU3-0"}, slices.Collect(maps.Keys(images)))
	require.ElementsMatch(t, []string{"VDU2-0-VDU2-VirtualStorage"}, slices.Collect(maps.Keys(copies)))
	require.Len(t, w.store.snapshot, 4)
	boot := w.store.snapshot[w.vnfc("VDU2", 0)]
	require.Nil(t, boot.Compute)
	require.Len(t, boot.Storages, 1)
	require.Equal(t, volumes["VDU2-0 VDU2-VirtualStorage"], boot.Storages[0].Storage)
	require.Equal(t, copies["VDU2-0-VDU2-VirtualStorage"], boot.Storages[0].Resource.ID)
	require.Equal(t, images["VDU3-0"], w.store.snapshot[w.vnfc("VDU3", 0)].Compute.ID)
	require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))

	w.reset()
	w.revert(id)
	reverted := w.store.op.Scope.VNFCs
	w.completed()
	require.Equal(t, 1, w.updates())
	require.Equal(t, []string{"VDU2-0 VDU2"}, differing(servers, w.ids("OS::Nova::Server")))
	require.Equal(t, []string{"VDU2-0 VDU2-VirtualStorage"}, differing(volumes, w.ids("OS::Cinder::Volume")))
	require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
	for _, vnfc := range reverted {
		require.Contains(t, w.store.forgotten, vnfc, "its disk has other host keys")
	}
	requireDisks := func() {
		t.Helper()
		require.Equal(t, images["VDU1-0"], w.imageOf("VDU1", 0))
		require.Equal(t, images["VDU1-1"], w.imageOf("VDU1", 1))
		require.Equal(t, images["VDU3-0"], w.imageOf("VDU3", 0))
		require.Equal(t, copies["VDU2-0-VDU2-VirtualStorage"], w.sourceOf())
	}
	requireDisks()

	servers = w.ids("OS::Nova::Server")
	w.revert(id)
	w.completed()
	require.Len(t, differing(servers, w.ids("OS::Nova::Server")), 4, "the same disks again need other servers")
	requireDisks()

	sick := []string{w.vnfc("VDU1", 0), w.vnfc("VDU2", 0)}
	w.heal(sol.KeyValuePairs{"all": true}, sick...)
	w.completed()
	requireDisks()
	err := w.deleteSnapshot(id, w.store.instance)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
	require.ErrorContains(t, err, "VDU1-0, VDU1-1, VDU2-0, VDU3-0")

	before := w.store.instance
	w.terminate()
	w.completed()
	require.NotEmpty(t, w.serverImages(id), "the snapshot outlives the VNF")
	require.NotEmpty(t, w.copies(id))
	w.store.instance.VimConnections = before.VimConnections
	require.NoError(t, w.deleteSnapshot(id, before))
	require.Empty(t, w.serverImages(id))
	require.Empty(t, w.copies(id))
}

// TestRevertOneVNFC: the others keep their disks, and their servers.
func TestRevertOneVNFC(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	servers, had := w.ids("OS::Nova::Server"), w.imageOf("VDU1", 0)
	id := w.createSnapshot()
	w.completed()
	w.revert(id, "VDU1-1")
	w.completed()
	require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))
	require.Equal(t, had, w.imageOf("VDU1", 0))
	require.Equal(t, w.serverImages(id)["VDU1-1"], w.imageOf("VDU1", 1))
}

// TestScaleOutOfARevertedVNF: a new VNFC is made from the package, not from a snapshot of another one.
func TestScaleOutOfARevertedVNF(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.instantiate("simple")
	w.completed()
	had := w.imageOf("workerNode", 0)
	id := w.createSnapshot()
	w.completed()
	w.revert(id)
	w.completed()
	require.Equal(t, w.serverImages(id)["workerNode-0"], w.imageOf("workerNode", 0))
	w.scale(sol.ScaleTypeOut, map[string]int{"masterNode": 1, "workerNode": 3})
	w.completed()
	require.Equal(t, had, w.imageOf("workerNode", 2))
	require.Equal(t, w.serverImages(id)["workerNode-0"], w.imageOf("workerNode", 0))
}

// TestSnapshotFails: the error has the words of the VIM. A retry completes the snapshot, and a rollback leaves nothing.
func TestSnapshotFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule simcloud.Fault
		want string
	}{
		"an image that Nova gives up": {
			simcloud.Fault{Kind: fault.FailResource, ResourceType: "OS::Glance::Image", Reason: "no space"},
			"is not there",
		},
		"a quota of images": {simcloud.Fault{
			Kind: fault.Status, Service: "nova", Method: http.MethodPost, Path: "/action$",
			Status: http.StatusForbidden, Reason: "Image quota exceeded: 10 of 10",
		}, "Image quota exceeded: 10 of 10"},
		"a copy in error": {simcloud.Fault{
			Kind: fault.FailResource, ResourceType: "OS::Cinder::Volume", ResourceName: "vnf-*-snapshot-*",
			Action: "create",
		}, "has the status error"},
		"a quota of volumes": {simcloud.Fault{
			Kind: fault.Status, Service: "cinder", Method: http.MethodPost, Path: "/volumes$",
			Status: http.StatusRequestEntityTooLarge, Reason: "Maximum number of volumes allowed (10) exceeded",
		}, "Maximum number of volumes allowed (10) exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			w := newMixed(t, cloud)
			w.clock = fastClock{time.Now()}
			w.mixed("two")
			w.completed()
			before := cloud.State()
			rule := cloud.AddFault(tt.rule)
			id := w.createSnapshot()
			f := w.failed()
			require.Contains(t, f.Detail, tt.want)
			require.Contains(t, f.Detail, "VNFC ")
			cloud.Faults().Remove(rule)
			w.steer(lcm.EventRetry)
			w.completed()
			require.Len(t, w.serverImages(id), 3)
			require.Len(t, w.copies(id), 1)

			rule = cloud.AddFault(tt.rule)
			other := w.createSnapshot()
			w.failed()
			cloud.Faults().Remove(rule)
			w.steer(lcm.EventRollback)
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run())
			require.Empty(t, w.serverImages(other))
			require.Empty(t, w.copies(other))
			require.NoError(t, w.deleteSnapshot(id, w.store.instance))
			after := cloud.State()
			for kind := range before {
				require.Len(t, after[kind], len(before[kind]), kind)
			}
		})
	}
}

// TestCancelOfASnapshot: gracefully the images are finished; a rollback deletes them.
func TestCancelOfASnapshot(t *testing.T) {
	t.Parallel()
	for _, mode := range []sol.CancelModeType{sol.CancelModeGraceful, sol.CancelModeForceful} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			slow := map[string]simcloud.Duration{"OS::Glance::Image": simcloud.Duration(300 * time.Millisecond)}
			cloud := simcloud.StartTest(t, simcloud.Options{Timing: simcloud.Timing{Create: slow}})
			w := newMixed(t, cloud)
			w.mixed("two")
			w.completed()
			id := w.createSnapshot()
			d, r := w.node()
			defer d.Close()
			require.Eventually(t, func() bool {
				if len(w.serverImages(id)) > 0 {
					return true
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				_, _, err := r.Advance(ctx, w.store.op.ID)
				return err != nil
			}, patience, time.Millisecond)
			w.store.mu.Lock()
			w.store.op.Cancel = mode
			w.store.mu.Unlock()
			w.failed()
			if mode == sol.CancelModeGraceful {
				for _, o := range cloud.State()["images"] {
					require.Equal(t, "active", o.Status)
				}
			}
			w.steer(lcm.EventRollback)
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run())
			require.Empty(t, w.serverImages(id))
			require.Empty(t, w.copies(id))
		})
	}
}

// TestSnapshotWithDeaths: a node that dies at any write or change makes nothing twice, with volumes, too.
func TestSnapshotWithDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of snapshots")
	}
	t.Parallel()
	for name, plan := range map[string]func(*world, int){
		"before a write":        func(w *world, n int) { w.store.dieAt = n },
		"before a change":       func(w *world, n int) { w.dieAtChange = n },
		"after a change's call": func(w *world, n int) { w.dieAtChange, w.dieAfterCall = n, true },
	} {
		for _, revert := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/revert %t", name, revert), func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
					w.mixed("two")
					w.completed()
					var id string
					if id = w.createSnapshot(); revert {
						w.completed()
						w.revert(id)
					}
					w.reset()
					plan(w, n)
					w.completed()
					died := w.deaths > 0
					w.reset()
					require.Len(t, w.serverImages(id), 3)
					require.Len(t, w.copies(id), 1)
					require.Len(t, w.store.snapshot, 4)
					if revert {
						require.Equal(t, w.serverImages(id)["VDU1-0"], w.imageOf("VDU1", 0))
						require.Equal(t, w.copies(id)["VDU2-0-VDU2-VirtualStorage"], w.sourceOf())
					}
					if !died {
						require.Greater(t, n, 3)
						return
					}
				}
			})
		}
	}
}

// TestSnapshotsThatCannotBeRevertedAreNotTaken: VNFCs of groups share a template, and a volume that Nova makes of an
// image is not in the template.
func TestSnapshotsThatCannotBeRevertedAreNotTaken(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	w.createSnapshot()
	d, _ := w.node()
	defer d.Close()
	r := lcm.Request{
		Type: w.store.op.Type, Instance: &w.store.instance, VNFD: w.pkg.model, Flavour: &w.pkg.model.Flavours[0],
		Package: w.pkg.files, Params: w.store.op.Params, Scope: w.store.op.Scope,
	}
	require.NoError(t, d.Validate(t.Context(), r))
	i := copied(w.store.instance)
	for n := range i.Inventory {
		if i.Inventory[n].Type == "OS::Cinder::Volume" {
			i.Inventory[n].Name = "of-nova"
		}
	}
	r.Instance = &i
	err := d.Validate(t.Context(), r)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
	require.ErrorContains(t, err, `"of-nova"`)

	groups := copied(w.store.instance)
	groups.Params = encoded(t, map[string]any{
		"lcm-operation-user-data":       "./UserData/lcm_user_data.py",
		"lcm-operation-user-data-class": "DefaultUserData",
	})
	r.Instance = &groups
	err = d.Validate(t.Context(), r)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
	require.ErrorContains(t, err, "StandardUserData")
}

// TestLeftoversOfSnapshots: what an unknown snapshot has is found by its mark, and removed; what another project or
// user has named alike stays.
func TestLeftoversOfSnapshots(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	id := w.createSnapshot()
	w.completed()
	d, _ := w.node()
	defer d.Close()
	i := w.store.instance
	known, err := d.Leftovers(t.Context(), &i, []*lcm.Snapshot{w.record(id)})
	require.NoError(t, err)
	require.Empty(t, known.Extra)
	found, err := d.Leftovers(t.Context(), &i, nil)
	require.NoError(t, err)
	require.Len(t, found.Extra, 4)
	left, err := d.RemoveLeftovers(t.Context(), &i, nil, found.Extra)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, w.serverImages(id))
	require.Empty(t, w.copies(id))
}
