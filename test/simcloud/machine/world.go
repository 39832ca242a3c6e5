package machine

import (
	"net/netip"
	"sync"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/haproxy"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/keepalived"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/kube"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// world is what machines share beyond the network: the segment on which virtual addresses move, and the clusters.
type world struct {
	f       *Fleet
	segment *keepalived.Segment
	reg     *kube.Registry

	mu    sync.Mutex
	nodes map[*Machine]*kube.Node
}

func (w *world) init(f *Fleet) {
	w.f, w.segment, w.reg, w.nodes = f, keepalived.NewSegment(), kube.NewRegistry(), map[*Machine]*kube.Node{}
}

func (w *world) close() { w.reg.Close() }

// forget is called when a machine is gone.
func (w *world) forget(m *Machine) {
	w.mu.Lock()
	n := w.nodes[m]
	delete(w.nodes, m)
	w.mu.Unlock()
	if n != nil {
		w.reg.Forget(n)
	}
}

// changed is called when a machine's network came up, went down, was cut or restored, or that its addresses changed.
func (w *world) changed(m *Machine) {
	w.mu.Lock()
	n := w.nodes[m]
	w.mu.Unlock()
	if n != nil {
		n.Changed()
	}
	w.segment.Elect()
}

// etcd copies what etcd has stored on a machine; nil for one that has no member.
func (w *world) etcd(m *Machine) *kube.Data {
	w.mu.Lock()
	n := w.nodes[m]
	w.mu.Unlock()
	if n == nil {
		return nil
	}
	return n.Data()
}

// install gives a machine the programs that have to do with others, with what was on its disk.
func (w *world) install(m *Machine, o *ubuntu.OS, from *image) {
	n := kube.NewNode(o, w.reg)
	if from != nil {
		n.Load(from.etcd)
	}
	w.mu.Lock()
	w.nodes[m] = n
	w.mu.Unlock()
	lb := haproxy.Host{Net: m.net, Ready: o.Ready}
	ka := keepalived.Host{
		Segment: w.segment, Interface: ubuntu.Interface, Ready: o.Ready,
		Eligible: func(vip netip.Addr) bool { return m.net.IsUp() && !m.net.IsCut() && m.mayHold(vip) },
		Acquire: func(vip netip.Addr) {
			for _, a := range append([]netstack.Addr{{IP: vip, Virtual: true}}, m.aliasAddrs(vip)...) {
				if err := m.net.Add(w.f.ctx, a); err != nil {
					w.f.log.Error("virtual address cannot be taken", "id", m.spec.ID, "address", a.IP, "err", err)
				}
			}
		},
		Release: func(vip netip.Addr) {
			for _, a := range m.aliasAddrs(vip) {
				m.net.Remove(a.IP)
			}
			m.net.Remove(vip)
		},
	}
	o.Add(map[string]process.Program{
		"haproxy": lb.Program, "keepalived": ka.Program, "ansible-playbook": w.f.playbook.Program,
	})
}

// Clusters lists the Kubernetes clusters that machines of the fleet have made.
func (f *Fleet) Clusters() []*kubeapi.Cluster { return f.world.reg.Clusters() }

// APIAway takes the API server of a master away while the machine goes on (true), or gives it back (false).
func (f *Fleet) APIAway(id string, yes bool) {
	m := f.Machine(id)
	f.world.mu.Lock()
	n := f.world.nodes[m]
	f.world.mu.Unlock()
	if n != nil {
		n.APIAway(yes)
	}
}
