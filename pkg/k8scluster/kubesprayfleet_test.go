package k8scluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
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
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ansible"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

const (
	sprayRoot      = "/home/ubuntu/kubespray-2.16.0"
	sprayInventory = sprayRoot + "/inventory/mycluster"
)

// sprayed is simulated machines and an Ansible host on which playbooks make them nodes.
type sprayed struct {
	*machines
	inst   *lcm.Instance
	params sol.KeyValuePairs
}

// newSprayed boots an Ansible host, a load balancer, a master and a worker.
func newSprayed(t *testing.T) *sprayed {
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
	s := &sprayed{
		machines: &machines{t: t, fleet: f, block: block},
		inst: &lcm.Instance{
			ID: instanceID, VnfdID: "b1db0ce7-ebca-2fb7-95ed-4840d70a1163", VnfPkgID: "pkg", VimConnections: vim1(),
			Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "simple"},
		},
		params: sprayParams(t, "simple_kubernetes_param_file.json"),
	}
	require.NoError(t, f.Boot(t.Context(), simmachine.Spec{
		ID: "ansible", Name: "ansible", Hostname: "ansible", VCPUs: 2, MemoryMB: 4096,
		FixedIPs: []netip.Addr{block.Addr(20, 50)},
	}))
	v := f.Machine("ansible").FS()
	for _, name := range []string{
		"inventory/sample/group_vars/all/all.yml", "inventory/sample/group_vars/k8s_cluster/k8s-cluster.yml",
		"cluster.yml", "facts.yml", "scale.yml", "remove-node.yml",
	} {
		at := sprayRoot + "/" + name
		require.NoError(t, v.MkdirAll(at[:strings.LastIndexByte(at, '/')], 0o777))
		require.NoError(t, v.WriteFile(at, []byte("---\n"), 0o644))
	}
	require.NoError(t, v.WriteFile("/usr/bin/ansible-playbook", process.Stub("ansible-playbook"), 0o755))
	for dir := sprayRoot + "/inventory"; dir != "/home/ubuntu"; dir = dir[:strings.LastIndexByte(dir, '/')] {
		require.NoError(t, v.Chmod(dir, 0o777))
	}
	install := s.params["k8s_cluster_installation_param"].(map[string]any)
	install["ansible"].(map[string]any)["ip_address"] = block.Addr(20, 50).String()
	delete(install, "proxy") // there is none in the simulation
	s.boot("masterNode", "masterNode_CP1", 11, 0)
	s.boot("workerNode", "workerNode_CP2", 21, 0)
	s.boot("externalLB", "externalLB_CP3", 31, 0)
	return s
}

// boot starts a machine and adds it to the instance as the infra driver does.
func (m *sprayed) boot(vdu, cp string, octet byte, index int) string {
	m.t.Helper()
	id := fmt.Sprintf("%s-%d", vdu, octet)
	require.NoError(m.t, m.fleet.Boot(m.t.Context(), simmachine.Spec{
		ID: id, Name: vdu, Hostname: strings.ToLower(vdu), Host: "compute1", VCPUs: 2, MemoryMB: 4096,
		FixedIPs: []netip.Addr{m.block.Addr(10, octet)}, FloatingIPs: []netip.Addr{m.block.Addr(20, octet)},
	}))
	floating := strings.TrimSuffix(cp, cp[strings.IndexByte(cp, '_'):]) + "_FloatingIP"
	m.inst.Inventory = append(m.inst.Inventory,
		lcm.Resource{
			Name: vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", VNFC: id, VDU: vdu, Index: index,
			Host: "compute1", ID: "server-" + id,
		},
		lcm.Resource{Name: cp, Kind: lcm.KindPort, VNFC: id, VDU: vdu, Index: index, Addresses: []lcm.Address{
			{IP: m.block.Addr(10, octet).String()},
		}},
		lcm.Resource{
			Name: floating, Kind: lcm.KindAddress, VNFC: id, VDU: vdu, Index: index,
			Addresses: []lcm.Address{{IP: m.block.Addr(20, octet).String(), Floating: true}},
		})
	info := m.inst.Instantiated
	info.VnfcInfo = append(info.VnfcInfo, sol.VnfcInfo{
		ID: id, VduID: vdu, VnfcResourceInfoID: id, VnfcState: sol.VnfOperationalStateStarted,
	})
	info.VnfcResourceInfo = append(info.VnfcResourceInfo, sol.VnfcResourceInfo{
		ID: id, VduID: vdu, ComputeResource: sol.ResourceHandle{ResourceID: fmt.Sprintf("server-%s-%d", id, index)},
	})
	return id
}

func (m *sprayed) driver() *k8scluster.Kubespray {
	pool := remote.NewPool(remote.Options{HostKeys: &m.keys}, 0)
	m.t.Cleanup(pool.Close)
	return k8scluster.NewKubespray(k8scluster.Options{
		Connect: k8scluster.Pooled(pool), SSHPort: int(m.fleet.SSHPort()),
	})
}

