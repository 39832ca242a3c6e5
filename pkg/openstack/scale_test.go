package openstack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// resize admits an operation after which the VDUs have these numbers of VNFCs, in the flavour given.
func (w *world) resize(typ sol.LcmOperationType, flavour string, counts map[string]int, params any) {
	w.t.Helper()
	w.admit(typ, params)
	before := copied(w.store.instance)
	s := &lcm.Scope{Flavour: flavour, Counts: counts, Add: map[string]int{}}
	surplus := map[string]int{}
	for _, c := range before.Instantiated.VnfcInfo {
		surplus[c.VduID]++
	}
	for vdu, n := range counts {
		if n > surplus[vdu] {
			s.Add[vdu] = n - surplus[vdu]
		}
		surplus[vdu] -= n
	}
	for _, c := range before.Instantiated.VnfcInfo {
		if surplus[c.VduID] > 0 {
			surplus[c.VduID]--
			s.Remove = append(s.Remove, c.ID)
		}
	}
	w.store.op.Before, w.store.op.Scope = &before, s
}

// scale admits a SCALE operation of a running instance to these numbers.
func (w *world) scale(typ sol.ScaleType, counts map[string]int) {
	w.t.Helper()
	w.resize(sol.LcmOperationScale, w.store.instance.Instantiated.FlavourID, counts,
		sol.ScaleVnfRequest{Type: typ, AspectID: "a"})
}

// running is a world with an instance of a package, at its default level.
func running(t *testing.T, cloud *simcloud.Cloud, k kind) *world {
	t.Helper()
	w := newWorld(t, cloud)
	k.start(w)
	w.completed()
	w.reset()
	w.deaths = 0
	return w
}

// kind is a package for one of the two user data classes, with two VNFCs of vdu at its default level.
type kind struct {
	name, vdu string
	start     func(w *world)
	counts    func(n int) map[string]int
}

var kinds = []kind{
	{"standard", "workerNode", func(w *world) {
		w.instantiate("simple")
		params, _ := w.request("simple")["additionalParams"].(map[string]any)
		w.store.instance.Params = encoded(w.t, params)
	}, func(n int) map[string]int { return map[string]int{"masterNode": 1, "workerNode": n} }},
	{"groups", "VDU1", func(w *world) {
		w.grouped(groupTop)
	}, func(n int) map[string]int { return map[string]int{"VDU1": n} }},
	{"groups with policies", "VDU1", func(w *world) {
		w.grouped(signalledTop)
	}, func(n int) map[string]int { return map[string]int{"VDU1": n} }},
	{"groups of a fixed size", "VDU1", func(w *world) {
		w.grouped(fixedTop)
	}, func(n int) map[string]int { return map[string]int{"VDU1": n} }},
}

// fixedTop is groupTop with a group whose size no parameter decides, signalledTop has policies for it.
var (
	fixedTop     = strings.Replace(groupTop, "{ get_param: [ nfv, VDU, VDU1, desired_capacity ] }", "1", 1)
	signalledTop = fixedTop + `
  VDU1_scale_out:
    type: OS::Heat::ScalingPolicy
    properties: { auto_scaling_group_id: { get_resource: VDU1_group }, adjustment_type: change_in_capacity, scaling_adjustment: 1 }
  VDU1_scale_in:
    type: OS::Heat::ScalingPolicy
    properties: { auto_scaling_group_id: { get_resource: VDU1_group }, adjustment_type: change_in_capacity, scaling_adjustment: -1 }
`
)

// groupPackage is a package for DefaultUserData, with this template for two VNFCs in a group.
func groupPackage(top string) onePackage {
	return onePackage{
		model: &vnfd.VNFD{ID: "d", Flavours: []vnfd.Flavour{{
			ID: "group",
			VDUs: []vnfd.VDU{{
				Name: "VDU1", MinInstances: 1, MaxInstances: 5, InitialInstances: 2, ComputeFlavour: "m1.tiny",
				Image: &vnfd.SwImage{Name: "cirros-0.5.2-x86_64-disk"},
			}},
			CPs: []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1"}},
		}}},
		files: fstest.MapFS{
			"BaseHOT/group/top.yaml":         {Data: []byte(strings.Replace(top, "max_size: 3", "max_size: 5", 1))},
			"BaseHOT/group/nested/VDU1.yaml": {Data: []byte(groupMember)},
		},
	}
}

