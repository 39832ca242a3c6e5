package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// inventory reads the instance's resources again, as in an operation that has just failed.
func (w *world) inventory() *lcm.Execution {
	w.t.Helper()
	d, _ := w.node()
	defer d.Close()
	op, i := copied(w.store.op), copied(w.store.instance)
	op.State, op.Phase = sol.LcmOperationStateProcessing, "infra"
	work := &lcm.Execution{
		Op: &op, Instance: &i, VNFD: w.pkg.model, Flavour: w.pkg.model.Flavour(i.Instantiated.FlavourID),
		Package: w.pkg.files, Clock: w.clock,
	}
	require.NoError(w.t, d.Inventory(w.t.Context(), work))
	return work
}

// changesIn tells resource changes in words: "ADDED VDU1", "LINK_PORT_ADDED internal".
func changesIn(c *sol.ResourceChanges) []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, v := range c.AffectedVnfcs {
		out = append(out, string(v.ChangeType)+" "+v.VduID)
	}
	for _, l := range c.AffectedVirtualLinks {
		out = append(out, string(l.ChangeType)+" "+l.VnfVirtualLinkDescID)
	}
	for _, p := range c.AffectedExtLinkPorts {
		out = append(out, string(p.ChangeType)+" port")
	}
	for _, s := range c.AffectedVirtualStorages {
		out = append(out, string(s.ChangeType)+" "+s.VirtualStorageDescID)
	}
	slices.Sort(out)
	return out
}

// TestChangesAreExact: after each operation the record says what it changed and nothing else.
func TestChangesAreExact(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	require.Equal(t, []string{
		"ADDED VDU1", "ADDED VDU1", "ADDED VDU2", "ADDED VDU2-VirtualStorage", "ADDED VDU3", "ADDED port", "ADDED port",
		"ADDED port",
	}, changesIn(w.store.op.ResourceChanges))
	require.Len(t, w.store.op.ChangedExtConnectivity, 1)
	require.Len(t, w.store.op.ChangedExtConnectivity[0].ExtLinkPorts, 3)

	w.heal(sol.KeyValuePairs{"all": true}, w.vnfc("VDU2", 0))
	w.completed()
	require.Equal(t, []string{"ADDED VDU2", "ADDED VDU2-VirtualStorage", "REMOVED VDU2", "REMOVED VDU2-VirtualStorage"},
		changesIn(w.store.op.ResourceChanges),
		"the port stayed")
	added := w.store.op.ResourceChanges.AffectedVnfcs[0]
	require.Len(t, added.AddedStorageResourceIds, 1)
	require.Empty(t, w.store.op.ChangedExtConnectivity)

	w.operate(sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped}, w.vnfc("VDU3", 0))
	w.completed()
	require.Equal(t, []string{"MODIFIED VDU3"}, changesIn(w.store.op.ResourceChanges))
	require.Equal(t, sol.VnfOperationalStateStarted, w.store.instance.Instantiated.VnfState, "the others work on")
	require.Empty(t, w.store.op.ChangedExtConnectivity)

	w.terminate()
	w.store.op.Before = new(lcm.Instance)
	*w.store.op.Before = copied(w.store.instance)
	w.completed()
	require.Equal(t, []string{
		"REMOVED VDU1", "REMOVED VDU1", "REMOVED VDU2", "REMOVED VDU2-VirtualStorage", "REMOVED VDU3", "REMOVED port",
		"REMOVED port", "REMOVED port",
	}, changesIn(w.store.op.ResourceChanges))
}

// TestHalfMade: an operation that stopped in the middle leaves a record of what is really there, and keeps what the
// user set.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	for i := range w.store.instance.Instantiated.VnfcInfo {
		c := &w.store.instance.Instantiated.VnfcInfo[i]
		c.VnfcConfigurableProperties = sol.KeyValuePairs{"of": c.VduID}
	}
	w.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1",
		Action: "create", Nth: 2, Reason: "no valid host",
	})
	w.scale(sol.ScaleTypeOut, map[string]int{"VDU1": 5, "VDU2": 1, "VDU3": 1})
	w.failed()
	is := w.inventory()
	added := is.Added()
	require.NotEmpty(t, added)
	require.Len(t, is.Instance.Instantiated.VnfcInfo, 4+len(added))
	require.Len(t, slices.DeleteFunc(changesIn(is.Op.ResourceChanges), func(s string) bool {
		return s != "ADDED VDU1"
	}), len(added))
	for _, c := range is.Instance.Instantiated.VnfcInfo {
		if !slices.Contains(added, c.ID) {
			require.Equal(t, sol.KeyValuePairs{"of": c.VduID}, c.VnfcConfigurableProperties)
		}
	}
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run())
	require.Nil(t, w.store.op.ResourceChanges, "everything is as it was")
	require.Empty(t, w.store.op.ChangedExtConnectivity)
}

