package k8scluster_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ansible"
	simmachines "github.com/gybe-nfv/gybe/test/simcloud/machines"
)

const (
	sprayInventory = simmachines.KubesprayRoot + "/inventory/mycluster"
	sprayVnfd      = "b1db0ce7-ebca-2fb7-95ed-4840d70a1163"
)

// sprayed is a VNF instance with simulated machines, and an Ansible host on which playbooks make them nodes.
type sprayed struct {
	*machines
	id               string
	masters, workers int // when it is instantiated
	ansible          netip.Addr
	params           sol.KeyValuePairs
	// there is what the VIM has of the instance.
	there *lcm.Instance
	next  map[string]byte // the last byte of the address of the next machine, by VDU
	// prefix begins the names of its machines, and is "" for the first instance.
	prefix string
	boots  int
	// options are those of the driver; Connect and SSHPort are filled in.
	options k8scluster.Options
	// instance is that of the last operation, and vims are those that are registered.
	instance *lcm.Instance
	vims     map[string]lcm.Vim
}

// newSprayed makes an Ansible host, and an instance that has no machines yet.
func newSprayed(t *testing.T, masters, workers int) *sprayed {
	t.Helper()
	block, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	f := simmachine.NewFleet(t.Context(), simmachine.Options{
		Speed: 20, Playbook: ansible.Playbook{Script: os.DirFS("../../vnf-packages/kubernetes-cluster/Scripts")},
	})
	t.Cleanup(func() {
		f.Close()
		_ = block.Close()
	})
	m := &machines{t: t, fleet: f, block: block}
	return m.sprayed(instanceID, simmachines.BootAnsible(t, f), masters, workers)
}

// sprayed makes an instance on these machines.
func (m *machines) sprayed(id string, host netip.Addr, masters, workers int) *sprayed {
	m.t.Helper()
	s := &sprayed{
		machines: m, id: id, masters: masters, workers: workers, ansible: host,
		params: sprayParams(m.t, "simple_kubernetes_param_file.json"),
		next:   map[string]byte{"masterNode": 11, "workerNode": 21, "externalLB": 31},
		there:  &lcm.Instance{Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "simple"}}, vims: map[string]lcm.Vim{},
	}
	s.install("ansible")["ip_address"] = host.String()
	delete(s.params[k8scluster.ParamKey].(map[string]any), "proxy") // there is none in the simulation
	return s
}

// install is an object of the installation parameters.
func (m *sprayed) install(object string) map[string]any {
	return m.params[k8scluster.ParamKey].(map[string]any)[object].(map[string]any)
}

// driver is that of a new process: it shares no connection with those before.
func (m *sprayed) driver() lcm.MgmtDriver {
	pool := remote.NewPool(remote.Options{HostKeys: &m.keys}, 0)
	m.t.Cleanup(pool.Close)
	o := m.options
	o.Connect, o.SSHPort = k8scluster.Pooled(pool), int(m.fleet.SSHPort())
	return k8scluster.NewKubespray(o)
}

func (m *sprayed) file(id, name string) string {
	m.t.Helper()
	raw, err := m.fleet.Machine(id).FS().ReadFile(name)
	require.NoError(m.t, err)
	return string(raw)
}

// claimed reports whether the directory of the inventory is there.
func (m *sprayed) claimed() bool { return m.claimedOn("ansible") }

// claimedOn is claimed for another Ansible host.
func (m *sprayed) claimedOn(host string) bool {
	_, err := m.fleet.Machine(host).FS().Stat(sprayInventory)
	return err == nil
}

// balanced wants the load balancer to lead to these machines, by the last bytes of their addresses.
func (m *sprayed) balanced(masters, workers []byte) {
	m.t.Helper()
	var want, got []string
	for _, b := range masters {
		want = append(want, fmt.Sprintf("server master%d %s:6443 check", b, m.at(10, b)))
	}
	for _, b := range workers {
		want = append(want, fmt.Sprintf("server worker%d %s", b, m.at(10, b)))
	}
	for line := range strings.Lines(m.file(m.machine(m.vnfcs("externalLB")[0]), "/etc/haproxy/haproxy.cfg")) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "server" {
			got = append(got, strings.Join(f, " "))
		}
	}
	require.Equal(m.t, want, got)
}

