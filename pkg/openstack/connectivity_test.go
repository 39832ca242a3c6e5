package openstack_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// reconnect admits a change of external connectivity.
func (w *world) reconnect(links ...any) {
	w.t.Helper()
	w.reset()
	w.change(sol.LcmOperationChangeExtConn, map[string]any{"extVirtualLinks": links}, lcm.Scope{Flavour: "default"})
}

// networkOf is the network of a connection point's port and its first address.
func (w *world) networkOf(place string) (network, ip string) {
	w.t.Helper()
	p, _ := w.ask("network", http.MethodGet, "/v2.0/ports/"+w.ids("OS::Neutron::Port")[place],
		nil)["port"].(map[string]any)
	network, _ = p["network_id"].(string)
	for _, f := range p["fixed_ips"].([]any) {
		ip, _ = f.(map[string]any)["ip_address"].(string)
	}
	return network, ip
}

// network makes another network and returns its id.
func (w *world) network() string {
	w.t.Helper()
	w.ask("network", http.MethodPost, "/v2.0/networks", map[string]any{"network": map[string]any{"name": "net1"}})
	list, _ := w.ask("network", http.MethodGet, "/v2.0/networks?name=net1", nil)["networks"].([]any)
	require.Len(w.t, list, 1)
	id, _ := list[0].(map[string]any)["id"].(string)
	w.ask("network", http.MethodPost, "/v2.0/subnets", map[string]any{"subnet": map[string]any{
		"network_id": id, "cidr": w.cloud.Block().Subnet(11).String(), "ip_version": 4, "enable_dhcp": false,
	}})
	return id
}

// fixed is the link with one connection point that has a subnet and addresses for its VNFCs.
func fixed(id, network, cp, subnet string, ips ...any) map[string]any {
	l := link(id, network, cp)
	config, _ := l["extCps"].([]any)[0].(map[string]any)["cpConfig"].(map[string]any)[cp+"_1"].(map[string]any)
	config["cpProtocolData"] = []any{map[string]any{
		"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
			"ipAddresses": []any{map[string]any{"type": "IPV4", "fixedAddresses": ips, "subnetId": subnet}},
		},
	}}
	return l
}

// subnetOf is the first subnet of a network.
func (w *world) subnetOf(network string) string {
	w.t.Helper()
	list, _ := w.ask("network", http.MethodGet, "/v2.0/subnets?network_id="+network, nil)["subnets"].([]any)
	require.NotEmpty(w.t, list)
	id, _ := list[0].(map[string]any)["id"].(string)
	return id
}

// TestConnectionPointGoesToAnotherLink: it leaves the old one, gets another port, and nothing else changes: not its
// server, not the other connection points, not the rest of nfv.
func TestConnectionPointGoesToAnotherLink(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	net1 := w.network()
	before := copied(w.store.instance)
	servers, ports := w.ids("OS::Nova::Server"), w.ids("OS::Neutron::Port")
	w.reconnect(link("ext-1", net1, "VDU1_CP2"))
	w.completed()

	require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))
	require.Equal(t, []string{"VDU1-0 VDU1_CP2", "VDU1-1 VDU1_CP2"}, differing(ports, w.ids("OS::Neutron::Port")))
	for _, place := range []string{"VDU1-0 VDU1_CP2", "VDU1-1 VDU1_CP2"} {
		network, _ := w.networkOf(place)
		require.Equal(t, net1, network)
	}
	info := w.store.instance.Instantiated
	require.Len(t, info.ExtVirtualLinkInfo, 2)
	require.Equal(t, []string{"ext-0", "ext-1"}, []string{info.ExtVirtualLinkInfo[0].ID, info.ExtVirtualLinkInfo[1].ID})
	require.Len(t, info.ExtVirtualLinkInfo[0].CurrentVnfExtCpData, 2, "it has left the old link")
	require.Len(t, info.ExtVirtualLinkInfo[0].ExtLinkPorts, 3)
	require.Len(t, info.ExtVirtualLinkInfo[1].ExtLinkPorts, 2)
	require.Equal(
		t, before.Instantiated.Metadata["nfv"].(map[string]any)["VDU"], info.Metadata["nfv"].(map[string]any)["VDU"],
	)

	require.Equal(t, info.ExtVirtualLinkInfo, w.store.op.ChangedExtConnectivity, "both links have changed")
	kinds := map[sol.ChangeType]int{}
	for _, p := range w.store.op.ResourceChanges.AffectedExtLinkPorts {
		kinds[p.ChangeType]++
	}
	require.Equal(t, map[sol.ChangeType]int{sol.ChangeTypeAdded: 2, sol.ChangeTypeRemoved: 2}, kinds)
	require.Empty(t, w.store.op.ResourceChanges.AffectedVirtualStorages)

	// A link that nothing is left on is not there any more.
	w.reconnect(link("ext-0", w.cloud.Net0ID(), "VDU1_CP2"))
	w.completed()
	require.Len(t, w.store.instance.Instantiated.ExtVirtualLinkInfo, 1)
	require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
}

