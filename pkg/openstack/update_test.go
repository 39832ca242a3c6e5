package openstack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// TestRetryOfACreation: the first retry keeps good resources and creates missing ones; if it fails as well, the next
// one recreates everything. Each failure is reported once, and nothing is left over.
func TestRetryOfACreation(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	rule := cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "workerNode", Action: "create",
		Nth: 2, Reason: "no room",
	})
	w.instantiate("simple")
	require.Contains(t, w.failed().Detail, "no room")
	stack, good := w.topStack(), w.activeServers()
	require.NotEmpty(t, good)

	w.failedAgain(lcm.EventRetry, rule)
	require.Equal(t, stack, w.topStack(), "the stack is repaired")
	require.Subset(t, w.activeServers(), good, "what was good is kept")

	w.steer(lcm.EventRetry)
	w.completed()
	require.NotEqual(t, stack, w.topStack(), "the stack is recreated")
	tops, names := w.stacks()
	require.Equal(t, 1, tops, names)
	require.Len(t, w.liveServers(), 3)
	w.terminate()
	w.completed()
	require.Empty(t, cloud.State().Since(before))
}

// TestRepairOfACreation: a retry that succeeds has made only what was missing.
func TestRepairOfACreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	rule := w.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "workerNode", Action: "create",
		Nth: 2, Reason: "no room",
	})
	w.instantiate("simple")
	w.failed()
	stack, good := w.topStack(), w.activeServers()
	require.True(t, w.cloud.Faults().Remove(rule))
	w.steer(lcm.EventRetry)
	w.completed()
	require.Equal(t, stack, w.topStack())
	require.Subset(t, w.liveServers(), good)
	require.Len(t, w.liveServers(), 3)
	require.Equal(t, 1, w.updates())
}

func (w *world) topStack() string {
	for _, s := range w.cloud.State()["stacks"] {
		if s.Name == w.stackName() {
			return s.ID
		}
	}
	return ""
}

func (w *world) activeServers() []string {
	var out []string
	for _, s := range w.cloud.State()["servers"] {
		if s.Status == "ACTIVE" {
			out = append(out, s.ID)
		}
	}
	return out
}

// hastyClock runs a thousand times as fast as time.
type hastyClock struct{ start time.Time }

func (c hastyClock) Now() time.Time { return c.start.Add(1000 * time.Since(c.start)) }

// TestHeatForgetsAStack: an engine of Heat that died leaves its stack in progress for ever. The operation does not wait
// for ever, and a retry makes Heat begin again.
func TestHeatForgetsAStack(t *testing.T) {
	t.Parallel()
	for _, typ := range []sol.LcmOperationType{sol.LcmOperationInstantiate, sol.LcmOperationScale} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
			if typ == sol.LcmOperationScale {
				kinds[1].start(w)
				w.completed()
			}
			w.cloud.AddFault(
				simcloud.Fault{Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: "create", Count: 1},
			)
			if typ == sol.LcmOperationScale {
				w.scale(sol.ScaleTypeOut, kinds[1].counts(3))
			} else {
				w.instantiate("simple")
			}
			w.cfg.StackTimeout, w.clock = time.Minute, hastyClock{time.Now()}
			f := w.failed()
			require.Equal(t, "Stack is stuck", f.Title)
			require.Contains(t, f.Detail, "_IN_PROGRESS for longer than the 1m0s")
			w.clock = resume(w.clock)
			w.steer(lcm.EventRetry)
			w.completed()
			require.Len(t, w.store.instance.Instantiated.VnfcInfo, 3)
		})
	}
}