func (w *world) grouped(top string) {
	w.pkg = groupPackage(top)
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "group",
		"extVirtualLinks": []any{map[string]any{
			"id": "e", "resourceId": w.cloud.Net0ID(), "extCps": []any{map[string]any{"cpdId": "VDU1_CP1"}},
		}},
	})
}

// serversOf lists the servers of the instance's VNFCs of a VDU by the index in their order of age, oldest first.
func (w *world) serversOf(vdu string) []string {
	var out []string
	for _, r := range slices.Backward(w.store.instance.Instantiated.VnfcResourceInfo) {
		if r.VduID == vdu {
			out = append(out, r.ComputeResource.ResourceID)
		}
	}
	return out
}

func (w *world) serverOf(vnfc string) string {
	w.t.Helper()
	_, r, ok := w.store.instance.VNFC(vnfc)
	require.True(w.t, ok, vnfc)
	return r.ComputeResource.ResourceID
}

// liveServers lists the servers that the cloud has, sorted.
func (w *world) liveServers() []string {
	var out []string
	for _, s := range w.cloud.State()["servers"] {
		out = append(out, s.ID)
	}
	slices.Sort(out)
	return out
}

func sorted(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return out
}

// TestScaleOutAndIn: VNFCs come and go as the scope says, the others are not touched, and it is said truthfully.
func TestScaleOutAndIn(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			before := cloud.State()
			w := running(t, cloud, k)
			first := w.serversOf(k.vdu)
			others := w.liveServers()
			require.Len(t, first, 2)

			w.scale(sol.ScaleTypeOut, k.counts(4))
			w.completed()
			require.Len(t, w.serversOf(k.vdu), 4)
			added := slices.DeleteFunc(w.serversOf(k.vdu), func(id string) bool { return slices.Contains(first, id) })
			require.Len(t, added, 2, "those that are there stay")
			require.Equal(t, sorted(slices.Concat(others, added)), w.liveServers())
			require.Equal(t, changed(sol.ChangeTypeAdded, added), vnfcChanges(w.store.op.ResourceChanges))

			w.scale(sol.ScaleTypeIn, k.counts(3))
			gone := []string{w.serverOf(w.store.op.Scope.Remove[0])}
			w.completed()
			require.Equal(t, sorted(slices.DeleteFunc(slices.Concat(others, added), func(id string) bool {
				return id == gone[0]
			})), w.liveServers())
			require.Equal(t, changed(sol.ChangeTypeRemoved, gone), vnfcChanges(w.store.op.ResourceChanges))
			nfv := fmt.Sprint(w.store.instance.Instantiated.Metadata["nfv"])
			require.NotContains(t, nfv, k.vdu+"-3", "what the VNFC was made from went with it")

			w.terminate()
			w.completed()
			require.Empty(t, cloud.State().Since(before))
		})
	}
}

func changed(typ sol.ChangeType, servers []string) []string {
	var out []string
	for _, s := range servers {
		out = append(out, string(typ)+" "+s)
	}
	return sorted(out)
}

func vnfcChanges(c *sol.ResourceChanges) []string {
	var out []string
	if c != nil {
		for _, a := range c.AffectedVnfcs {
			out = append(out, string(a.ChangeType)+" "+a.ComputeResource.ResourceID)
		}
	}
	return sorted(out)
}

// TestScaleInTakesTheChosen: those that the scope names go, also when they are not those that Heat would take.
func TestScaleInTakesTheChosen(t *testing.T) {
	t.Parallel()
	w := running(t, simcloud.StartTest(t, simcloud.Options{}), kinds[1])
	w.scale(sol.ScaleTypeOut, kinds[1].counts(4))
	w.completed()
	all := w.store.instance.Instantiated.VnfcInfo
	stay, goes := []string{all[0].VnfcResourceInfoID, all[2].VnfcResourceInfoID}, []string{all[1].ID, all[3].ID}
	w.scale(sol.ScaleTypeIn, kinds[1].counts(2))
	w.store.op.Scope.Remove = goes
	w.completed()
	require.Equal(t, sorted(stay), w.liveServers())
}

