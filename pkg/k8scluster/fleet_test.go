package k8scluster_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// machines are simulated servers with SSH, a shell and a Kubernetes inside: the driver, the script and the API for
// real.
type machines struct {
	t     *testing.T
	fleet *simmachine.Fleet
	block *simcloud.Block
	keys  pinned
}

// newMachines takes a loopback network that no other test has.
func newMachines(t *testing.T) *machines {
	t.Helper()
	return newMachinesAt(t, 20)
}

// newMachinesAt is the same with machines whose clocks are that many times as fast as ours. A slower one costs less
// CPU: balancers and scripts look at each other all the time.
func newMachinesAt(t *testing.T, speed float64) *machines {
	t.Helper()
	block, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	f := simmachine.NewFleet(t.Context(), simmachine.Options{Speed: speed})
	t.Cleanup(func() {
		f.Close()
		_ = block.Close()
	})
	return &machines{t: t, fleet: f, block: block}
}

// complex boots three masters and two workers and describes them as the infra driver does.
func (m *machines) complex() *lcm.Instance {
	m.t.Helper()
	i := &lcm.Instance{
		ID: instanceID, VnfdID: "d34ac189-5376-493f-828f-224dd5fe7393", VnfPkgID: "pkg", VimConnections: vim1(),
	}
	vip, vipFloating := m.block.Addr(10, 100), m.block.Addr(20, 100)
	for _, s := range []struct {
		vdu         string
		first, size byte
	}{{"masterNode", 11, 3}, {"workerNode", 21, 2}} {
		for n := range s.size {
			host := s.first + n
			id := fmt.Sprintf("%s-%d", s.vdu, host)
			spec := simmachine.Spec{
				ID: id, Name: s.vdu, Hostname: strings.ToLower(s.vdu), Host: fmt.Sprintf("compute%d", n), VCPUs: 2,
				MemoryMB: 4096, FixedIPs: []netip.Addr{m.block.Addr(10, host)},
				FloatingIPs: []netip.Addr{m.block.Addr(20, host)},
			}
			if s.vdu == "masterNode" {
				spec.AllowedAddressPairs, spec.VIPFloatingIPs = []netip.Addr{vip}, map[netip.Addr]netip.Addr{
					vipFloating: vip,
				}
			}
			require.NoError(m.t, m.fleet.Boot(m.t.Context(), spec))
			i.Inventory = append(i.Inventory,
				lcm.Resource{
					Name: s.vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", VNFC: id, VDU: s.vdu,
					Index: int(n), Host: spec.Host,
				},
				lcm.Resource{Name: s.vdu + "_CP1", VNFC: id, VDU: s.vdu, Index: int(n), Addresses: []lcm.Address{
					{IP: m.block.Addr(10, host).String()},
				}},
				lcm.Resource{
					Name: s.vdu + "_CP1_floating_ip", VNFC: id, VDU: s.vdu, Index: int(n),
					Addresses: []lcm.Address{{IP: m.block.Addr(20, host).String(), Floating: true}},
				})
		}
	}
	i.Inventory = append(i.Inventory,
		lcm.Resource{Name: "vip_CP", Addresses: []lcm.Address{{IP: vip.String()}}},
		lcm.Resource{Name: "vip_CP_floating_ip", Addresses: []lcm.Address{{IP: vipFloating.String(), Floating: true}}})
	return i
}

func (m *machines) driver() *k8scluster.Driver { return m.driverWith(k8scluster.Options{}) }

// driverWith is the same with options of its own.
func (m *machines) driverWith(o k8scluster.Options) *k8scluster.Driver {
	pool := remote.NewPool(remote.Options{HostKeys: &m.keys}, 0)
	m.t.Cleanup(pool.Close)
	o.Connect, o.SSHPort = k8scluster.Pooled(pool), int(m.fleet.SSHPort())
	return k8scluster.New(o)
}

// pinned keeps host keys in memory.
type pinned struct {
	mu   sync.Mutex
	keys map[remote.Machine]remote.HostKey
}

