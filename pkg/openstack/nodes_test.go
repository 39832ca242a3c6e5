package openstack_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// named is a node with a name of its own.
func (w *world) named(name string) (*openstack.Driver, *execution.Runner) {
	d, r := w.node()
	r.Node = name
	return d, r
}

// turns lets nodes work in turn until the operation ends or stop says so.
func (w *world) turns(stop func() bool, nodes ...*execution.Runner) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for i := 0; time.Now().Before(deadline); i++ {
		_, again, err := nodes[i%len(nodes)].Advance(w.t.Context(), w.store.op.ID)
		require.NoError(w.t, err)
		if !again || stop != nil && stop() {
			return
		}
	}
	require.Fail(w.t, "the operation does not end")
}

func (w *world) count(part string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if strings.Contains(c, part) {
			n++
		}
	}
	return n
}

// TestSlowUploadIsSharedByNodes: an image that takes longer than a tick is sent once, whichever node gets the next
// tick.
func TestSlowUploadIsSharedByNodes(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{Timing: simcloud.Timing{Create: map[string]simcloud.Duration{
		"OS::Glance::Image": simcloud.Duration(4 * time.Second),
	}}})
	w := newWorld(t, cloud)
	w.retry.TickBudget = time.Second // a call that is cut off is made again
	w.cfg.NodeAlive = func(context.Context, string) bool { return true }
	a, ra := w.named("a")
	defer a.Close()
	b, rb := w.named("b")
	defer b.Close()
	w.instantiate("simple")
	w.turns(nil, ra, rb)
	require.Equal(t, sol.LcmOperationStateCompleted, w.store.op.State, "%+v", w.store.op.Error)
	require.Equal(t, 2, w.count("POST /image/v2/images"))
	require.Equal(t, 2, w.count("/file"))
}

// TestUploadOfADeadNode: what a dead node sent half of is thrown away and sent again, at once where nodes know of each
// other, after a minute of silence where they do not, and at once by the same node after a restart.
func TestUploadOfADeadNode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, successor string
		known           bool
	}{{"known to be dead", "b", true}, {"silent", "b", false}, {"restarted", "a", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			before := cloud.State()
			hang := cloud.AddFault(simcloud.Fault{Kind: fault.Hang, Service: "glance", Method: "PUT"})
			w := newWorld(t, cloud)
			w.retry.TickBudget = 200 * time.Millisecond
			var gone atomic.Bool
			if tt.known {
				w.cfg.NodeAlive = func(context.Context, string) bool { return !gone.Load() }
			} else {
				w.clock = fastClock{time.Now()}
			}
			a, ra := w.named("a")
			w.instantiate("simple")
			w.turns(func() bool { return w.count("/file") >= 2 }, ra)
			a.Close()
			gone.Store(true)
			cloud.Faults().Remove(hang)

			b, rb := w.named(tt.successor)
			defer b.Close()
			w.turns(nil, rb)
			require.Equal(t, sol.LcmOperationStateCompleted, w.store.op.State, "%+v", w.store.op.Error)
			w.terminate()
			w.completed()
			require.Empty(t, cloud.State().Since(before))
		})
	}
}

const groupTop = `heat_template_version: 2013-05-23
parameters: { nfv: { type: json } }
resources:
  VDU1_group:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: { get_param: [ nfv, VDU, VDU1, desired_capacity ] }
      resource:
        type: VDU1.yaml
        properties:
          flavor: { get_param: [ nfv, VDU, VDU1, computeFlavourId ] }
          image: { get_param: [ nfv, VDU, VDU1, vcImageId ] }
          net: { get_param: [ nfv, CP, VDU1_CP1, network ] }
`

const groupMember = `heat_template_version: 2013-05-23
parameters: { flavor: { type: string }, image: { type: string }, net: { type: string } }
resources:
  VDU1:
    type: OS::Nova::Server
    properties:
      flavor: { get_param: flavor }
      image: { get_param: image }
      networks: [ { port: { get_resource: VDU1_CP1 } } ]
  VDU1_CP1:
    type: OS::Neutron::Port
    properties: { network: { get_param: net } }
`

// TestGroup: a package for DefaultUserData, whose VNFCs are members of a group, at its larger level and in a granted
// zone.
func TestGroup(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	w.pkg = onePackage{
		model: &vnfd.VNFD{ID: "d", Flavours: []vnfd.Flavour{{
			ID: "group",
			VDUs: []vnfd.VDU{{
				Name: "VDU1", MinInstances: 1, MaxInstances: 3, ComputeFlavour: "m1.tiny",
				Image: &vnfd.SwImage{Name: "cirros-0.5.2-x86_64-disk"},
			}},
			CPs:     []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1"}},
			Aspects: []vnfd.ScalingAspect{{ID: "VDU1_scale", MaxScaleLevel: 2}},
			Levels: []vnfd.InstantiationLevel{{ID: "small", VDUs: map[string]int{"VDU1": 1}}, {
				ID: "large", VDUs: map[string]int{"VDU1": 3}, ScaleLevels: map[string]int{"VDU1_scale": 2},
			}},
			DefaultLevel: "small",
		}}},
		files: fstest.MapFS{"BaseHOT/group/top.yaml": {Data: []byte(groupTop)}, "BaseHOT/group/nested/VDU1.yaml": {
			Data: []byte(groupMember),
		}},
	}
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "group", "instantiationLevelId": "large",
		"extVirtualLinks": []any{map[string]any{
			"id": "e", "resourceId": cloud.Net0ID(), "extCps": []any{map[string]any{"cpdId": "VDU1_CP1"}},
		}},
	})
	w.completed()
	i := w.store.instance.Instantiated
	require.Len(t, i.VnfcResourceInfo, 3)
	require.Equal(t, []sol.ScaleInfo{{AspectID: "VDU1_scale", ScaleLevel: 2}}, i.ScaleStatus)
	for _, r := range i.VnfcResourceInfo {
		require.Contains(t, r.Metadata["parent_stack_id"], w.stackName()+"-VDU1_group-")
		require.NotEmpty(t, r.Metadata["parent_resource_name"])
		require.Equal(t, "cirros-0.5.2-x86_64-disk", r.Metadata["image-VDU1"])
		require.Len(t, r.VnfcCpInfo, 1)
	}
	w.terminate()
	w.completed()
	require.Empty(t, cloud.State().Since(before))
}

// BenchmarkInstantiate is a whole instantiation and termination of the sample against a cloud that needs no time, with
// the number of calls it costs.
func BenchmarkInstantiate(b *testing.B) {
	cloud := simcloud.StartTest(b, simcloud.Options{})
	var calls int
	for b.Loop() {
		w := newWorld(b, cloud)
		w.instantiate("complex")
		w.completed()
		calls += len(w.calls)
		w.terminate()
		w.completed()
	}
	b.ReportMetric(float64(calls)/float64(b.N), "calls/instantiate")
}
