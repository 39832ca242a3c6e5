package openstack

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func goldenJSON(t *testing.T, name string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	var decoded any
	require.NoError(t, json.Unmarshal(got, &decoded))
	requireConnections(t, name, decoded)
}

// requireConnections fails for a resourceHandle without a vimConnectionId.
func requireConnections(t *testing.T, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			requireConnections(t, at+"[]", e)
		}
	case map[string]any:
		if _, ok := v["resourceId"]; ok {
			require.NotEmpty(t, v["vimConnectionId"], at)
		}
		for name, member := range v {
			requireConnections(t, at+"/"+name, member)
		}
	}
}

// scene is a stack as Heat, Nova and Neutron tell of it.
type scene struct {
	t         *testing.T
	stub      *stubcloud.Cloud
	resources []any
	servers   []any
	ports     []any
	floats    []any
	nfv       string
	asked     []string
}

const top = "vnf-inst/top-id"

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, stub: stubcloud.New(t), nfv: "{}"}
	reply := func(pattern, key string, v func() any) {
		s.stub.Routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.stub.Mu.Lock()
			defer s.stub.Mu.Unlock()
			s.asked = append(s.asked, r.Method+" "+r.URL.String())
			_ = json.NewEncoder(w).Encode(map[string]any{key: v()})
		})
	}
	reply("GET /heat/v1/p1/stacks", "stacks", func() any {
		return []any{
			map[string]any{"id": "top-id", "stack_name": "vnf-inst", "stack_status": "CREATE_COMPLETE", "tags": nil},
		}
	})
	reply("GET /heat/v1/p1/stacks/vnf-inst/top-id", "stack", func() any {
		return map[string]any{"creation_time": "2026-04-17T02:03:10Z", "parameters": map[string]any{
			"nfv": s.nfv, "OS::stack_id": "top-id",
		}}
	})
	reply("GET /heat/v1/p1/stacks/vnf-inst/top-id/resources", "resources", func() any { return s.resources })
	reply("GET /compute/v2.1/servers/detail", "servers", func() any { return s.servers })
	reply("GET /v2.0/ports", "ports", func() any { return s.ports })
	reply("GET /v2.0/floatingips", "floatingips", func() any { return s.floats })
	return s
}

func (s *scene) add(stackRef, name, typ, id, created string) {
	s.resources = append(s.resources, map[string]any{
		"resource_name": name, "resource_type": typ, "physical_resource_id": id, "resource_status": "CREATE_COMPLETE",
		"creation_time": created,
		"links": []any{
			map[string]any{"rel": "self", "href": "http://heat/v1/p1/stacks/" + stackRef + "/resources/" + name},
			map[string]any{"rel": "stack", "href": "http://heat/v1/p1/stacks/" + stackRef},
		},
	})
}

// node adds a server with its port and floating address to a stack.
func (s *scene) node(ref, vdu, id, created string, n int) {
	s.add(ref, vdu, cloud.TypeServer, id, created)
	s.add(ref, vdu+"_CP1", cloud.TypePort, "port-"+id, created)
	s.add(ref, vdu+"_CP1_floating_ip", cloud.TypeFloatingIP, "fip-"+id, created)
	fixed, public := fmt.Sprintf("10.10.0.%d", n), fmt.Sprintf("172.24.4.%d", n)
	s.servers = append(s.servers, map[string]any{
		"id": id, "OS-EXT-AZ:availability_zone": "nova", "OS-EXT-SRV-ATTR:host": fmt.Sprintf("compute%d", n%3),
		"addresses": map[string]any{"net0": []any{
			map[string]any{"addr": fixed, "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01", "OS-EXT-IPS:type": "fixed"},
			map[string]any{
				"addr": public, "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01", "OS-EXT-IPS:type": "floating",
			},
		}},
	})
	s.ports = append(s.ports, map[string]any{
		"id": "port-" + id, "network_id": "net0-id", "mac_address": "fa:16:3e:00:00:01", "device_id": id,
		"fixed_ips": []any{map[string]any{"ip_address": fixed, "subnet_id": "subnet0-id"}},
	})
	s.floats = append(s.floats, map[string]any{
		"id": "fip-" + id, "floating_ip_address": public, "floating_network_id": "public-id", "port_id": "port-" + id,
	})
}

