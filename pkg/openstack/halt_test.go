package openstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// canceller is a user who cancels the operation after a call to the cloud.
type canceller struct {
	tap
	once *sync.Once
	mode sol.CancelModeType
	when func(method, path string) bool
}

// RoundTrip implements http.RoundTripper.
func (c canceller) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.tap.RoundTrip(r)
	if c.when(r.Method, r.URL.Path) {
		c.once.Do(func() {
			c.w.store.mu.Lock()
			defer c.w.store.mu.Unlock()
			if op := &c.w.store.op; lcm.Running(op.State) {
				op.Cancel = c.mode
				op.Epoch++
			}
		})
	}
	return res, err
}

// cancelled makes the user cancel the operation once, when a call has been answered.
func (w *world) cancelled(mode sol.CancelModeType, when func(method, path string) bool) {
	once := new(sync.Once)
	w.cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return canceller{tap{next, w}, once, mode, when}
	}
}

// rest runs the operation until no node has to work on it.
func (w *world) rest() sol.LcmOperationStateType {
	w.t.Helper()
	for range 100 {
		if s := w.run(); !lcm.Running(s) {
			return s
		}
	}
	require.Fail(w.t, "the operation does not come to rest")
	return ""
}

// calledTo counts the calls whose path ends so.
func (w *world) calledTo(method, suffix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if strings.HasPrefix(c, method+" ") && strings.HasSuffix(c, suffix) {
			n++
		}
	}
	return n
}

func creating(method, path string) bool {
	return method == http.MethodPost && strings.HasSuffix(path, "/stacks")
}

func updating(method, path string) bool {
	return method == http.MethodPatch && !strings.Contains(path, "/resources/")
}

// slow is how long a server takes that an operation is to be cancelled with: a busy machine notices the cancellation
// within it.
const slow = 2 * time.Second

// slowServers lets Nova take this long for a server.
func slowServers(cloud *simcloud.Cloud, d time.Duration) {
	cloud.MergeTiming(simcloud.Timing{Create: map[string]simcloud.Duration{"OS::Nova::Server": simcloud.Duration(d)}})
}

// TestCancelWhileTheStackIsMade: forcefully the stack stops, gracefully it is waited for; then a retry finishes the
// instance, and a rollback leaves nothing.
func TestCancelWhileTheStackIsMade(t *testing.T) {
	t.Parallel()
	for _, mode := range []sol.CancelModeType{sol.CancelModeForceful, sol.CancelModeGraceful} {
		for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
			t.Run(string(mode)+" "+string(then), func(t *testing.T) {
				t.Parallel()
				cloud := simcloud.StartTest(t, simcloud.Options{})
				before := cloud.State()
				w := newMixed(t, cloud)
				slowServers(cloud, slow)
				w.cancelled(mode, creating)
				w.mixed("one")
				began := time.Now()
				require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
				require.Contains(t, w.store.op.Error.Detail, "Cancelled by the user")
				if mode == sol.CancelModeGraceful {
					require.Greater(t, time.Since(began), slow)
					require.Zero(t, w.calledTo(http.MethodPost, "/actions"))
				} else {
					require.Equal(t, 1, w.calledTo(http.MethodPost, "/actions"))
				}
				_, names := w.stacks()
				for _, n := range names {
					require.False(t, strings.HasSuffix(n, "_IN_PROGRESS"), names)
				}
				w.steer(then)
				if then == lcm.EventRetry {
					w.completed()
					require.Len(t, w.store.instance.Instantiated.VnfcInfo, 1)
					return
				}
				require.Equal(t, sol.LcmOperationStateRolledBack, w.rest(), "%+v", w.store.op.Error)
				require.Empty(t, cloud.State().Since(before))
			})
		}
	}
}

// TestCancelWhileTheStackIsUpdated: the same for a heal; a retry heals what is left, and nothing twice.
func TestCancelWhileTheStackIsUpdated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode    sol.CancelModeType
		refuse  bool // Heat does not stop
		updates int
	}{
		{sol.CancelModeForceful, false, 2},
		{sol.CancelModeForceful, true, 1},
		{sol.CancelModeGraceful, false, 1},
	} {
		name := string(tt.mode)
		if tt.refuse {
			name += ", Heat refuses"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			w := newMixed(t, cloud)
			w.mixed("one")
			w.completed()
			slowServers(cloud, slow)
			if tt.refuse {
				cloud.AddFault(simcloud.Fault{
					Kind: "status", Status: 400, Service: "heat", Path: "/actions$",
					Reason: "Invalid action cancel_without_rollback specified",
				})
			}
			sick := w.vnfc("VDU1", 0)
			w.reset()
			w.cancelled(tt.mode, updating)
			w.heal(nil, sick)
			require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
			require.Contains(t, w.store.op.Error.Detail, "Cancelled by the user")
			w.steer(lcm.EventRetry)
			w.completed()
			require.NotEqual(t, sick, w.vnfc("VDU1", 0))
			require.Equal(t, tt.updates, w.updates(), "an update that came to its end is not repeated")
		})
	}
}

// TestCancelledCreationFails: a creation that fails while its cancellation waits for it is no failure of the retry,
// which repairs it.
func TestCancelledCreationFails(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	rule := w.cloud.AddFault(
		simcloud.Fault{Kind: "fail_resource", ResourceName: "VDU1", Action: "create", Reason: "disk on fire"},
	)
	w.cancelled(sol.CancelModeGraceful, creating)
	w.mixed("one")
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
	require.Contains(t, w.store.op.Error.Detail, "Cancelled by the user")
	require.True(t, w.cloud.Faults().Remove(rule))
	w.steer(lcm.EventRetry)
	w.completed()
}