// TestConnectionPointsGetAddresses: fixed ones for each VNFC in their order, then dynamic ones again; on the same
// network the port stays.
func TestConnectionPointsGetAddresses(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	net1 := w.network()
	w.reconnect(link("ext-1", net1, "VDU1_CP2"))
	w.completed()
	ports := w.ids("OS::Neutron::Port")
	subnet := w.subnetOf(net1)
	_, now := w.networkOf("VDU1-0 VDU1_CP2")
	base := now[:len(now)-len(last(now))]

	w.reconnect(fixed("ext-1", net1, "VDU1_CP2", subnet, base+"201", base+"202"))
	w.completed()
	for index, place := range []string{"VDU1-0 VDU1_CP2", "VDU1-1 VDU1_CP2"} {
		_, ip := w.networkOf(place)
		require.Equal(t, base+[]string{"201", "202"}[index], ip)
	}
	require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
	for _, cp := range w.store.instance.Instantiated.ExtCpInfo {
		if cp.CpdID == "VDU1_CP2" {
			require.False(t, *cp.CpProtocolInfo[0].IpOverEthernet.IpAddresses[0].IsDynamic)
		}
	}

	w.reconnect(link("ext-1", net1, "VDU1_CP2"))
	w.completed()
	for _, cp := range w.store.instance.Instantiated.ExtCpInfo {
		if cp.CpdID == "VDU1_CP2" {
			require.True(t, *cp.CpProtocolInfo[0].IpOverEthernet.IpAddresses[0].IsDynamic)
		}
	}
}

// last is the last number of an address.
func last(ip string) string {
	at := len(ip)
	for at > 0 && ip[at-1] != '.' {
		at--
	}
	return ip[at:]
}

// TestLinkGoesToAnotherNetwork: its connection points go with it, those too that the request does not list.
func TestLinkGoesToAnotherNetwork(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	net1 := w.network()
	w.reconnect(link("ext-0", net1, "VDU1_CP2"))
	w.completed()
	for _, place := range []string{"VDU1-0 VDU1_CP1", "VDU1-1 VDU1_CP2", "VDU2-0 VDU2_CP1"} {
		network, _ := w.networkOf(place)
		require.Equal(t, net1, network, place)
	}
	require.Equal(t, net1, w.store.instance.Instantiated.ExtVirtualLinkInfo[0].ResourceHandle.ResourceID)
}

// TestEveryVNFCHasItsOwnLink: configurations of one connection point can be in different links.
func TestEveryVNFCHasItsOwnLink(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	net1 := w.network()
	two := link("ext-1", net1, "VDU1_CP2")
	configs, _ := two["extCps"].([]any)[0].(map[string]any)["cpConfig"].(map[string]any)
	configs["VDU1_CP2_2"] = configs["VDU1_CP2_1"]
	delete(configs, "VDU1_CP2_1")
	w.reconnect(link("ext-0", w.cloud.Net0ID(), "VDU1_CP2"), two)
	w.completed()
	network, _ := w.networkOf("VDU1-0 VDU1_CP2")
	require.Equal(t, w.cloud.Net0ID(), network)
	network, _ = w.networkOf("VDU1-1 VDU1_CP2")
	require.Equal(t, net1, network)
}