// work is an INSTANTIATE operation whose stack is complete.
func (s *scene) work(f *vnfd.Flavour, request, hotTop string) *lcm.Execution {
	files := fstest.MapFS{"BaseHOT/" + f.ID + "/top.yaml": {Data: []byte(hotTop)}}
	return &lcm.Execution{
		Op: &lcm.Operation{
			ID: "op", Type: sol.LcmOperationInstantiate, Params: json.RawMessage(request), Grant: &lcm.Grant{},
		},
		Instance: &lcm.Instance{
			ID: "inst", VimConnections: map[string]sol.VimConnectionInfo{"vim1": s.stub.Vim()},
		},
		Flavour: f, Package: files, Log: slog.New(slog.DiscardHandler), Clock: lcm.SystemClock{},
	}
}

const twoLinks = `{"flavourId": "complex", "extVirtualLinks": [
	{"id": "net0_master", "resourceId": "net0-id", "extCps": [{"cpdId": "masterNode_CP1", "cpConfig": {"Master_CP1": {"cpProtocolData":
		[{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {"ipAddresses": [{"type": "IPV4", "numDynamicAddresses": 1}]}}]}}}]},
	{"id": "net0_worker", "resourceId": "net0-id", "extCps": [{"cpdId": "workerNode_CP1", "cpConfig": {"WorkerCP1": {"cpProtocolData":
		[{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {"ipAddresses": [{"type": "IPV4", "numDynamicAddresses": 1}]}}]}}}]}],
	"additionalParams": {"lcm-operation-user-data": "x.py", "lcm-operation-user-data-class": "StandardUserData"}}`

func clusterFlavour() *vnfd.Flavour {
	return &vnfd.Flavour{
		ID: "complex",
		VDUs: []vnfd.VDU{
			{Name: "masterNode", MinInstances: 2, ComputeFlavour: "m1.medium", Image: &vnfd.SwImage{
				Name: "masterNode-image",
			}},
			{Name: "workerNode", MinInstances: 1, ComputeFlavour: "m1.medium", Image: &vnfd.SwImage{
				Name: "workerNode-image",
			}},
		},
		CPs: []vnfd.CP{
			{Name: "masterNode_CP1", VDU: "masterNode"}, {Name: "workerNode_CP1", VDU: "workerNode"},
		},
		Aspects: []vnfd.ScalingAspect{{ID: "workerNode_scale", MaxScaleLevel: 2}},
		Levels: []vnfd.InstantiationLevel{
			{ID: "instantiation_level_1", ScaleLevels: map[string]int{"workerNode_scale": 0}},
		},
		DefaultLevel: "instantiation_level_1",
	}
}

const clusterHOT = `heat_template_version: 2013-05-23
resources:
  masterNode: { type: OS::Heat::Stack, properties: { net: { get_param: [ nfv, CP, masterNode_CP1, network ] } } }
  workerNode: { type: OS::Heat::Stack, properties: { net: { get_param: [ nfv, CP, workerNode_CP1, network ] } } }
`