// Lookup implements remote.HostKeyStore.
func (p *pinned) Lookup(_ context.Context, m remote.Machine) (*remote.HostKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.keys[m]; ok {
		return &k, nil
	}
	return nil, nil //nolint:nilnil // the contract
}

// Pin implements remote.HostKeyStore.
func (p *pinned) Pin(_ context.Context, m remote.Machine, k remote.HostKey) (remote.HostKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.keys[m]; ok {
		return old, nil
	}
	if p.keys == nil {
		p.keys = map[remote.Machine]remote.HostKey{}
	}
	p.keys[m] = k
	return k, nil
}

// built checks the cluster through its own API, with what the instance keeps of it.
func (m *machines) built(s *store) {
	m.t.Helper()
	require.Equal(m.t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
	require.Len(m.t, s.vims, 1)
	for _, v := range s.vims {
		a, err := kubernetes.FromVim(v.Connection)
		require.NoError(m.t, err)
		require.Equal(m.t, "https://"+m.block.Addr(20, 100).String()+":16443", a.Endpoint)
		c, err := kubernetes.New(a.Config())
		require.NoError(m.t, err)
		defer c.Close()
		var nodes []kubernetes.Node
		require.EventuallyWithT(m.t, func(t *assert.CollectT) { // the load balancer may drop a connection
			nodes, err = c.Nodes(m.t.Context())
			require.NoError(t, err)
		}, time.Minute, 50*time.Millisecond)
		masters := 0
		for _, n := range nodes {
			require.True(m.t, n.Ready, "%s: %s", n.Name, n.Reason)
			require.Contains(m.t, n.Labels["CIS-node"], "compute")
			if n.ControlPlane {
				masters++
			}
		}
		require.Len(m.t, nodes, 5)
		require.Equal(m.t, 3, masters)
	}
	require.NotRegexp(m.t, `[a-z0-9]{6}\.[a-z0-9]{16}`, s.allLogs(), "a join token is in a log")
}

// once checks that no machine was worked on twice.
func (m *machines) once() {
	m.t.Helper()
	for vnfc, commands := range map[string]map[string]int{
		"masterNode-11": {"apt-mark hold": 1, "kubeadm init --config": 1, "kubeadm join": 0},
		"masterNode-12": {"apt-mark hold": 1, "kubeadm join": 1},
		"masterNode-13": {"apt-mark hold": 1, "kubeadm join": 1},
		"workerNode-21": {"apt-mark hold": 1, "kubeadm join": 1},
		"workerNode-22": {"apt-mark hold": 1, "kubeadm join": 1},
	} {
		for command, times := range commands {
			require.Equal(m.t, times, m.fleet.Count(vnfc, command), "%s on %s", command, vnfc)
		}
	}
}

func TestSimulatedMachinesBecomeACluster(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), m.complex())
	began := time.Now()
	advance(t, s, m.driver, execution.Tuning{})
	m.built(s)
	m.once()
	t.Logf("built in %s with %d writes", time.Since(began), s.writes)
}

// The same over deaths: of the VNFM's node at writes spread over the whole operation, each on a fresh cluster.
func TestSimulatedMachinesAreWorkedOnOnceWhereverANodeDies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: takes a cluster per death")
	}
	for _, at := range []int{3, 9, 17, 26, 38, 47, 55, 63, 72, 80} {
		t.Run(fmt.Sprint("write ", at), func(t *testing.T) {
			t.Parallel()
			m := newMachines(t)
			s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), m.complex())
			s.dieAt = at
			advance(t, s, m.driver, execution.Tuning{})
			m.built(s)
			m.once()
		})
	}
}

// A machine that reboots while it is installed costs time and nothing else.
func TestSimulatedMachineThatRebootsIsFinished(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), m.complex())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil && m.fleet.Count("workerNode-21", "kubeadm join") == 0 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // watches a journal
		}
		m.fleet.Reboot("workerNode-21")
	}()
	advance(t, s, m.driver, execution.Tuning{})
	<-done
	m.built(s)
	require.Equal(t, 1, m.fleet.Count("workerNode-22", "kubeadm join"))
}