// nodes asks the cluster that is registered as a VIM, with its verified certificate, through the load balancer.
func (m *sprayed) nodes() []string {
	m.t.Helper()
	require.Len(m.t, m.vims, 1)
	a, err := kubernetes.FromVim(m.vims[k8scluster.VimID(m.id)].Connection)
	require.NoError(m.t, err)
	require.Equal(m.t, "https://"+m.at(20, m.next["externalLB"]).String()+":8383", a.Endpoint)
	require.NotEmpty(m.t, a.CA)
	require.False(m.t, a.Insecure)
	c, err := kubernetes.New(a.Config())
	require.NoError(m.t, err)
	defer c.Close()
	var nodes []kubernetes.Node
	require.Eventually(m.t, func() bool {
		nodes, err = c.Nodes(m.t.Context())
		return err == nil
	}, 30*time.Second, 50*time.Millisecond, "%v", err)
	var out []string
	for _, n := range nodes {
		require.True(m.t, n.Ready, "%s: %s", n.Name, n.Reason)
		require.False(m.t, n.Closed, "%s is closed", n.Name)
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

// played lists the playbooks that ran on the Ansible host, in their order, the failed ones too.
func (m *machines) played() []string { return m.playedOn("ansible") }

// playedOn is played for another Ansible host.
func (m *machines) playedOn(host string) []string {
	var out []string
	for _, e := range m.fleet.Journal(host) {
		if f := strings.Fields(e.Line); e.Kind == "exec" && f[0] == "ansible-playbook" {
			out = append(out, f[len(f)-1])
		}
	}
	return out
}

// at is an address of the instance's network.
func (m *sprayed) at(network, host byte) netip.Addr { return m.block.Addr(network, host) }

// machine is the machine of a VNFC.
func (m *sprayed) machine(vnfc string) string {
	for _, r := range m.there.Inventory {
		if r.VNFC == vnfc && r.Kind == lcm.KindCompute {
			return r.ID[len("server-"):strings.LastIndexByte(r.ID, '-')]
		}
	}
	return ""
}

// vnfcs lists the VNFCs of a VDU.
func (m *sprayed) vnfcs(vdu string) []string {
	var out []string
	for _, v := range m.there.Instantiated.VnfcInfo {
		if v.VduID == vdu {
			out = append(out, v.ID)
		}
	}
	return out
}

// boot starts a machine of a VNFC, a new VNFC with "", and adds it to what the VIM has.
func (m *sprayed) boot(vdu, vnfc string) error {
	octet := m.next[vdu]
	if vdu != "externalLB" { // the port of the load balancer stays when its server is replaced
		m.next[vdu]++
	}
	cp := map[string]string{
		"masterNode": "masterNode_CP1", "workerNode": "workerNode_CP2", "externalLB": "externalLB_CP3",
	}[vdu]
	host := fmt.Sprintf("%s%s-%d", m.prefix, vdu, octet)
	vnfc = cmp.Or(vnfc, host)
	m.boots++
	server := fmt.Sprintf("server-%s-%d", host, m.boots)
	if err := m.fleet.Boot(m.t.Context(), simmachine.Spec{
		ID: host, Name: vdu, Hostname: strings.ToLower(vdu), Host: "compute1", VCPUs: 2, MemoryMB: 4096,
		FixedIPs: []netip.Addr{m.at(10, octet)}, FloatingIPs: []netip.Addr{m.at(20, octet)},
	}); err != nil {
		return err
	}
	index := int(octet)
	if n := slices.IndexFunc(m.there.Inventory, func(r lcm.Resource) bool { return r.VNFC == vnfc }); n >= 0 {
		index = m.there.Inventory[n].Index
		m.forget(vnfc)
	}
	m.there.Inventory = append(m.there.Inventory,
		lcm.Resource{
			Name: vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", VNFC: vnfc, VDU: vdu, Index: index,
			Host: "compute1", ID: server,
		},
		lcm.Resource{Name: cp, Kind: lcm.KindPort, VNFC: vnfc, VDU: vdu, Index: index, Addresses: []lcm.Address{
			{IP: m.at(10, octet).String()},
		}},
		lcm.Resource{
			Name: cp[:strings.IndexByte(cp, '_')] + "_FloatingIP", Kind: lcm.KindAddress, VNFC: vnfc, VDU: vdu,
			Index: index, Addresses: []lcm.Address{{IP: m.at(20, octet).String(), Floating: true}},
		})
	info := m.there.Instantiated
	info.VnfcInfo = append(info.VnfcInfo, sol.VnfcInfo{
		ID: vnfc, VduID: vdu, VnfcResourceInfoID: server, VnfcState: sol.VnfOperationalStateStarted,
	})
	info.VnfcResourceInfo = append(info.VnfcResourceInfo, sol.VnfcResourceInfo{
		ID: server, VduID: vdu, ComputeResource: sol.ResourceHandle{ResourceID: server},
	})
	return nil
}
