package openstack_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// operate admits a stop or start of VNFCs.
func (w *world) operate(req sol.OperateVnfRequest, vnfcs ...string) {
	w.t.Helper()
	w.change(sol.LcmOperationOperate, req, lcm.Scope{Flavour: "default", VNFCs: vnfcs})
}

var (
	stop  = sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped, StopType: sol.StopTypeForceful}
	start = sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted}
)

// states are Nova's words for the instance's servers, by server id.
func (w *world) states() map[string]string {
	out := map[string]string{}
	for _, s := range w.cloud.State()["servers"] {
		out[s.ID] = s.Status
	}
	return out
}

// asked counts the requests to Nova to start or stop a server.
func (w *world) asked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if strings.HasPrefix(c, "POST ") && strings.HasSuffix(c, "/action") {
			n++
		}
	}
	return n
}

// TestOperate: the VNFCs that are named stop and start, the others do not, and the instance says so; what is as wanted
// is left alone.
func TestOperate(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	all, one := w.all(), w.vnfc("VDU1", 1)
	_, res, _ := w.store.instance.VNFC(one)
	info := func() *sol.InstantiatedVnfInfo { return w.store.instance.Instantiated }
	stopped := func() (out []string) {
		for _, c := range info().VnfcInfo {
			if c.VnfcState == sol.VnfOperationalStateStopped {
				out = append(out, c.ID)
			}
		}
		return out
	}
	w.operate(stop, one)
	w.completed()
	require.Equal(t, "SHUTOFF", w.states()[res.ComputeResource.ResourceID])
	require.Equal(t, []string{one}, stopped())
	require.Equal(t, sol.VnfOperationalStateStarted, info().VnfState)

	w.reset()
	w.operate(stop, all...)
	w.completed()
	require.Equal(t, all, stopped())
	require.Equal(t, sol.VnfOperationalStateStopped, info().VnfState)
	require.Equal(t, 3, w.asked(), "who is stopped is not stopped again")

	w.operate(start, all...)
	w.completed()
	require.Empty(t, stopped())
	require.Equal(t, sol.VnfOperationalStateStarted, info().VnfState)
	require.Equal(t, all, w.all())
}

// TestGracefulStop: the VNF gets its time before anything is stopped.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		seconds int
		want    time.Duration
	}{{"as the request says", 20, 20 * time.Second}, {"as configured", 0, 10 * time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
			w.mixed("one")
			w.completed()
			clock := fastClock{time.Now()}
			w.clock = clock
			w.operate(
				sol.OperateVnfRequest{
					ChangeStateTo: sol.VnfOperationalStateStopped, StopType: sol.StopTypeGraceful,
					GracefulStopTimeout: tt.seconds,
				},
				w.all()...,
			)
			w.completed()
			require.GreaterOrEqual(t, clock.Now().Sub(clock.start), tt.want)
			require.Equal(t, "waited "+tt.want.String(), w.store.step(t, "graceful stop").Detail)
			require.Equal(t, sol.VnfOperationalStateStopped, w.store.instance.Instantiated.VnfState)
		})
	}
}

// TestOperateSurvivesDeath: a node dies at every write and every call; the servers come to rest where they shall.
func TestOperateSurvivesDeath(t *testing.T) {
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
			w.clock, w.cfg.ServerTimeout = fastClock{time.Now()}, 24*time.Hour
			for k := 1; ; k++ {
				require.Less(t, k, 100)
				req, want := stop, sol.VnfOperationalStateStopped
				if k%2 == 0 {
					req, want = start, sol.VnfOperationalStateStarted
				}
				w.reset()
				w.deaths = 0
				tt.die(w, k)
				w.operate(req, w.all()...)
				w.completed()
				require.Equal(t, want, w.store.instance.Instantiated.VnfState, "death %d", k)
				if w.deaths == 0 {
					require.Greater(t, k, 4, "the test has to kill")
					return
				}
			}
		})
	}
}