// TestConfigurationUnderAnotherKey: one that is given alone is that of all VNFCs of the connection point, whatever the
// key of the one before was.
func TestConfigurationUnderAnotherKey(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		world  func(testing.TB, *simcloud.Cloud) *world
		cp     string
		places []string
	}{
		"VNFCs of their own": {newRolling, "VDU1_CP2", []string{"VDU1-0 VDU1_CP2", "VDU1-1 VDU1_CP2"}},
		"members of a group": {newGroupWorld, "VDU1_CP1", []string{"VDU1-0 VDU1_CP1", "VDU1-1 VDU1_CP1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := tt.world(t, simcloud.StartTest(t, simcloud.Options{}))
			net1 := w.network()
			before := copied(w.store.instance)
			l := link("ext-1", net1, tt.cp)
			configs, _ := l["extCps"].([]any)[0].(map[string]any)["cpConfig"].(map[string]any)
			configs["changed"] = configs[tt.cp+"_1"]
			delete(configs, tt.cp+"_1")
			w.reconnect(l)
			w.completed()
			for _, place := range tt.places {
				network, _ := w.networkOf(place)
				require.Equal(t, net1, network, place)
			}
			links := w.store.instance.Instantiated.ExtVirtualLinkInfo
			at := slices.IndexFunc(links, func(l sol.ExtVirtualLinkInfo) bool { return l.ID == "ext-1" })
			require.Len(t, links[at].ExtLinkPorts, 2)
			for _, l := range links {
				for _, cp := range l.CurrentVnfExtCpData {
					if cp.CpdID == tt.cp {
						require.Equal(t, []string{"changed"}, slices.Collect(maps.Keys(cp.CpConfig)))
					}
				}
			}

			w.reconnect(link("ext-0", w.cloud.Net0ID(), tt.cp))
			w.completed()
			require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
		})
	}
}

// TestConnectivityFails: a retry goes on, a rollback leads back to the links, the addresses and the record of before.
func TestConnectivityFails(t *testing.T) {
	t.Parallel()
	for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
		t.Run(string(then), func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			w := newRolling(t, cloud)
			net1 := w.network()
			before := copied(w.store.instance)
			rule := cloud.AddFault(simcloud.Fault{
				Kind: fault.FailResource, ResourceType: "OS::Neutron::Port", ResourceName: "VDU1_CP2", Action: "create",
				Reason: "IpAddressAlreadyAllocated", Nth: 2, Count: 1,
			})
			w.reconnect(link("ext-1", net1, "VDU1_CP2"))
			f := w.failed()
			require.Contains(t, f.Detail, "IpAddressAlreadyAllocated")
			cloud.Faults().Remove(rule)
			w.steer(then)
			if then == lcm.EventRetry {
				w.completed()
				require.Len(t, w.store.instance.Instantiated.ExtVirtualLinkInfo[1].ExtLinkPorts, 2)
				return
			}
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
			is := w.store.instance.Instantiated
			require.Equal(t, before.Instantiated.Metadata["nfv"], is.Metadata["nfv"])
			require.Len(t, is.ExtVirtualLinkInfo, 1)
			require.Equal(t, before.Instantiated.ExtVirtualLinkInfo[0].CurrentVnfExtCpData,
				is.ExtVirtualLinkInfo[0].CurrentVnfExtCpData)
			for _, place := range []string{"VDU1-0 VDU1_CP2", "VDU1-1 VDU1_CP2"} {
				network, _ := w.networkOf(place)
				require.Equal(t, w.cloud.Net0ID(), network)
			}
		})
	}
}

// TestConnectivityWithDeaths: one update, whatever a node dies at.
func TestConnectivityWithDeaths(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]func(*world, int){
		"before a write":        func(w *world, n int) { w.store.dieAt = n },
		"after a change's call": func(w *world, n int) { w.dieAtChange, w.dieAfterCall = n, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
				ports, net1 := w.ids("OS::Neutron::Port"), w.network()
				w.reconnect(link("ext-1", net1, "VDU1_CP2"))
				plan(w, n)
				w.completed()
				require.Equal(
					t, []string{"VDU1-0 VDU1_CP2", "VDU1-1 VDU1_CP2"}, differing(ports, w.ids("OS::Neutron::Port")),
				)
				require.Equal(t, 1, w.updates())
				if w.deaths == 0 {
					return
				}
			}
		})
	}
}
