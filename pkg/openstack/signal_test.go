package openstack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// signalledWorld is a running instance of a package whose group has policies; its clock runs fast.
func signalledWorld(t *testing.T, top string) *world {
	t.Helper()
	w := running(
		t, simcloud.StartTest(t, simcloud.Options{}), kind{vdu: "VDU1", start: func(w *world) { w.grouped(top) }},
	)
	w.clock, w.retry.InlineWait = fastClock{time.Now()}, time.Millisecond
	return w
}

func (w *world) scaleTo(n int) {
	w.t.Helper()
	typ := sol.ScaleTypeOut
	if n < len(w.store.instance.Instantiated.VnfcInfo) {
		typ = sol.ScaleTypeIn
	}
	w.reset()
	w.scale(typ, map[string]int{"VDU1": n})
}

func (w *world) signals(policy string) int { return w.calledTo(http.MethodPost, "/"+policy+"/signal") }

func signalling(method, path string) bool {
	return method == http.MethodPost && strings.HasSuffix(path, "/signal")
}

// TestPoliciesAreSignalled: a group that the package scales by policies is scaled by them, one signal a step; in goes
// what Heat takes, the oldest, as the instance has said; and the stack says the new size, so that no later update takes
// the group back.
func TestPoliciesAreSignalled(t *testing.T) {
	t.Parallel()
	w := signalledWorld(t, signalledTop)
	first := w.liveServers()
	w.scaleTo(4)
	w.completed()
	require.Equal(t, 2, w.signals("VDU1_scale_out"))
	require.Subset(t, w.liveServers(), first)
	require.Equal(t, "group VDU1_group has 4 of 4 members", w.store.step(t, "signal scaling policy").Detail)
	require.Equal(t, "VDU1_scale_out", w.store.step(t, "signal scaling policy").Target)

	for n := 3; n > 1; n-- {
		w.scaleTo(n)
		goes := w.serverOf(w.store.op.Scope.Remove[0])
		w.completed()
		require.Equal(t, 1, w.signals("VDU1_scale_in"))
		require.NotContains(t, w.liveServers(), goes)
		require.Len(t, w.liveServers(), n)
	}
	last := w.liveServers()
	w.patch(
		"/stacks/"+w.stackName()+"/"+fmt.Sprint(w.store.instance.Instantiated.Metadata["stack_id"]), map[string]any{},
	)
	w.scaleTo(3)
	w.completed()
	require.Subset(t, w.liveServers(), last)
}

// TestSignalsThatWouldDoHarm: where Heat would count or take other members than the operation means, there is no
// signal, and the result is right all the same.
func TestSignalsThatWouldDoHarm(t *testing.T) {
	t.Parallel()
	sicken := func(w *world, which int) {
		_, sick, _ := w.store.instance.VNFC(w.store.instance.Instantiated.VnfcInfo[which].ID)
		w.patch(fmt.Sprintf("/stacks/%s/resources/%s", sick.Metadata["parent_stack_id"],
			sick.Metadata["parent_resource_name"]), map[string]any{"mark_unhealthy": true})
	}
	for name, tt := range map[string]struct {
		top  string
		size int
		harm func(w *world)
		why  string
	}{
		"a member has failed, out": {signalledTop, 4, func(w *world) { sicken(w, 0) }, "a member has failed"},
		"a member has failed, in":  {signalledTop, 2, func(w *world) { sicken(w, 2) }, "a member has failed"},
		"another one is to go": {signalledTop, 2, func(w *world) {
			w.store.op.Scope.Remove = []string{w.store.instance.Instantiated.VnfcInfo[1].ID}
		}, "Heat would take"},
		"the policy adds more": {
			strings.Replace(signalledTop, "scaling_adjustment: 1", "scaling_adjustment: 2", 1), 4,
			func(*world) {}, "VDU1_scale_out adds 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := signalledWorld(t, tt.top)
			w.scaleTo(3)
			w.completed()
			all := w.liveServers()
			w.scaleTo(tt.size)
			tt.harm(w)
			stay := w.liveServers()
			for _, id := range w.store.op.Scope.Remove {
				stay = slices.DeleteFunc(stay, func(s string) bool { return s == w.serverOf(id) })
			}
			w.completed()
			require.Contains(t, w.store.step(t, "signal scaling policy").Detail, tt.why)
			require.Zero(t, w.signals("VDU1_scale_out")+w.signals("VDU1_scale_in"))
			require.Len(t, w.liveServers(), tt.size)
			if tt.size < len(all) {
				require.Equal(t, stay, w.liveServers())
			}
		})
	}
}