// TestInventoryOfACluster: what users see of an instance has the shape, ids and order that their tools know.
func TestInventoryOfACluster(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.nfv = `{"VDU": {"masterNode-0": {"computeFlavourId": "m1.medium", "vcImageId": "img-m", "locationConstraints": null},
		"masterNode-1": {"computeFlavourId": "m1.medium", "vcImageId": "img-m"}, "workerNode-0": {"computeFlavourId": "m1.medium", "vcImageId": "img-w"}},
		"CP": {"masterNode_CP1-0": {"network": "net0-id"}}}`
	s.add(top, "masterNode-0", "complex_nested_master.yaml", "m0-stack", "2026-04-17T02:03:11Z")
	s.add(top, "masterNode-1", "complex_nested_master.yaml", "m1-stack", "2026-04-17T02:03:11Z")
	s.add(top, "workerNode-0", "complex_nested_worker.yaml", "w0-stack", "2026-04-17T02:03:11Z")
	s.add(top, "vip_CP", cloud.TypePort, "vip-port", "2026-04-17T02:03:11Z")
	s.add(top, "vip_CP_floating_ip", cloud.TypeFloatingIP, "vip-fip", "2026-04-17T02:03:11Z")
	s.add(top, "worker_group", "OS::Nova::ServerGroup", "group", "2026-04-17T02:03:11Z")
	s.ports = append(s.ports, map[string]any{
		"id": "vip-port", "network_id": "net0-id", "mac_address": "fa:16:3e:00:00:09",
		"fixed_ips": []any{map[string]any{"ip_address": "10.10.0.100", "subnet_id": "subnet0-id"}},
	})
	s.floats = append(s.floats, map[string]any{
		"id": "vip-fip", "floating_ip_address": "172.24.4.100", "floating_network_id": "public-id",
		"port_id": "vip-port",
	})
	s.node("vnf-inst-workerNode-0-abc/w0-stack", "workerNode", "server-w0", "2026-04-17T02:03:13Z", 21)
	s.node("vnf-inst-masterNode-0-abc/m0-stack", "masterNode", "server-m0", "2026-04-17T02:03:14Z", 10)
	s.node("vnf-inst-masterNode-1-abc/m1-stack", "masterNode", "server-m1", "2026-04-17T02:03:14Z", 11)

	w := s.work(clusterFlavour(), twoLinks, clusterHOT)
	require.NoError(t, testDriver(t, Config{}).Inventory(t.Context(), w))
	goldenJSON(t, "cluster.info.json", w.Instance.Instantiated)
	goldenJSON(t, "cluster.inventory.json", w.Instance.Inventory)
	goldenJSON(t, "cluster.changes.json", w.Op.ResourceChanges)
	require.Len(t, s.asked, 6, "calls: %s", strings.Join(s.asked, "\n"))
	require.True(t, slices.ContainsFunc(s.asked, func(a string) bool {
		return strings.Contains(a, "changes-since=2026-04-17T01%3A53%3A10Z")
	}), s.asked)
}

// TestInventoryOfAGroup: members of a group have no index of their own; they are found again by the name the group gave
// them.
func TestInventoryOfAGroup(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.nfv = `{"VDU": {"workerNode": {"computeFlavourId": "m1.small", "vcImageId": "img", "desired_capacity": 2}}}`
	s.add(top, "worker_instance", "OS::Heat::AutoScalingGroup", "group-stack", "2026-04-17T02:03:11Z")
	const group = "vnf-inst-worker_instance-abc/group-stack"
	s.add(group, "yqx4", "worker.yaml", "member-b", "2026-04-17T02:03:12Z")
	s.add(group, "abcd", "worker.yaml", "member-a", "2026-04-17T02:03:12Z")
	s.node("vnf-inst-worker_instance-abc-yqx4-def/member-b", "workerNode", "server-b", "2026-04-17T02:03:13Z", 21)
	s.node("vnf-inst-worker_instance-abc-abcd-def/member-a", "workerNode", "server-a", "2026-04-17T02:03:15Z", 22)
	f := clusterFlavour()
	f.VDUs, f.CPs = f.VDUs[1:], f.CPs[1:]
	w := s.work(f, `{"flavourId": "complex"}`, "heat_template_version: 2013-05-23\n")
	w.Instance.Metadata = `{"VDU_VNFc_mapping":{"workerNode":["first","second"]}}`
	require.NoError(t, testDriver(t, Config{}).Inventory(t.Context(), w))
	goldenJSON(t, "group.info.json", w.Instance.Instantiated)
	c, r, ok := w.Instance.VNFC("second")
	require.True(t, ok)
	require.Equal(t, "server-a", r.ID, "the younger")
	require.Equal(t, "workerNode", c.VduID)
}