// TestHalfMoved: connection points that an operation moves are reported on their current link, wherever it stopped.
func TestHalfMoved(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	o := newOutsider(t, w.cloud)
	net := o.named("/network/v2.0/networks", "network", "other", nil)
	o.named("/network/v2.0/subnets", "subnet", "other", map[string]any{
		"network_id": net, "cidr": "10.98.0.0/24", "ip_version": 4,
	})
	w.cloud.AddFault(
		simcloud.Fault{Kind: fault.FailResource, ResourceName: "VDU1_CP1", Action: "create", Nth: 2, Reason: "no"},
	)
	addresses := []any{map[string]any{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
		"ipAddresses": []any{map[string]any{"type": "IPV4", "numDynamicAddresses": 1}},
	}}}
	w.change(sol.LcmOperationChangeExtConn, map[string]any{"extVirtualLinks": []any{map[string]any{
		"id": "ext-2", "resourceId": net,
		"extCps": []any{map[string]any{
			"cpdId": "VDU1_CP1", "cpConfig": map[string]any{"VDU1_CP1_1": map[string]any{"cpProtocolData": addresses}},
		}},
	}}}, lcm.Scope{Flavour: "default"})
	w.failed()
	is := w.inventory()
	on := map[string]int{}
	for _, l := range is.Instance.Instantiated.ExtVirtualLinkInfo {
		for _, p := range l.ExtLinkPorts {
			on[l.ID]++
			require.Equal(t, l.ResourceHandle.ResourceID, resourceOf(is.Instance, p.ID).Addresses[0].Network,
				"port %s of link %s", p.ID, l.ID)
		}
	}
	require.Equal(t, 1, on["ext-2"], "one has moved: %v", on)
}

// TestServerIsGone: a VNFC whose server was deleted by another client can still be healed, and does not count as
// working.
func TestServerIsGone(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	id := w.vnfc("VDU3", 0)
	_, r, _ := w.store.instance.VNFC(id)
	newOutsider(t, w.cloud).do("DELETE", "/compute/v2.1/servers/"+r.ID, "", nil)
	w.operate(sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted}, w.vnfc("VDU1", 0))
	is := w.inventory()
	c, _, ok := is.Instance.VNFC(id)
	require.True(t, ok)
	require.Equal(t, sol.VnfOperationalStateStopped, c.VnfcState)
	require.Equal(t, "NOT_FOUND", resourceOf(is.Instance, r.ID).Status)
	require.Equal(t, []string{"MODIFIED VDU3"}, changesIn(is.Op.ResourceChanges))
}

func resourceOf(i *lcm.Instance, id string) lcm.Resource {
	for _, r := range i.Inventory {
		if r.ID == id {
			return r
		}
	}
	return lcm.Resource{}
}

// TestStackIsGone: after a failure nothing is known of a stack that is not there, and where it was stays known.
func TestStackIsGone(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	stack := w.store.instance.Instantiated.Metadata["stack_id"]
	w.change(sol.LcmOperationHeal, sol.HealVnfRequest{}, lcm.Scope{Flavour: "default", Whole: true})
	w.call("DELETE", "/stacks/"+w.stackName()+"/"+stack.(string))
	require.Eventually(t, func() bool { tops, _ := w.stacks(); return tops == 0 }, time.Minute, 10*time.Millisecond)
	is := w.inventory()
	require.Len(t, is.Instance.Instantiated.VnfcInfo, 4, "a heal of the whole VNF needs them")
	for _, c := range is.Instance.Instantiated.VnfcInfo {
		require.Equal(t, sol.VnfOperationalStateStopped, c.VnfcState)
	}
	require.Equal(t, stack, is.Instance.Instantiated.Metadata["stack_id"])
	require.Len(t, is.Op.ResourceChanges.AffectedVnfcs, 4)
	require.True(t, strings.HasPrefix(changesIn(is.Op.ResourceChanges)[0], "REMOVED"))
}

// TestVolumesThatNovaMakes: a boot volume that is not in the stack is found, with its device, and is the VNFD's
// storage.
func TestVolumesThatNovaMakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.pkg = onePackage{model: &vnfd.VNFD{ID: "d", Flavours: []vnfd.Flavour{{
		ID: "f",
		VDUs: []vnfd.VDU{
			{Name: "VDU1", InitialInstances: 1, ComputeFlavour: "m1.tiny", Storages: []string{"boot", "data"}},
		},
		Storages: []vnfd.Storage{
			{Name: "boot", Image: &vnfd.SwImage{Name: "cirros-0.5.2-x86_64-disk"}}, {Name: "data"},
		},
	}}}, files: fstest.MapFS{"BaseHOT/f/top.yaml": {Data: []byte(`heat_template_version: 2013-05-23
parameters: { nfv: { type: json } }
resources:
  data: { type: OS::Cinder::Volume, properties: { size: 2 } }
  VDU1:
    type: OS::Nova::Server
    properties:
      flavor: { get_param: [ nfv, VDU, VDU1, computeFlavourId ] }
      networks: [ { network: net0 } ]
      block_device_mapping_v2:
        - { image: { get_param: [ nfv, VDU, boot, vcImageId ] }, volume_size: 3, boot_index: 0, delete_on_termination: true }
        - { volume_id: { get_resource: data }, boot_index: -1 }
`)}}}
	w.admit(sol.LcmOperationInstantiate, map[string]any{"flavourId": "f"})
	w.completed()
	var volumes []lcm.Resource
	for _, r := range w.store.instance.Inventory {
		if r.Type == "OS::Cinder::Volume" {
			volumes = append(volumes, r)
		}
	}
	require.Len(t, volumes, 2)
	for i, want := range []struct {
		name string
		size int
	}{{"boot", 3}, {"data", 2}} {
		v := volumes[i]
		require.Equal(t, want.name, v.Name)
		require.Equal(t, want.size, v.Size)
		require.Equal(t, "in-use", v.Status)
		require.NotEmpty(t, v.Device)
		require.Equal(t, "VDU1", v.VDU)
	}
	require.NotEqual(t, volumes[0].Device, volumes[1].Device)
	storages := w.store.instance.Instantiated.VirtualStorageResourceInfo
	require.Equal(
		t, []string{"boot", "data"}, []string{storages[0].VirtualStorageDescID, storages[1].VirtualStorageDescID},
	)
	require.Empty(t, w.leftovers().Extra)
}