// TestSignalsThatAreIgnored: Heat says yes to a signal in a cooldown and does nothing. The VNFCs come all the same.
func TestSignalsThatAreIgnored(t *testing.T) {
	t.Parallel()
	w := signalledWorld(
		t, strings.Replace(signalledTop, "scaling_adjustment: 1 ", "scaling_adjustment: 1, cooldown: 60 ", 1),
	)
	w.scaleTo(4)
	w.completed()
	require.Equal(t, 1, w.signals("VDU1_scale_out"), "another would be ignored")
	require.Equal(t, "group VDU1_group has 3 of 4 members; the rest is for the update: VDU1_scale_out has a cooldown",
		w.store.step(t, "signal scaling policy").Detail)
	require.Len(t, w.liveServers(), 4)
	w.scaleTo(5)
	w.completed()
	require.Equal(
		t,
		"group VDU1_group has 4 of 5 members; the rest is for the update: Heat has ignored the signal to "+
			"VDU1_scale_out",
		w.store.step(t, "signal scaling policy").Detail,
	)
	require.Len(t, w.liveServers(), 5)
}

// TestSignalsInABadMinute: whatever happens to a call around a signal, it is not sent again for the same step, because
// it may have arrived. What passes by itself does not reach the user, nor does a Heat that refuses the signal; of
// anything else a retry is enough. There are as many VNFCs as were asked for, and those that were there stay.
func TestSignalsInABadMinute(t *testing.T) {
	t.Parallel()
	rules := map[string]simcloud.Fault{
		"hang": {Kind: fault.Hang}, "reset": {Kind: fault.Reset}, "half an answer": {Kind: fault.Truncate},
		"a page of a proxy": {Kind: fault.HTML}, "done, and the answer lost": {Kind: fault.DropReply},
		"expired": {Kind: fault.ExpireTokens},
	}
	permanent := map[string]bool{"403": true, "404": true, "409": true, "413": true}
	for _, status := range []int{401, 403, 404, 409, 413, 429, 500, 502, 503, 504} {
		rules[fmt.Sprint(status)] = simcloud.Fault{Kind: fault.Status, Status: status}
	}
	for call, site := range map[string]simcloud.Fault{
		"signal":     {Method: http.MethodPost, Path: "/signal$"},
		"group":      {Method: http.MethodGet, Path: "/stacks/[^/]+-VDU1_group-[^/]+/[^/]+$"},
		"the answer": {Method: http.MethodGet, Path: "/resources$", Nth: 2},
	} {
		for name, rule := range rules {
			t.Run(call+", "+name, func(t *testing.T) {
				t.Parallel()
				w := signalledWorld(t, signalledTop)
				if rule.Kind == fault.Hang {
					w.cfg.RequestTimeout = 3 * time.Second
				}
				rule := rule
				rule.Service, rule.Method, rule.Path, rule.Nth, rule.Count = "heat", site.Method, site.Path, site.Nth, 1
				w.cloud.AddFault(rule)
				first := w.liveServers()
				w.scaleTo(3)
				if state := w.run(); state == sol.LcmOperationStateFailedTemp && permanent[name] && (call != "signal" ||
					name == "413") {
					require.Contains(t, w.store.op.Error.Detail, "Heat")
					w.steer(lcm.EventRetry)
					w.completed()
				} else {
					require.Equal(t, sol.LcmOperationStateCompleted, state, "%+v", w.store.op.Error)
				}
				require.Positive(t, w.cloud.Faults().List()[0].Fired, "the fault has to happen")
				require.LessOrEqual(t, w.signals("VDU1_scale_out"), map[bool]int{true: 2, false: 1}[name == "401" ||
					name == "expired"], "a refused token is no signal")
				require.Len(t, w.liveServers(), 3)
				require.Subset(t, w.liveServers(), first)
				if call == "signal" && permanent[name] && name != "413" {
					require.Contains(
						t, w.store.step(t, "signal scaling policy").Detail, "Heat refuses the signal to VDU1_scale_out",
					)
				}
			})
		}
	}
}

// TestSignalledMemberFails: the update tries it once more; when that fails, too, its reason is the operation's, a retry
// goes on, and a rollback leaves what was there.
func TestSignalledMemberFails(t *testing.T) {
	t.Parallel()
	failing := simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Reason: "No valid host was found",
	}
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		w := signalledWorld(t, signalledTop)
		rule := failing
		rule.Count = 1
		w.cloud.AddFault(rule)
		first := w.liveServers()
		w.scaleTo(3)
		w.completed()
		require.Subset(t, w.liveServers(), first)
		require.Len(t, w.liveServers(), 3)
		require.Contains(t, w.store.step(t, "signal scaling policy").Detail, "the stack has failed before")
	})
	for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
		t.Run("and fails, "+string(then), func(t *testing.T) {
			t.Parallel()
			w := signalledWorld(t, signalledTop)
			rule := w.cloud.AddFault(failing)
			first := w.liveServers()
			w.scaleTo(4)
			f := w.failed()
			require.Equal(t, "Stack update failed", f.Title)
			require.Contains(t, f.Detail, "No valid host was found")
			require.True(t, w.cloud.Faults().Remove(rule))
			w.steered(then, first, 4)
		})
	}
}