// TestInventoryOfAFlatStack: several VDUs side by side in one stack, with a volume, an internal network and one that
// the consumer made.
func TestInventoryOfAFlatStack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.nfv = "******" // a hidden parameter
	const born = "2026-04-17T02:03:11Z"
	s.add(top, "VDU1", cloud.TypeServer, "server-1", born)
	s.add(top, "VDU2", cloud.TypeServer, "server-2", born)
	s.add(top, "VDU1_CP1", cloud.TypePort, "port-1", born)
	s.add(top, "VDU1_CP2", cloud.TypePort, "port-2", born)
	s.add(top, "VDU2_CP1", cloud.TypePort, "port-3", born)
	s.add(top, "VDU2-VirtualStorage", cloud.TypeVolume, "volume-1", born)
	s.add(top, "internalVL1", cloud.TypeNetwork, "net-1", born)
	s.add(top, "never", "OS::Heat::RandomString", "", born)
	for i, p := range []string{"port-1", "port-2", "port-3"} {
		s.ports = append(s.ports, map[string]any{"id": p, "network_id": "n", "mac_address": "m", "fixed_ips": []any{
			map[string]any{"ip_address": fmt.Sprintf("10.0.0.%d", i), "subnet_id": "s"},
			map[string]any{"ip_address": fmt.Sprintf("fd00::%d", i), "subnet_id": "s6"},
		}})
	}
	s.stub.Routes.HandleFunc("GET /compute/v2.1/servers/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "server-2" { // gone behind Heat's back
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(`{"server": {"id": "server-1", "OS-EXT-AZ:availability_zone": "az9"}}`))
	})
	f := &vnfd.Flavour{
		ID: "flat",
		VDUs: []vnfd.VDU{
			{Name: "VDU1", MinInstances: 1}, {Name: "VDU2", MinInstances: 1, Storages: []string{"VDU2-VirtualStorage"}},
		},
		Storages: []vnfd.Storage{{Name: "VDU2-VirtualStorage", Image: &vnfd.SwImage{Name: "volume-image"}}},
		CPs: []vnfd.CP{
			{Name: "VDU1_CP1", VDU: "VDU1"},
			{Name: "VDU1_CP2", VDU: "VDU1", VL: "internalVL1"},
			{Name: "VDU2_CP1", VDU: "VDU2", VL: "internalVL2"},
		},
		VLs: []vnfd.VL{{Name: "internalVL1"}, {Name: "internalVL2"}},
	}
	w := s.work(f, `{"flavourId": "flat",
		"extVirtualLinks": [{"id": "e", "resourceId": "n", "vimConnectionId": "vim1", "extCps": [{"cpdId": "VDU1_CP1", "cpConfig": {"c": {"cpProtocolData":
			[{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {"ipAddresses": [{"type": "IPV4", "fixedAddresses": ["10.0.0.0"]}]}}]}}}]}],
		"extManagedVirtualLinks": [{"id": "x", "vnfVirtualLinkDescId": "internalVL2", "resourceId": "theirs",
			"vnfLinkPort": [{"vnfLinkPortId": "l1", "resourceHandle": {"resourceId": "r"}}]}]}`,
		`{heat_template_version: 2013-05-23, resources: {internalVL2: {type: "OS::Neutron::Net"},
			VDU2: {properties: {image: {get_param: [nfv, VDU, VDU2-VirtualStorage, vcImageId]}, zone: {get_param: [nfv, VDU, VDU2, locationConstraints]}}}}}`)
	require.NoError(t, testDriver(t, Config{}).Inventory(t.Context(), w))
	goldenJSON(t, "flat.info.json", w.Instance.Instantiated)
	goldenJSON(t, "flat.changes.json", w.Op.ResourceChanges)
	goldenJSON(t, "flat.inventory.json", w.Instance.Inventory)
}

// TestInventoryWithoutStack: another client deleted the stack between two phases.
func TestInventoryWithoutStack(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"stacks": []}`))
	})
	sc := &scene{t: t, stub: s}
	w := sc.work(clusterFlavour(), twoLinks, clusterHOT)
	e := asError(t, testDriver(t, Config{}).Inventory(t.Context(), w))
	require.Contains(t, e.Detail, "vnf-inst is not in the VIM")
	require.Nil(t, w.Instance.Instantiated)
}
