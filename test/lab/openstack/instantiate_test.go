package openstack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// vnfcs counts the VNFCs of each VDU.
func vnfcs(i *sol.VnfInstance) map[string]int {
	n := map[string]int{}
	for _, c := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		n[c.VduID]++
	}
	return n
}

// Everything that a package of one stack per VNFC can ask for is made, and the inventory says what OpenStack says.
func TestStandardUserDataMakesWhatThePackageAsksFor(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard"), w.standard("largest"))
	i := w.instance(id)
	require.Equal(t, map[string]int{"VDU1": 3, "VDU2": 1}, vnfcs(i))

	hosts := map[string]bool{}
	for _, c := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		server := w.cloud.get(t, w.cloud.nova, "servers/"+c.ComputeResource.ResourceID, "server")
		require.Equal(t, "ACTIVE", server.text("status"))
		volumes, _ := server["os-extended-volumes:volumes_attached"].([]any)
		if c.VduID == "VDU2" {
			require.Len(t, volumes, 2)
			require.Len(t, c.StorageResourceIds, 2)
			continue
		}
		require.Empty(t, volumes)
		hosts[server.text("OS-EXT-SRV-ATTR:host")] = true
	}
	require.Len(t, hosts, 3, "the VNFCs of VDU1 must be on hosts of their own")
	for _, s := range i.InstantiatedVnfInfo.VirtualStorageResourceInfo {
		volume := w.cloud.get(t, w.cloud.cinder, "volumes/"+s.StorageResource.ResourceID, "volume")
		require.Equal(t, "in-use", volume.text("status"))
	}
	require.Len(t, i.InstantiatedVnfInfo.VirtualStorageResourceInfo, 2)

	// The addresses shown are the ports'.
	shown := map[string]bool{}
	for _, cp := range i.InstantiatedVnfInfo.ExtCpInfo {
		for _, p := range cp.CpProtocolInfo {
			for _, a := range p.IpOverEthernet.IpAddresses {
				for _, ip := range a.Addresses {
					shown[ip] = true
				}
			}
		}
	}
	require.Len(t, i.InstantiatedVnfInfo.ExtCpInfo, 4)
	require.True(t, shown["10.10.1.77"], "%v", shown)
	floating, err := list(t.Context(), w.cloud.neutron, "floatingips", "floatingips")
	require.NoError(t, err)
	active := 0
	for _, f := range floating {
		if shown[f.text("fixed_ip_address")] {
			require.Equal(t, "ACTIVE", f.text("status"))
			active++
		}
	}
	require.Equal(t, 3, active, "each VNFC of VDU1 has a floating address")
	w.down(id)
}

// An external network is used instead of the internal one, and stays when the VNF is terminated.
func TestExternallyManagedLinkIsUsedAndStays(t *testing.T) {
	w := start(t, 1)
	network := w.cloud.create(t, w.cloud.neutron, "networks", "network", map[string]any{"name": "managed externally"})
	w.cloud.create(t, w.cloud.neutron, "subnets", "subnet", map[string]any{
		"network_id": network, "cidr": "192.168.60.0/24", "ip_version": 4,
	})
	w.before = w.cloud.look(t)
	req := w.standard("smallest")
	req.ExtManagedVirtualLinks = []sol.ExtManagedVirtualLinkData{
		{ID: "managed1", VnfVirtualLinkDescID: "internalVL1", ResourceID: network},
	}
	id := w.up(w.vnfd("standard"), req)
	ports, err := list(t.Context(), w.cloud.neutron, "ports?network_id="+network, "ports")
	require.NoError(t, err)
	servers := 0
	for _, p := range ports {
		if p.text("device_id") == w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo[0].ComputeResource.ResourceID {
			servers++
		}
	}
	require.Equal(t, 1, servers)
	require.Len(t, w.instance(id).InstantiatedVnfInfo.ExtManagedVirtualLinkInfo, 1)
	w.down(id)
}

// A port that the consumer made is used, and is still there afterwards.
func TestLinkPortOfTheConsumerIsUsedAndStays(t *testing.T) {
	w := start(t, 1)
	net0 := w.cloud.network(t, "net0")
	port := w.cloud.create(
		t, w.cloud.neutron, "ports", "port", map[string]any{"network_id": net0, "name": "made before"},
	)
	w.before = w.cloud.look(t)
	l := link("link1", net0, map[string]sol.IpAddressData{"VDU1_CP1": dynamic("")})
	l.ExtLinkPorts = []sol.ExtLinkPortData{{ID: "port1", ResourceHandle: sol.ResourceHandle{ResourceID: port}}}
	l.ExtCps[0].CpConfig["VDU1_CP1"] = sol.VnfExtCpConfig{LinkPortID: "port1"}
	id := w.up(w.vnfd("standard"), sol.InstantiateVnfRequest{
		FlavourID: "ports", VimConnectionInfo: w.lab.vim(), AdditionalParams: userData(),
		ExtVirtualLinks: []sol.ExtVirtualLinkData{l},
	})
	server := w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo[0].ComputeResource.ResourceID
	require.Equal(t, server, w.cloud.get(t, w.cloud.neutron, "ports/"+port, "port").text("device_id"))
	w.down(id)
}

