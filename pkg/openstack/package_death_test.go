package openstack_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// TestPackageWithDeaths: whatever write or call a node dies at, another one goes on, and every VNFC is asked about as
// one coordination.
func TestPackageWithDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of upgrades")
	}
	t.Parallel()
	try := func(t *testing.T, rollback bool, plan func(*world)) bool {
		t.Helper()
		cloud := simcloud.StartTest(t, simcloud.Options{})
		w := newRolling(t, cloud)
		c := newCoordinator(t, w)
		before := copied(w.store.instance)
		var rule string
		if rollback {
			rule = cloud.AddFault(
				simcloud.Fault{Kind: fault.FailResource, ResourceName: "VDU4-0", Action: "create", Reason: "broken"},
			)
		}
		w.upgrade(c.vduParams("VDU2", "VDU1"))
		if rollback {
			w.failed()
			cloud.Faults().Remove(rule)
			w.reset()
			c.keys = nil
			w.steer(lcm.EventRollback)
		}
		plan(w)
		if rollback {
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
			require.Equal(t, "m1.tiny m1.tiny m1.tiny", w.flavours())
			require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
		} else {
			w.completed()
			require.Equal(t, "m1.small m1.small m1.small", w.flavours())
			require.Equal(t, "vnfd-2", w.store.instance.VnfdID)
		}
		require.Len(t, w.images(), 1)
		slices.Sort(c.keys)
		require.Len(t, slices.Compact(c.keys), 3, "one coordination for each VNFC")
		tops, names := w.stacks()
		require.Equal(t, 1, tops, names)
		return w.deaths > 0
	}
	for _, rollback := range []bool{false, true} {
		for name, plan := range map[string]func(*world, int){
			"before a write":        func(w *world, n int) { w.store.dieAt = n },
			"before a change":       func(w *world, n int) { w.dieAtChange = n },
			"after a change's call": func(w *world, n int) { w.dieAtChange, w.dieAfterCall = n, true },
		} {
			t.Run(fmt.Sprintf("%s/rollback %t", name, rollback), func(t *testing.T) {
				t.Parallel()
				n := 1
				for try(t, rollback, func(w *world) { plan(w, n) }) {
					n++
				}
				require.Greater(t, n, 3)
			})
		}
	}
}

// TestPackageThatGrewWithDeaths: also while resources that cannot shrink are recreated.
func TestPackageThatGrewWithDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of upgrades")
	}
	t.Parallel()
	for name, plan := range map[string]func(*world, int){
		"before a change":       func(w *world, n int) { w.dieAtChange = n },
		"after a change's call": func(w *world, n int) { w.dieAtChange, w.dieAfterCall = n, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				cloud := simcloud.StartTest(t, simcloud.Options{})
				w := newRolling(t, cloud)
				before, ports := copied(w.store.instance), w.ids("OS::Neutron::Port")
				w.pkgs = rolling(2)
				rule := cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceName: "VDU4-0", Action: "create", Reason: "broken",
				})
				w.upgrade(nil)
				w.failed()
				cloud.Faults().Remove(rule)
				cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1", Action: "update",
					Reason: "Flavor's disk is smaller than the image",
				})
				w.steer(lcm.EventRollback)
				w.failed()
				w.reset()
				w.steer(lcm.EventRollback)
				plan(w, n)
				require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
				require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
				require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
				require.Len(t, w.store.instance.Instantiated.VirtualStorageResourceInfo, 1)
				if w.deaths == 0 {
					require.Greater(t, n, 3)
					return
				}
			}
		})
	}
}

// TestPackageThatDiffersInOneVDUWithDeaths: VNFCs that need no update of their own are neither lost nor touched, forth
// and back.
func TestPackageThatDiffersInOneVDUWithDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of upgrades")
	}
	t.Parallel()
	for _, rollback := range []bool{false, true} {
		for name, plan := range map[string]func(*world, int){
			"before a write":        func(w *world, n int) { w.store.dieAt = n },
			"after a change's call": func(w *world, n int) { w.dieAtChange, w.dieAfterCall = n, true },
		} {
			t.Run(fmt.Sprintf("%s/rollback %t", name, rollback), func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					cloud := simcloud.StartTest(t, simcloud.Options{})
					w := newRolling(t, cloud)
					before, servers := copied(w.store.instance), w.ids("OS::Nova::Server")
					if rollback {
						cloud.AddFault(simcloud.Fault{
							Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU2",
							Action: "update", Reason: "no valid host was found", Count: 1,
						})
					}
					w.upgradeVDU2("m1.small")
					if rollback {
						w.failed()
						w.reset()
						w.steer(lcm.EventRollback)
					}
					plan(w, n)
					if rollback {
						require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
						require.Equal(
							t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"],
						)
						require.Equal(t, "m1.tiny m1.tiny m1.tiny", w.flavours())
					} else {
						w.completed()
						require.Equal(t, "m1.tiny m1.tiny m1.small", w.flavours())
					}
					require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))
					require.NotSubset(t, w.store.forgotten, w.vnfcs("VDU1"))
					if w.deaths == 0 {
						require.Greater(t, n, 1)
						return
					}
				}
			})
		}
	}
}