// steered retries an operation, after which there are size servers, or rolls it back to the servers that there were.
func (w *world) steered(then lcm.Event, were []string, size int) {
	w.t.Helper()
	w.steer(then)
	if then == lcm.EventRetry {
		w.completed()
		require.Len(w.t, w.liveServers(), size)
		require.Subset(w.t, w.liveServers(), were)
		return
	}
	require.Equal(w.t, sol.LcmOperationStateRolledBack, w.rest(), "%+v", w.store.op.Error)
	require.Equal(w.t, were, w.liveServers())
}

// TestCancelWhileAGroupIsScaled: the stack around the group is at rest, the group is not. Gracefully it is waited for,
// forcefully stopped; nothing is under way when the operation says that it has come to rest.
func TestCancelWhileAGroupIsScaled(t *testing.T) {
	t.Parallel()
	for _, mode := range []sol.CancelModeType{sol.CancelModeForceful, sol.CancelModeGraceful} {
		for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
			t.Run(string(mode)+", "+string(then), func(t *testing.T) {
				t.Parallel()
				w := signalledWorld(t, signalledTop)
				w.clock = lcm.SystemClock{}
				slowServers(w.cloud, slow)
				w.cancelled(mode, signalling)
				first := w.liveServers()
				w.scaleTo(3)
				require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
				require.Contains(t, w.store.op.Error.Detail, "Cancelled by the user")
				require.Equal(t, map[sol.CancelModeType]int{sol.CancelModeForceful: 1}[mode],
					w.calledTo(http.MethodPost, "/actions"))
				_, names := w.stacks()
				for _, n := range names {
					require.False(t, strings.HasSuffix(n, "_IN_PROGRESS"), names)
				}
				w.steered(then, first, 3)
			})
		}
	}
}

// TestScaleWithOtherValues: VNFCs that a request changes are made once, by the update, and not first by a signal as
// they were.
func TestScaleWithOtherValues(t *testing.T) {
	t.Parallel()
	w := signalledWorld(t, signalledTop)
	w.resize(sol.LcmOperationScale, "group", map[string]int{"VDU1": 3}, map[string]any{
		"type": "SCALE_OUT", "aspectId": "a",
		"additionalParams": map[string]any{
			"nfv": map[string]any{"VDU": map[string]any{"VDU1": map[string]any{"computeFlavourId": "m1.small"}}},
		},
	})
	w.completed()
	require.Zero(t, w.signals("VDU1_scale_out"))
	require.Len(t, w.liveServers(), 3)
}

// TestVNFCsKeepTheirNames: VNFCs keep the names that the user chose when others are added or removed.
func TestVNFCsKeepTheirNames(t *testing.T) {
	t.Parallel()
	w := running(t, simcloud.StartTest(t, simcloud.Options{}), kind{vdu: "VDU1", start: func(w *world) {
		w.store.instance.Metadata = `{"VDU_VNFc_mapping":{"VDU1":["one","two","three","four"]}}`
		w.grouped(signalledTop)
	}})
	w.clock, w.retry.InlineWait = fastClock{time.Now()}, time.Millisecond
	was := map[string]string{"one": w.serverOf("one"), "two": w.serverOf("two")}
	for _, n := range []int{4, 3, 4, 2, 3} {
		w.scaleTo(n)
		w.completed()
		require.Len(t, w.liveServers(), n)
		require.Equal(t, was["one"]+was["two"], w.serverOf("one")+w.serverOf("two"))
	}
}

// TestIndexesAreKept: a VNFC that stays has the place among the others that it had, at every look, also when all were
// made in the same second.
func TestIndexesAreKept(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[1:] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := running(t, simcloud.StartTest(t, simcloud.Options{}), k)
			w.clock, w.retry.InlineWait = fastClock{time.Now()}, time.Millisecond
			places := func() []string {
				out := make([]string, len(w.liveServers()))
				for _, r := range w.store.instance.Inventory {
					if r.Type == "OS::Nova::Server" {
						out[r.Index] = r.ID
					}
				}
				return out
			}
			before := places()
			for _, n := range []int{4, 5, 3, 2, 4} {
				w.scale(map[bool]sol.ScaleType{true: sol.ScaleTypeOut, false: sol.ScaleTypeIn}[n > len(before)],
					k.counts(n))
				w.completed()
				after := places()
				stay := slices.DeleteFunc(
					slices.Clone(before), func(id string) bool { return !slices.Contains(after, id) },
				)
				require.Equal(t, stay, after[:len(stay)])
				before = after
			}
		})
	}
}