// TestScaleInSparesTheSick: a member that has failed is not taken away in the place of the one that the scope names.
func TestScaleInSparesTheSick(t *testing.T) {
	t.Parallel()
	w := running(t, simcloud.StartTest(t, simcloud.Options{}), kinds[1])
	all := w.store.instance.Instantiated.VnfcInfo
	_, sick, _ := w.store.instance.VNFC(all[1].ID)
	w.patch(fmt.Sprintf(
		"/stacks/%s/resources/%s", sick.Metadata["parent_stack_id"], sick.Metadata["parent_resource_name"],
	), map[string]any{"mark_unhealthy": true})
	w.scale(sol.ScaleTypeIn, kinds[1].counts(1))
	require.Equal(t, []string{all[0].ID}, w.store.op.Scope.Remove)
	w.completed()
	require.Equal(t, []string{all[1].VnfcResourceInfoID}, w.liveServers())
}

// TestScaleSurvivesDeath: a node dies at every call to the cloud and at every write, before and after it is done.
// Nothing is made twice, nothing too much is taken away.
func TestScaleSurvivesDeath(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[:3] {
		for place, die := range map[string]func(w *world, n int, after bool){
			"call":  func(w *world, n int, after bool) { w.dieAtCall, w.dieAfterCall = n, after },
			"write": func(w *world, n int, after bool) { w.store.dieAt, w.store.dieAfter = n, after },
		} {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, done %t", k.name, place, after), func(t *testing.T) {
					t.Parallel()
					w := running(t, simcloud.StartTest(t, simcloud.Options{}), k)
					w.clock, w.retry.InlineWait = fastClock{time.Now()}, time.Millisecond
					others := w.liveServers()
					deaths := 0
					for n, alive := 1, 0; alive < 2; n++ {
						require.Less(t, n, 200)
						alive = 0
						for _, step := range []struct {
							typ  sol.ScaleType
							size int
						}{{sol.ScaleTypeOut, 3}, {sol.ScaleTypeIn, 2}} {
							w.reset()
							w.deaths = 0
							stay := w.serversOf(k.vdu)
							w.scale(step.typ, k.counts(step.size))
							for _, id := range w.store.op.Scope.Remove {
								stay = slices.DeleteFunc(stay, func(s string) bool { return s == w.serverOf(id) })
							}
							die(w, n, after)
							w.completed()
							if w.deaths == 0 {
								alive++
							}
							deaths += w.deaths
							require.Subset(t, w.serversOf(k.vdu), stay, "death %d of %s", n, step.typ)
							require.Len(t, w.serversOf(k.vdu), step.size, "death %d of %s", n, step.typ)
							require.Len(t, w.liveServers(), len(others)+step.size-2, "death %d of %s", n, step.typ)
						}
					}
					require.Greater(t, deaths, 8, "the test has to kill")
				})
			}
		}
	}
}

// TestScaleInABadMinute: what passes by itself must not reach the user, and must not happen twice.
func TestScaleInABadMinute(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]simcloud.Fault{
		"the reply to the update is lost": {Kind: fault.DropReply, Service: "heat", Method: "PATCH", Count: 1},
		"Heat is away":                    {Kind: fault.Status, Service: "heat", Status: 503, Count: 3},
		"the update is refused at first": {
			Kind: fault.Status, Service: "heat", Method: "PATCH", Status: 409, Count: 2,
		},
		"tokens expire at the update": {Kind: fault.ExpireTokens, Service: "heat", Method: "PATCH", Count: 1},
		"a proxy answers in HTML":     {Kind: fault.HTML, Service: "heat", Count: 2},
	} {
		for _, k := range kinds[:3] {
			t.Run(name+", "+k.name, func(t *testing.T) {
				t.Parallel()
				w := running(t, simcloud.StartTest(t, simcloud.Options{}), k)
				w.retry.Retries = 8
				w.cloud.AddFault(rule)
				n := len(w.liveServers())
				w.scale(sol.ScaleTypeOut, k.counts(3))
				w.completed()
				w.scale(sol.ScaleTypeIn, k.counts(2))
				w.completed()
				require.Len(t, w.liveServers(), n)
				for _, r := range w.cloud.Faults().List() {
					require.Positive(t, r.Fired, "the fault has to happen")
				}
			})
		}
	}
}