// Groups of Heat: members are found, and the machine beside them.
func TestDefaultUserDataMakesGroups(t *testing.T) {
	w := start(t, 1)
	vnfd := w.vnfd("groups")
	for _, flavour := range []string{"simple", "policies"} {
		t.Run(flavour, func(t *testing.T) {
			w := w.in(t)
			level, want := "largest", 3
			if flavour == "policies" { // such a group is made with the size that the template says
				level, want = "smallest", 1
			}
			id := w.up(vnfd, w.groups(flavour, level))
			i := w.instance(id)
			require.Equal(t, map[string]int{"VDU1": want, "VDU2": 1}, vnfcs(i))
			for _, c := range i.InstantiatedVnfInfo.VnfcResourceInfo {
				if c.VduID == "VDU1" {
					require.NotEmpty(
						t, c.Metadata["parent_resource_name"], "a member is found again by its name in the group",
					)
				}
			}
			require.Len(t, i.InstantiatedVnfInfo.VirtualStorageResourceInfo, 1)
			w.down(id)
		})
	}
}

// Zones that the grant names are where the servers are.
func TestGrantedZoneIsWhereServersAre(t *testing.T) {
	w := start(t, 1, "GYBE_GRANT_ZONES=az1")
	id := w.up(w.vnfd("standard"), w.standard("smallest"))
	c := w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo[0]
	require.Equal(t, "az1", c.ZoneID)
	server := w.cloud.get(t, w.cloud.nova, "servers/"+c.ComputeResource.ResourceID, "server")
	require.Equal(t, "az1", server.text("OS-EXT-AZ:availability_zone"))
	require.Contains(t, []string{"cmp4", "cmp5"}, server.text("OS-EXT-SRV-ATTR:host"))
	w.down(id)
}

// A zone without room is left for another one that the grant allows: the host of az2 cannot take a large server.
func TestZoneWithoutRoomIsLeft(t *testing.T) {
	w := start(t, 1, "GYBE_GRANT_ZONES=az2,az1")
	req := w.standard("smallest")
	req.AdditionalParams["nfv"] = map[string]any{
		"VDU": map[string]any{"VDU1-0": map[string]any{"computeFlavourId": "m1.large"}},
	}
	id := w.up(w.vnfd("standard"), req)
	c := w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo[0]
	require.Equal(t, "az1", c.ZoneID)
	w.down(id)
}

// Three VNFCs that have to be on hosts of their own fill the one host of az2 and the two of az1.
func TestVNFCsApartFillTwoZones(t *testing.T) {
	w := start(t, 1, "GYBE_GRANT_ZONES=az2,az1")
	id := w.up(w.vnfd("standard"), w.standard("largest"))
	zones := map[string]int{}
	for _, c := range w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo {
		if c.VduID == "VDU1" {
			zones[c.ZoneID]++
		}
	}
	require.Equal(t, map[string]int{"az2": 1, "az1": 2}, zones)
	w.down(id)
}

// GRACEFUL leaves the VNF its time before anything is deleted.
func TestGracefulTerminationWaits(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("plain"), w.plain())
	op, err := w.api.Terminate(t.Context(), id, sol.TerminateVnfRequest{
		TerminationType: sol.TerminationTypeGraceful, GracefulTerminationTimeout: 6,
	})
	require.NoError(t, err)
	began := time.Now()
	for time.Since(began) < 4*time.Second {
		require.Equal(t, "CREATE_COMPLETE", w.cloud.stack(t, id).text("stack_status"))
		pause(t.Context(), time.Second)
	}
	w.completed(op)
	w.discard(id)
}

// An image that is in the package is in Glance as long as the instance is there.
func TestImageOfThePackageComesAndGoes(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("standard-2"), w.standard("smallest"))
	images, err := list(t.Context(), w.cloud.glance, "images?tag="+id, "images")
	require.NoError(t, err)
	require.Len(t, images, 1)
	require.Equal(t, "active", images[0].text("status"))
	w.down(id)
}