func (m *sprayed) file(id, name string) string {
	m.t.Helper()
	raw, err := m.fleet.Machine(id).FS().ReadFile(name)
	require.NoError(m.t, err)
	return string(raw)
}

// nodes asks the cluster that is registered as a VIM, with its verified certificate.
func (m *sprayed) nodes(s *store) []string {
	m.t.Helper()
	require.Len(m.t, s.vims, 1)
	a, err := kubernetes.FromVim(s.vims[k8scluster.VimID(instanceID)].Connection)
	require.NoError(m.t, err)
	require.Equal(m.t, "https://"+m.block.Addr(20, 31).String()+":8383", a.Endpoint)
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
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

// sprayPackages has the package of Kubespray's clusters.
type sprayPackages struct{}

func (sprayPackages) model() *vnfd.VNFD {
	f := sprayFlavour(1)
	return &vnfd.VNFD{ID: "b1db0ce7-ebca-2fb7-95ed-4840d70a1163", Flavours: []vnfd.Flavour{f}}
}

func (p sprayPackages) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return p.model(), "pkg", nil
}

func (p sprayPackages) VnfdID(context.Context, lcm.Principal, string) (string, error) {
	return p.model().ID, nil
}

func (p sprayPackages) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return p.model(), nil }
func (sprayPackages) Files(context.Context, string) (fs.FS, error)          { return sprayFS, nil }

// advance lets nodes work on an operation until it has ended; a death is followed by another node.
func (m *sprayed) advance(s *store) {
	m.t.Helper()
	for n := range 1000 {
		ctx, cancel := context.WithCancel(m.t.Context())
		s.mu.Lock()
		s.died = cancel
		s.mu.Unlock()
		r := &execution.Runner{
			Store: s, Packages: sprayPackages{}, Clock: lcm.SystemClock{}, Log: slog.New(slog.DiscardHandler),
			Node: fmt.Sprintf("node-%d", n),
			Planner: &execution.Planner{
				Infras: infra{}, Mgmt: mgmt.Registry{k8scluster.KubesprayName: m.driver()}, Grantor: infra{},
			},
		}
		after, again, err := r.Advance(ctx, opID)
		dead := ctx.Err() != nil
		cancel()
		if dead {
			s.mu.Lock()
			s.dieAt = 0
			s.mu.Unlock()
			continue
		}
		require.NoError(m.t, err)
		if !again {
			return
		}
		time.Sleep(after) //nolint:forbidigo // the engine decides when to look again
	}
	m.t.Fatal("the operation does not come to an end")
}

// instantiate makes the cluster.
func (m *sprayed) instantiate(dieAt int) *store {
	m.t.Helper()
	raw, err := json.Marshal(map[string]any{"flavourId": "simple", "additionalParams": m.params})
	require.NoError(m.t, err)
	s := newStore(m.t, sol.LcmOperationInstantiate, raw, m.inst)
	s.dieAt = dieAt
	m.advance(s)
	return s
}

func TestPlaybooksMakeACluster(t *testing.T) {
	t.Parallel()
	m := newSprayed(t)
	s := m.instantiate(0)
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
	require.Equal(t, []string{"master11", "worker21"}, m.nodes(s))
	require.Equal(t, 1, m.fleet.Count("ansible", "ansible-playbook"))
	require.Contains(t, s.steps["cluster.yml workerNode-21"].Detail, "failed=0")
	hosts := m.file("ansible", sprayInventory+"/hosts.yaml")
	require.Contains(t, hosts, "ansible_password")
	info, err := m.fleet.Machine("ansible").FS().Stat(sprayInventory + "/hosts.yaml")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.Contains(t, m.file("ansible", sprayInventory+"/group_vars/k8s_cluster/zz_gybe.yml"), "10.199.187.0/24")
	require.Contains(t, m.file("externalLB-31", "/home/ubuntu/.kube/config"), m.block.Addr(10, 31).String()+":8383")
	for _, e := range m.fleet.Journal("ansible") {
		require.NotContains(t, e.Line, "ansible_password")
	}
	t.Logf("%d writes", s.writes)
}

// A playbook that fails on one host names the host and the task, and a retry runs it again.
func TestPlaybookThatFailsOnOneHost(t *testing.T) {
	t.Parallel()
	m := newSprayed(t)
	m.fleet.Fail("workerNode-21", simmachine.Failure{Command: "kubeadm join", Stderr: "no space left"})
	s := m.instantiate(0)
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "worker21: task kubernetes : join")
	require.Equal(t, lcm.StepFailed, s.steps["cluster.yml workerNode-21"].State)
	m.fleet.ClearFailures("workerNode-21")
	s.op.State, s.op.FailedIn = sol.LcmOperationStateProcessing, sol.LcmOperationStateProcessing
	m.advance(s)
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	require.Equal(t, []string{"master11", "worker21"}, m.nodes(s))
}