// TestServerDoesNotFollow: each way in which a server does not get where it shall ends the operation with the VNFC,
// Nova's words and a hint, and a retry goes on once the cause is removed.
func TestServerDoesNotFollow(t *testing.T) {
	t.Parallel()
	action := simcloud.Fault{Kind: "status", Service: "nova", Method: http.MethodPost, Path: "/action$"}
	answering := func(status int, reason string) func(*world, string) func() {
		return func(w *world, _ string) func() {
			f := action
			f.Status, f.Reason = status, reason
			id := w.cloud.AddFault(f)
			return func() { w.cloud.Faults().Remove(id) }
		}
	}
	for _, tt := range []struct {
		name string
		make func(w *world, server string) (undo func())
		want []string
		asks int
	}{
		{"Nova says yes and does nothing", answering(202, ""), []string{"ACTIVE", "does not become SHUTOFF"}, 0},
		{
			"Nova says no for good", answering(409, "Cannot 'stop' instance while it is in vm_state suspended"),
			[]string{"vm_state suspended"},
			3,
		},
		{
			"Nova forbids it", answering(403, "Policy doesn't allow os_compute_api:servers:stop to be performed"),
			[]string{"Policy doesn't allow"},
			1,
		},
		{"the server is gone", func(w *world, server string) func() {
			w.ask("compute", http.MethodDelete, "/servers/"+server, nil)
			require.Eventually(
				w.t, func() bool { _, there := w.states()[server]; return !there }, time.Minute, time.Millisecond,
			)
			return nil
		}, []string{"is not in the VIM any more"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
			w.mixed("one")
			w.completed()
			w.clock = fastClock{time.Now()}
			if w.cfg.ServerTimeout = 30 * time.Second; tt.asks > 0 {
				w.cfg.ServerTimeout = 24 * time.Hour // Nova's word is enough
			}
			vnfc := w.vnfc("VDU1", 0)
			_, res, _ := w.store.instance.VNFC(vnfc)
			undo := tt.make(w, res.ComputeResource.ResourceID)
			w.reset()
			w.operate(stop, vnfc)
			failure := w.failed()
			for _, want := range append(tt.want, vnfc, res.ComputeResource.ResourceID) {
				require.Contains(t, failure.Detail, want)
			}
			require.NotEmpty(t, failure.Hint)
			if tt.asks > 0 {
				require.Equal(t, tt.asks, w.asked())
			}
			if undo == nil {
				return
			}
			undo()
			w.cfg.ServerTimeout = 24 * time.Hour
			w.steer(lcm.EventRetry)
			w.completed()
			require.Equal(t, sol.VnfOperationalStateStopped, w.store.instance.Instantiated.VnfState)
		})
	}
}

// TestServerInERROR: Nova's fault is in the failure; the others are stopped all the same.
func TestServerInERROR(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	w.clock = fastClock{time.Now()}
	vnfc := w.vnfc("VDU1", 0)
	_, res, _ := w.store.instance.VNFC(vnfc)
	server := res.ComputeResource.ResourceID
	w.cloud.AddFault(simcloud.Fault{
		Kind: "status", Status: 202, Service: "nova", Method: http.MethodPost, Path: server + "/action$", Nth: 2,
	})
	w.ask("compute", http.MethodPost, "/servers/"+server+"/action",
		map[string]any{"os-resetState": map[string]any{"state": "error"}})
	w.operate(stop, w.all()...)
	failure := w.failed()
	require.Contains(t, failure.Detail, vnfc)
	require.Contains(t, failure.Detail, server+" is ERROR")
	var states []string
	for _, s := range w.states() {
		states = append(states, s)
	}
	slices.Sort(states)
	require.Equal(t, []string{"ERROR", "SHUTOFF", "SHUTOFF", "SHUTOFF"}, states)
}

// TestOperateRollsBack: every VNFC gets the state back that it had, not the opposite of what was asked for.
func TestOperateRollsBack(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	stopped := w.vnfc("VDU1", 1)
	w.operate(stop, stopped)
	w.completed()
	w.clock = fastClock{time.Now()}
	w.cfg.ServerTimeout = 30 * time.Second
	_, res, _ := w.store.instance.VNFC(w.vnfc("VDU3", 0))
	rule := w.cloud.AddFault(simcloud.Fault{
		Kind: "status", Status: 202, Service: "nova", Method: http.MethodPost,
		Path: res.ComputeResource.ResourceID + "/action$",
	})
	w.operate(stop, w.all()...)
	w.failed()
	require.True(t, w.cloud.Faults().Remove(rule))
	w.cfg.ServerTimeout = 24 * time.Hour
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	for _, c := range w.store.instance.Instantiated.VnfcInfo {
		want := sol.VnfOperationalStateStarted
		if c.ID == stopped {
			want = sol.VnfOperationalStateStopped
		}
		require.Equal(t, want, c.VnfcState, c.ID)
	}
}
