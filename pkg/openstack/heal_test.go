package openstack_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// heal admits a SOL002 heal of VNFCs.
func (w *world) heal(params sol.KeyValuePairs, vnfcs ...string) {
	w.t.Helper()
	w.change(sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: vnfcs, AdditionalParams: params},
		lcm.Scope{Flavour: "default", VNFCs: vnfcs})
}

// TestHealOneVNFC: exactly the server of the VNFC is new, its ports stay, its storage too unless the request has it
// replaced, whatever had become of the old server.
func TestHealOneVNFC(t *testing.T) {
	t.Parallel()
	healthy := func(*world, string) {}
	deleted := func(w *world, server string) { w.ask("compute", http.MethodDelete, "/servers/"+server, nil) }
	for _, tt := range []struct {
		name, vdu string
		params    sol.KeyValuePairs
		was       func(*world, string)
		volumes   []string
	}{
		{"with a port", "VDU1", nil, healthy, nil},
		{"with a volume that stays", "VDU2", nil, healthy, nil},
		{"with its volume", "VDU2", sol.KeyValuePairs{"all": true}, healthy, []string{"VDU2-0 VDU2-VirtualStorage"}},
		{"without a stack of its own", "VDU3", nil, healthy, nil},
		{"that another client deleted", "VDU2", nil, deleted, nil},
		{"in ERROR", "VDU1", nil, func(w *world, server string) {
			w.ask("compute", http.MethodPost, "/servers/"+server+"/action",
				map[string]any{"os-resetState": map[string]any{"state": "error"}})
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
			w.mixed("two")
			w.completed()
			servers, ports, volumes := w.ids("OS::Nova::Server"), w.ids("OS::Neutron::Port"), w.ids(
				"OS::Cinder::Volume",
			)
			sick := w.vnfc(tt.vdu, 0)
			_, res, _ := w.store.instance.VNFC(sick)
			tt.was(w, res.ComputeResource.ResourceID)

			w.heal(tt.params, sick)
			w.completed()
			place := fmt.Sprintf("%s-0 %s", tt.vdu, w.serverName(tt.vdu))
			require.Equal(t, []string{place}, differing(servers, w.ids("OS::Nova::Server")))
			require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
			require.Equal(t, tt.volumes, differing(volumes, w.ids("OS::Cinder::Volume")))
			require.NotEqual(t, sick, w.vnfc(tt.vdu, 0), "a new server makes a new VNFC")
			require.Contains(t, w.store.forgotten, sick, "the host key of the old machine")
			require.Equal(t, 1, w.updates(), "one update of the stack is enough")
		})
	}
}

// serverName is the name of a VDU's server resource: that of VDU3 has its index.
func (w *world) serverName(vdu string) string {
	if vdu == "VDU3" {
		return "VDU3-0"
	}
	return vdu
}

// TestHealAll: a SOL003 heal replaces every server and nothing else.
func TestHealAll(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	servers, ports, volumes := w.ids("OS::Nova::Server"), w.ids("OS::Neutron::Port"), w.ids("OS::Cinder::Volume")
	w.heal(nil, w.all()...)
	w.completed()
	require.Len(t, differing(servers, w.ids("OS::Nova::Server")), 4)
	require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
	require.Empty(t, differing(volumes, w.ids("OS::Cinder::Volume")))
	require.Equal(t, 1, w.updates())
}

// all lists the VNFCs as the instance does.
func (w *world) all() []string {
	var out []string
	for _, c := range w.store.instance.Instantiated.VnfcInfo {
		out = append(out, c.ID)
	}
	return out
}

// TestHealSurvivesDeath: a node dies at every write to the database and at every call to the cloud, before and after it
// is done. The VNFC is healed, and exactly once.
func TestHealSurvivesDeath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		die  func(w *world, k int)
	}{
		{"before a write", func(w *world, k int) { w.store.dieAt, w.store.dieAfter = k, false }},
		{"after a write", func(w *world, k int) { w.store.dieAt, w.store.dieAfter = k, true }},
		{"before a call", func(w *world, k int) { w.dieAtCall, w.dieAfterCall = k, false }},
		{"after a call", func(w *world, k int) { w.dieAtCall, w.dieAfterCall = k, true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
			w.mixed("one")
			w.completed()
			for k := 1; ; k++ {
				require.Less(t, k, 100)
				made, was := w.made("VDU1", 0), w.vnfc("VDU1", 0)
				w.reset()
				w.deaths = 0
				tt.die(w, k)
				w.heal(nil, was)
				w.completed()
				require.NotEqual(t, was, w.vnfc("VDU1", 0))
				require.Equal(t, made+1, w.made("VDU1", 0), "death %d", k)
				if w.deaths == 0 {
					require.Greater(t, k, 4, "the test has to kill")
					return
				}
			}
		})
	}
}