// TestHeatRefusesToStopACreation: a Heat that cannot keep an incomplete stack deletes it; a retry recreates it.
func TestHeatRefusesToStopACreation(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newMixed(t, cloud)
	slowServers(cloud, slow)
	cloud.AddFault(simcloud.Fault{
		Kind: "status", Status: 400, Service: "heat", Path: "/actions$",
		Reason: "Invalid action cancel_without_rollback specified",
	})
	w.cancelled(sol.CancelModeForceful, creating)
	w.mixed("one")
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
	tops, names := w.stacks()
	require.Zero(t, tops, names)
	w.steer(lcm.EventRetry)
	w.completed()
}

// TestCancelAtEveryCall: the user cancels a heal at every call that is made for it. It comes to rest, and a retry heals
// exactly once.
func TestCancelAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, mode := range []sol.CancelModeType{sol.CancelModeForceful, sol.CancelModeGraceful} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
			w.mixed("one")
			w.completed()
			slowServers(w.cloud, 20*time.Millisecond)
			wrap := w.cfg.WrapTransport
			for k := 1; ; k++ {
				require.Less(t, k, 100)
				made, was, n := w.made("VDU1", 0), w.vnfc("VDU1", 0), 0
				var mu sync.Mutex
				w.cancelled(mode, func(string, string) bool {
					mu.Lock()
					defer mu.Unlock()
					n++
					return n == k
				})
				w.heal(nil, was)
				state := w.rest()
				if state == sol.LcmOperationStateFailedTemp {
					require.Contains(t, w.store.op.Error.Detail, "Cancelled by the user")
					w.cfg.WrapTransport = wrap
					w.steer(lcm.EventRetry)
					w.completed()
				}
				require.NotEqual(t, was, w.vnfc("VDU1", 0))
				if mode == sol.CancelModeGraceful {
					require.Equal(t, made+1, w.made("VDU1", 0), "cancel %d", k)
				}
				if n < k {
					require.Greater(t, k, 4, "the test has to cancel")
					return
				}
			}
		})
	}
}

// TestHaltSurvivesDeath: a node dies at every write while it halts an update; the operation comes to rest all the same.
func TestHaltSurvivesDeath(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("one")
	w.completed()
	for k := 1; ; k++ {
		require.Less(t, k, 100)
		server := w.cloud.AddFault(
			simcloud.Fault{Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: "create"},
		)
		was := w.vnfc("VDU1", 0)
		w.reset()
		w.deaths = 0
		w.cancelled(sol.CancelModeForceful, func(method, path string) bool {
			if method == http.MethodPost && strings.HasSuffix(path, "/actions") { // Heat was asked to stop
				w.cloud.Faults().Remove(server)
			}
			if !updating(method, path) {
				return false
			}
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			if w.store.dieAt == 0 && w.deaths == 0 {
				w.store.dieAt, w.store.dieAfter = w.store.writes+k, k%2 == 0
			}
			return true
		})
		w.heal(nil, was)
		require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
		deaths := w.deaths
		w.reset()
		w.cloud.Faults().Remove(server)
		w.steer(lcm.EventRetry)
		w.completed()
		require.NotEqual(t, was, w.vnfc("VDU1", 0))
		if deaths == 0 {
			require.Greater(t, k, 3, "the test has to kill")
			return
		}
	}
}

// TestCancelAnOperate: what Nova is doing to a server is waited for; a rollback gives the server its state back.
func TestCancelAnOperate(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("one")
	w.completed()
	w.cancelled(sol.CancelModeForceful, func(_, path string) bool { return strings.HasSuffix(path, "/action") })
	w.operate(stop, w.all()...)
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.rest())
	require.Equal(t, sol.VnfOperationalStateStarted, w.store.instance.Instantiated.VnfState)
}

// TestStopThatReachesTheRetry: Heat passes a stop on to nested stacks by messages. One that is late stops the update of
// the retry, which the user has not cancelled: it is sent again. When that one is cancelled too, another client does
// it, and the hint says that.
func TestStopThatReachesTheRetry(t *testing.T) {
	t.Parallel()
	for count, wants := range map[int]sol.LcmOperationStateType{
		1: sol.LcmOperationStateCompleted, 2: sol.LcmOperationStateFailedTemp,
	} {
		for name, when := range map[string]func(method, path string) bool{"create": creating, "update": updating} {
			t.Run(fmt.Sprint(name, " ", count), func(t *testing.T) {
				t.Parallel()
				cloud := simcloud.StartTest(t, simcloud.Options{})
				w := newMixed(t, cloud)
				if name == "update" {
					w.mixed("one")
					w.completed()
					w.reset()
				}
				slowServers(cloud, slow)
				w.cancelled(sol.CancelModeForceful, when)
				if name == "update" {
					w.heal(nil, w.vnfc("VDU1", 0))
				} else {
					w.mixed("one")
				}
				require.Equal(t, sol.LcmOperationStateFailedTemp, w.rest())
				rule := cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceName: "VDU1*", Count: count, Reason: "Stack UPDATE cancelled",
				})
				w.steer(lcm.EventRetry)
				require.Equal(t, wants, w.rest(), "%+v %+v", w.store.op.Error, cloud.Faults().List())
				if wants == sol.LcmOperationStateFailedTemp {
					require.Contains(t, w.store.op.Error.Hint, "the action was cancelled")
				}
				require.Equal(t, count, cloud.Faults().List()[0].Fired)
				require.True(t, cloud.Faults().Remove(rule))
				if wants == sol.LcmOperationStateFailedTemp {
					w.steer(lcm.EventRetry)
					w.completed()
				}
			})
		}
	}
}