// TestUpdateThatHeatGotTwice: when a request seems lost and is sent again, Heat may have got both, and cancel in the
// middle what the first has begun. The user, who has cancelled nothing, is not asked to retry. When the request was
// sent once another client has cancelled, and the hint says that.
func TestUpdateThatHeatGotTwice(t *testing.T) {
	t.Parallel()
	cancelled := simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Count: 1,
		Reason: "Stack UPDATE cancelled",
	}
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := running(t, simcloud.StartTest(t, simcloud.Options{}), k)
			n := len(w.liveServers())
			lost := w.cloud.AddFault(
				simcloud.Fault{Kind: fault.Status, Service: "heat", Method: "PATCH", Status: 409, Count: 1},
			)
			rule := w.cloud.AddFault(cancelled)
			w.scale(sol.ScaleTypeOut, k.counts(3))
			w.completed()
			require.Len(t, w.liveServers(), n+1)
			for _, r := range w.cloud.Faults().List() {
				require.Positive(t, r.Fired, "the fault has to happen")
			}
			require.True(t, w.cloud.Faults().Remove(lost) && w.cloud.Faults().Remove(rule))

			w.cloud.AddFault(cancelled)
			w.scale(sol.ScaleTypeOut, k.counts(4))
			require.Contains(t, w.failed().Hint, "the action was cancelled")
		})
	}
}

// TestScaleWaitsForOthers: an update of another client is neither superseded nor adopted.
func TestScaleWaitsForOthers(t *testing.T) {
	t.Parallel()
	w := running(t, simcloud.StartTest(t, simcloud.Options{Timing: simcloud.Timing{Create: map[string]simcloud.Duration{
		"OS::Heat::RandomString": simcloud.Duration(300 * time.Millisecond),
	}}}), kinds[1])
	id := fmt.Sprint(w.store.instance.Instantiated.Metadata["stack_id"])
	w.patch("/stacks/"+w.stackName()+"/"+id, map[string]any{
		"template": strings.Replace(
			groupTop, "resources:\n", "resources:\n  foreign: { type: OS::Heat::RandomString }\n", 1,
		),
		"files": map[string]string{"VDU1.yaml": groupMember},
	})
	w.scale(sol.ScaleTypeOut, kinds[1].counts(3))
	w.completed()
	require.Len(t, w.serversOf("VDU1"), 3)
	require.NotContains(t, w.resourceNames(), "foreign", "the package says what is in the stack")
}

