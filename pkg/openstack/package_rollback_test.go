package openstack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// TestPackageIsRolledBackFromTheEnd: also when only the last update failed, and when the rollback itself fails in
// between.
func TestPackageIsRolledBackFromTheEnd(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newRolling(t, cloud)
	c := newCoordinator(t, w)
	before := copied(w.store.instance)
	rule := cloud.AddFault(
		simcloud.Fault{Kind: fault.FailResource, ResourceName: "VDU4-0", Action: "create", Reason: "broken"},
	)
	w.upgrade(c.vduParams("VDU1", "VDU2"))
	w.failed()
	require.Equal(t, []string{"VDU1", "VDU1", "VDU2"}, c.about())
	cloud.Faults().Remove(rule)
	rule = cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server",
		ResourceName: "VDU1", Action: "update", Reason: "again", Nth: 1, Count: 1,
	})
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateFailedTemp, w.run())
	require.Equal(t, []string{"VDU1", "VDU1", "VDU2", "VDU2 back"}, c.about())
	cloud.Faults().Remove(rule)
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	require.Equal(t, []string{"VDU1", "VDU1", "VDU2", "VDU2 back", "VDU1 back", "VDU1 back"}, c.about(),
		"what is back is not asked about again")
	require.Equal(t, "m1.tiny m1.tiny m1.tiny", w.flavours())
	require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
}

// TestPackageInABadMinute: replies that are lost, and services that are away for a moment, change nothing.
func TestPackageInABadMinute(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][]simcloud.Fault{
		"replies to updates are lost": {{Kind: fault.DropReply, Service: "heat", Method: "PATCH", Count: 3}},
		"Heat is away":                {{Kind: fault.Status, Service: "heat", Status: 503, Count: 3, Nth: 4}},
		"the image service is away":   {{Kind: fault.Status, Service: "glance", Status: 500, Count: 2}},
		"a deletion's reply is lost":  {{Kind: fault.DropReply, Service: "glance", Method: "DELETE", Count: 1}},
		"all tokens expire":           {{Kind: fault.ExpireTokens, Service: "heat", Method: "PATCH", Count: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			w := newRolling(t, cloud)
			w.retry.Retries = 8
			for _, r := range rules {
				cloud.AddFault(r)
			}
			w.upgrade(nil)
			w.completed()
			for _, r := range cloud.Faults().List() {
				require.Positive(t, r.Fired, "the fault has to happen")
			}
			require.Equal(t, "m1.small m1.small m1.small", w.flavours())
			require.Len(t, w.images(), 1)
		})
	}
}

// TestOldImageInUse: an image that cannot be deleted yet does not fail a completed upgrade.
func TestOldImageInUse(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newRolling(t, cloud)
	old := w.image("VDU1-0")
	cloud.AddFault(simcloud.Fault{Kind: fault.Status, Service: "glance", Method: "DELETE", Status: 409})
	w.upgrade(nil)
	w.completed()
	require.Len(t, w.images(), 2)
	require.Contains(
		t, w.store.step(t, "delete images").Detail, "still in use, and deleted with the instance: app ("+old+")",
	)
	cloud.Faults().Clear()
	w.terminate()
	w.completed()
	require.Empty(t, w.images())
}
