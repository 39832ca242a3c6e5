package openstack_test

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/parallel"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

func TestMain(m *testing.M) {
	parallel.Allow(parallel.Several)
	goleak.VerifyTestMain(m)
}

// TestInstantiateAndTerminate: both flavours of the sample from nothing to complete and back to nothing.
func TestInstantiateAndTerminate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flavour         string
		master, workers int
	}{{"simple", 1, 2}, {"complex", 3, 2}} {
		t.Run(tt.flavour, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			before := cloud.State()
			w := newWorld(t, cloud)
			w.instantiate(tt.flavour)
			w.completed()

			i := w.store.instance
			require.Equal(t, sol.InstantiationStateInstantiated, i.State)
			require.Len(t, i.Instantiated.VnfcInfo, tt.master+tt.workers)
			tops, _ := w.stacks()
			require.Equal(t, 1, tops)
			counts := map[string]int{}
			for _, r := range i.Instantiated.VnfcResourceInfo {
				idx, ok := r.Metadata["vdu_idx"].(float64)
				require.True(t, ok)
				require.Contains(t, r.Metadata["stack_id"], fmt.Sprintf("%s-%s-%d-", w.stackName(), r.VduID, int(idx)))
				require.NotEmpty(t, r.Metadata[fmt.Sprintf("image-%s-%d", r.VduID, int(idx))])
				require.Equal(t, "m1.medium", r.Metadata["flavor"])
				counts[r.VduID]++
			}
			require.Equal(t, map[string]int{"masterNode": tt.master, "workerNode": tt.workers}, counts)
			for _, cp := range i.Instantiated.ExtCpInfo {
				ip := cp.CpProtocolInfo[0].IpOverEthernet.IpAddresses[0]
				require.True(t, cloud.Block().Net0().Contains(netip.MustParseAddr(ip.Addresses[0])))
			}
			require.Len(t, w.store.op.ResourceChanges.AffectedVnfcs, tt.master+tt.workers)
			addressesOf(t, cloud, i.Inventory, i.Instantiated.VnfcInfo)
			require.Equal(t, w.stackName()+"/"+fmt.Sprint(i.Instantiated.Metadata["stack_id"]),
				strings.TrimPrefix(w.store.step(t, "create stack").Detail, "stack "))

			w.terminate()
			w.completed()
			require.Empty(t, cloud.State().Since(before), "nothing is left and nothing of others was taken")
			require.Len(t, w.store.op.ResourceChanges.AffectedVnfcs, tt.master+tt.workers)
			require.Equal(t, sol.ChangeTypeRemoved, w.store.op.ResourceChanges.AffectedVnfcs[0].ChangeType)
			require.Nil(t, w.store.instance.Instantiated)
		})
	}
}

// addressesOf checks that the inventory has what a mgmt driver asks for: each VNFC's fixed and floating address and its
// host.
func addressesOf(t *testing.T, cloud *simcloud.Cloud, inventory []lcm.Resource, vnfcs []sol.VnfcInfo) {
	t.Helper()
	for _, v := range vnfcs {
		find := func(name string) lcm.Resource {
			i := slices.IndexFunc(inventory, func(r lcm.Resource) bool { return r.VNFC == v.ID && r.Name == name })
			require.GreaterOrEqual(t, i, 0, "%s of %s", name, v.ID)
			return inventory[i]
		}
		fixed, floating, server := find(v.VduID+"_CP1"), find(v.VduID+"_CP1_floating_ip"), find(v.VduID)
		require.True(t, cloud.Block().Net0().Contains(netip.MustParseAddr(fixed.Addresses[0].IP)))
		require.NotEmpty(t, fixed.Addresses[0].MAC)
		require.True(t, cloud.Block().Public().Contains(netip.MustParseAddr(floating.Addresses[0].IP)))
		require.True(t, floating.Addresses[0].Floating)
		require.NotEmpty(t, server.Host)
		require.Equal(t, "nova", server.Zone)
	}
}

// TestDeathAtEveryCall: a node dies at every single call to the cloud, before it is sent or before its answer is read.
// The next one goes on; there is one stack, one image of each kind, and nothing left in the end.
func TestDeathAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("answer lost %t", after), func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			survive(t, cloud, func(w *world, k int) { w.dieAtCall, w.dieAfterCall = k, after })
		})
	}
}

// TestDeathAtEveryWrite: the same at every write to the database, before and after it is durable.
func TestDeathAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable %t", after), func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			survive(t, cloud, func(w *world, k int) { w.store.dieAt, w.store.dieAfter = k, after })
		})
	}
}

// survive runs instantiate and terminate again and again, each time with a death one place later, until none happens.
func survive(t *testing.T, cloud *simcloud.Cloud, die func(w *world, k int)) {
	t.Helper()
	before := cloud.State()
	deaths := 0
	defer func() { require.Greater(t, deaths, 10, "the test has to kill") }()
	for k, alive := 1, 0; alive < 2; k++ {
		require.Less(t, k, 200)
		w := newWorld(t, cloud)
		die(w, k)
		w.instantiate("simple")
		w.completed()
		alive = 0
		if w.deaths == 0 {
			alive++
		}
		tops, names := w.stacks()
		require.Equal(t, 1, tops, "death %d: %v", k, names)
		images := map[string]int{}
		for _, line := range cloud.State().Since(before) {
			if f := strings.Fields(line); f[1] == "images" {
				images[f[3]+" "+f[4]]++
			}
		}
		require.Equal(
			t, map[string]int{"masterNode-image active": 1, "workerNode-image active": 1}, images, "death %d", k,
		)

		w.reset()
		die(w, k)
		deaths += w.deaths
		w.deaths = 0
		w.terminate()
		w.completed()
		if w.deaths == 0 {
			alive++
		}
		deaths += w.deaths
		require.Empty(t, cloud.State().Since(before), "death %d", k)
	}
}

// TestOneTokenAFewCalls: what an instantiation costs the cloud.
func TestOneTokenAFewCalls(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	w.instantiate("complex")
	w.completed()
	var polls, others, tokens int
	for _, c := range w.calls {
		switch {
		case strings.HasSuffix(c, "/auth/tokens"):
			tokens++
		case strings.HasPrefix(c, "GET") && strings.HasSuffix(c, "/stacks"):
			polls++
		default:
			others++
		}
	}
	if os.Getenv("GYBE_SHOW_CALLS") != "" {
		t.Log(strings.Join(w.calls, "\n"))
	}
	require.Equal(t, 1, tokens)
	// Two images (create and data each) and their list; one stack; in the inventory its page, resources, servers, ports
	// and floating addresses; and once per session the versions of Nova.
	require.Equal(t, 12, others, strings.Join(w.calls, "\n"))
	require.Less(t, polls, 12)
}