// patch makes a call to Heat that no node makes.
func (w *world) patch(path string, body any) {
	w.t.Helper()
	provider, err := simcloud.Login(w.t.Context(), w.cloud.AuthOptions())
	require.NoError(w.t, err)
	heat, err := gopenstack.NewOrchestrationV1(provider, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(w.t, err)
	res, err := heat.Request(w.t.Context(), http.MethodPatch, strings.TrimSuffix(heat.Endpoint, "/")+path,
		&gophercloud.RequestOpts{OkCodes: []int{200, 202}, JSONBody: body})
	require.NoError(w.t, err)
	require.NoError(w.t, res.Body.Close())
	provider.HTTPClient.CloseIdleConnections()
}

func (w *world) resourceNames() []string {
	var out []string
	for _, r := range w.store.instance.Inventory {
		out = append(out, r.Name)
	}
	return out
}

// TestScaleOfAStackThatIsGone: it is said, and nothing is made in its place behind the user's back.
func TestScaleOfAStackThatIsGone(t *testing.T) {
	t.Parallel()
	w := running(t, simcloud.StartTest(t, simcloud.Options{}), kinds[1])
	w.call(
		http.MethodDelete, "/stacks/"+w.stackName()+"/"+fmt.Sprint(w.store.instance.Instantiated.Metadata["stack_id"]),
	)
	w.scale(sol.ScaleTypeOut, kinds[1].counts(3))
	f := w.failed()
	require.Equal(t, "Stack not found", f.Title)
	require.Contains(t, f.Detail, w.stackName())
	tops, _ := w.stacks()
	require.Zero(t, tops)
}

// TestScaleOfAStackOfOthers: a stack of another client with the instance's name is not overwritten.
func TestScaleOfAStackOfOthers(t *testing.T) {
	t.Parallel()
	w := running(t, simcloud.StartTest(t, simcloud.Options{}), kinds[1])
	own := fmt.Sprint(w.store.instance.Instantiated.Metadata["stack_id"])
	w.patch("/stacks/"+w.stackName()+"/"+own, map[string]any{"tags": "theirs"})
	w.scale(sol.ScaleTypeOut, kinds[1].counts(3))
	w.completed()
	w.patch("/stacks/"+w.stackName()+"/"+own, map[string]any{"tags": "theirs"})
	w.scale(sol.ScaleTypeOut, kinds[1].counts(4))
	w.store.op.Before.Instantiated.Metadata["stack_id"] = "another"
	require.Contains(t, w.failed().Detail, "does not carry its tag")
	require.Len(t, w.liveServers(), 3, "the tags are theirs, and so is the stack")
}

// TestScaleOutFails: the reason reaches the user from where it began. A retry makes what is missing, a rollback takes
// away what came, and nothing else.
func TestScaleOutFails(t *testing.T) {
	t.Parallel()
	const reason = "Went to status ERROR due to \"Message: No valid host was found. There are not enough hosts " +
		"available., Code: 500\""
	for _, k := range kinds {
		for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
			t.Run(k.name+", "+string(then), func(t *testing.T) {
				t.Parallel()
				w := running(t, simcloud.StartTest(t, simcloud.Options{}), k)
				first, before := w.serversOf(k.vdu), w.liveServers()
				rule := w.cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: k.vdu, Action: "create",
					Nth: 2, Reason: reason,
				})
				w.scale(sol.ScaleTypeOut, k.counts(4))
				f := w.failed()
				require.Equal(t, "Stack update failed", f.Title)
				require.Contains(t, f.Detail, "UPDATE_FAILED")
				require.Contains(t, f.Detail, "No valid host was found")
				require.Contains(t, f.Hint, "no compute host can take the server")
				w.failedAgain(lcm.EventRetry, rule)

				w.steer(then)
				if then == lcm.EventRetry {
					w.completed()
					require.Subset(t, w.serversOf(k.vdu), first)
					require.Len(t, w.liveServers(), len(before)+2, "the failed server is gone")
					return
				}
				require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
				require.Equal(t, before, w.liveServers())
				require.ElementsMatch(t, first, w.serversOf(k.vdu))
				require.Empty(t, vnfcChanges(w.store.op.ResourceChanges))
			})
		}
	}
}

// failedAgain steers an operation on while the cause of its failure lasts, then removes the cause.
func (w *world) failedAgain(ev lcm.Event, rule string) {
	w.t.Helper()
	require.True(w.t, w.cloud.Faults().Remove(rule))
	again := w.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Nth: 1, Reason: "still no room",
	})
	w.steer(ev)
	require.Contains(w.t, w.failed().Detail, "still no room", "the failure of this try, not that of the one before")
	require.True(w.t, w.cloud.Faults().Remove(again))
}

// TestScaleToLevel: several VDUs at a time, some up and some down.
func TestScaleToLevel(t *testing.T) {
	t.Parallel()
	w := running(t, simcloud.StartTest(t, simcloud.Options{}), kinds[0])
	w.resize(sol.LcmOperationScaleToLevel, "simple", map[string]int{"masterNode": 2, "workerNode": 1},
		sol.ScaleVnfToLevelRequest{InstantiationLevelID: "x"})
	stays := []string{w.serversOf("masterNode")[0], w.serversOf("workerNode")[0]}
	w.completed()
	require.Equal(t, stays[:1], w.serversOf("masterNode")[:1])
	require.Equal(t, stays[1:], w.serversOf("workerNode"))
	require.Len(t, w.serversOf("masterNode"), 2)
}