// TestHealAgain: a heal for which there is no host fails in the VIM's words; a retry makes what is missing and leaves
// what was healed alone.
func TestHealAgain(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newMixed(t, cloud)
	w.mixed("two")
	w.completed()
	before := w.ids("OS::Nova::Server")
	w.holdBack("UPDATE_COMPLETE")
	rule := cloud.AddFault(simcloud.Fault{
		Kind: "fail_resource", ResourceName: "VDU1", Stack: "*-VDU1-1-*", Action: "create", Reason: "disk on fire",
	})
	first, second := w.vnfc("VDU1", 0), w.vnfc("VDU1", 1)
	w.heal(nil, first, second)
	failure := w.failed()
	require.Contains(t, failure.Detail, "disk on fire")

	require.True(t, cloud.Faults().Remove(rule))
	healed := w.serverNow("VDU1-0")
	require.NotEqual(t, before["VDU1-0 VDU1"], healed)
	w.steer(lcm.EventRetry)
	w.completed()
	require.Equal(t, []string{"VDU1-0 VDU1", "VDU1-1 VDU1"}, differing(before, w.ids("OS::Nova::Server")))
	require.Equal(t, healed, w.ids("OS::Nova::Server")["VDU1-0 VDU1"], "what was healed is not healed again")
}

// serverNow is the server that Heat has for a resource of the top stack.
func (w *world) serverNow(name string) string {
	w.t.Helper()
	top := "/stacks/" + w.stackName() + "/" + w.store.instance.Instantiated.Metadata["stack_id"].(string)
	list, _ := w.ask("orchestration", http.MethodGet, top+"/resources?nested_depth=2", nil)["resources"].([]any)
	for _, e := range list {
		r, _ := e.(map[string]any)
		if parent, _ := r["parent_resource"].(string); parent == name && r["resource_type"] == "OS::Nova::Server" {
			return r["physical_resource_id"].(string)
		}
	}
	return ""
}

// TestHealOfWhatFailedBefore: a VNFC whose resource Heat holds for failed, because an operation was given up, heals.
func TestHealOfWhatFailedBefore(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newMixed(t, cloud)
	w.mixed("one")
	w.completed()
	sick := w.vnfc("VDU1", 0)
	rule := cloud.AddFault(
		simcloud.Fault{Kind: "fail_resource", ResourceName: "VDU1", Action: "create", Reason: "disk on fire"},
	)
	w.heal(nil, sick)
	w.failed()
	require.True(t, cloud.Faults().Remove(rule))
	count := len(w.store.instance.Instantiated.VnfcInfo)
	w.heal(nil, w.all()...) // the user has marked the first one failed
	w.store.op.Scope.Counts = map[string]int{"VDU1": 1}
	w.completed()
	require.LessOrEqual(t, count, 1)
	require.Len(t, w.store.instance.Instantiated.VnfcInfo, 1)
	require.NotEqual(t, sick, w.vnfc("VDU1", 0))
}

// TestHealWhole: everything is recreated from the previous values, also after failures.
func TestHealWhole(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newMixed(t, cloud)
	w.zones = []string{"nova"}
	w.mixed("two")
	w.completed()
	n := 1
	for k := 1; ; k++ {
		require.Less(t, k, 200)
		was, nfv := w.ids("OS::Nova::Server"), w.store.instance.Instantiated.Metadata["nfv"]
		stack := w.store.instance.Instantiated.Metadata["stack_id"]
		w.reset()
		w.deaths = 0
		w.store.dieAt, w.store.dieAfter = k, k%2 == 0
		w.change(sol.LcmOperationHeal, sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}},
			lcm.Scope{Flavour: "default", Whole: true, VNFCs: w.all()})
		w.completed()
		require.Len(t, differing(was, w.ids("OS::Nova::Server")), 4)
		require.Equal(t, nfv, w.store.instance.Instantiated.Metadata["nfv"], "the values that held")
		require.NotEqual(t, stack, w.store.instance.Instantiated.Metadata["stack_id"])
		tops, names := w.stacks()
		require.Equal(t, 1, tops, names)
		n++
		if w.deaths == 0 {
			break
		}
	}
	require.Greater(t, n, 4, "the test has to kill")
	w.terminate()
	w.completed()
	require.Empty(t, cloud.State().Since(before))
}

// TestHealFindsNoStack: without a stack a heal fails with a hint.
func TestHealFindsNoStack(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("one")
	w.completed()
	w.ask("orchestration", http.MethodDelete,
		"/stacks/"+w.stackName()+"/"+w.store.instance.Instantiated.Metadata["stack_id"].(string), nil)
	w.heal(nil, w.vnfc("VDU1", 0))
	require.Eventually(t, func() bool { tops, _ := w.stacks(); return tops == 0 }, time.Minute, 5*time.Millisecond)
	failure := w.failed()
	require.Contains(t, failure.Detail, "is not in the VIM")
	require.Contains(t, failure.Hint, "all")
}

// TestServerThatIsNotDeleted: a server that Nova does not let go of ends the heal with its name and what to look at,
// within bounds.
func TestServerThatIsNotDeleted(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newMixed(t, cloud)
	w.mixed("one")
	w.completed()
	cloud.MergeTiming(
		simcloud.Timing{Delete: map[string]simcloud.Duration{"OS::Nova::Server": simcloud.Duration(time.Hour)}},
	)
	w.cfg.ServerTimeout = 20 * time.Millisecond
	sick := w.vnfc("VDU1", 0)
	w.heal(nil, sick)
	failure := w.failed()
	require.Contains(t, failure.Detail, sick)
	require.Contains(t, failure.Detail, "is not deleted")
	require.NotEmpty(t, failure.Hint)
	require.Zero(t, w.updates())
}
