package kube

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// Paths that kubeadm and kubelet use.
const (
	etc            = "/etc/kubernetes/"
	pkiDir         = etc + "pki/"
	manifestDir    = etc + "manifests/"
	adminConf      = etc + "admin.conf"
	kubeletConf    = etc + "kubelet.conf"
	bootstrapConf  = etc + "bootstrap-kubelet.conf"
	kubeletConfig  = "/var/lib/kubelet/config.yaml"
	kubeletFlags   = "/var/lib/kubelet/kubeadm-flags.env"
	etcdDir        = "/var/lib/etcd"
	containerdSock = "/run/containerd/containerd.sock"
)

// Node is the Kubernetes side of one machine.
type Node struct {
	os  *ubuntu.OS
	reg *Registry

	mu      sync.Mutex
	wake    chan struct{} // closed and replaced when the network of the machine has changed
	control map[string]*process.Proc
	away    bool  // its API server does not come up
	data    *Data // of etcd, from a copy of the disk, that no majority has taken over; nil: what the cluster has
}

// NewNode gives a machine its Kubernetes programs.
func NewNode(o *ubuntu.OS, r *Registry) *Node {
	n := &Node{os: o, reg: r, wake: make(chan struct{}), control: map[string]*process.Proc{}}
	o.Add(map[string]process.Program{
		"containerd": n.containerd, "kubelet": n.kubelet, "kubeadm": n.kubeadm, "kubectl": n.kubectl,
		"cilium": n.cilium,
	})
	r.mu.Lock()
	r.nodes[n] = true
	r.mu.Unlock()
	return n
}

// Changed is called when the machine's network was cut or restored.
func (n *Node) Changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.wake)
	n.wake = make(chan struct{})
}

// APIAway ends the machine's API server as a crash does and keeps it from coming up again (true), or lets the kubelet
// start it (false).
func (n *Node) APIAway(yes bool) {
	n.mu.Lock()
	n.away = yes
	p := n.control["kube-apiserver"]
	n.mu.Unlock()
	if yes && p != nil {
		p.Signal(process.SIGKILL)
		<-p.Done()
	}
	n.Changed()
}

func (n *Node) changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wake
}

// root is the disk as root sees it.
func (n *Node) root() memfs.View { return n.os.Sys.FS.As(memfs.Root) }

func (n *Node) read(name string) []byte {
	b, err := n.root().ReadFile(name)
	if err != nil {
		return nil
	}
	return b
}

func (n *Node) exists(name string) bool {
	_, err := n.root().Stat(name)
	return err == nil
}

func (n *Node) write(name string, data []byte, mode os.FileMode) error {
	if err := n.root().MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755); err != nil {
		return err
	}
	return n.root().WriteFile(name, data, mode)
}

// version is the version of the installed kubeadm (or kubelet), "v1.34.3".
func (n *Node) version(pkg string) string {
	v := n.os.Installed(pkg)
	if v == "" {
		return "v" + ubuntu.LatestKubernetes("1.34")
	}
	v, _, _ = strings.Cut(v, "-")
	return "v" + v
}

// cluster finds the cluster that the CA on this machine's disk belongs to.
func (n *Node) cluster() *kubeapi.Cluster { return n.reg.byCA(n.read(pkiDir + "ca.crt")) }

// startControl starts the control plane whose manifests are there, and keeps it running as kubelet does.
func (n *Node) startControl(ctx context.Context) {
	if !n.exists(manifestDir + "kube-apiserver.yaml") {
		return
	}
	c := n.present()
	if c == nil {
		return
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		n.mu.Lock()
		running := n.control[name] != nil || n.away && name == "kube-apiserver"
		n.mu.Unlock()
		if !running && n.exists(manifestDir+name+".yaml") {
			n.startPod(ctx, c, name)
		}
	}
}

func (n *Node) startPod(ctx context.Context, c *kubeapi.Cluster, name string) {
	root, _ := n.os.Sys.Account("root")
	p, err := n.os.Sys.NewProc(root, name, "--kubeconfig="+etc+name+".conf")
	if err != nil {
		return
	}
	ready := make(chan struct{})
	n.mu.Lock()
	n.control[name] = p
	n.mu.Unlock()
	p.Start(func(ctx context.Context, p *process.Proc) int {
		switch name {
		case "etcd":
			return n.etcd(ctx, c, ready)
		case "kube-apiserver":
			return n.apiserver(ctx, c, ready)
		}
		close(ready)
		<-ctx.Done()
		return 0
	})
	n.os.Sys.Go(func(context.Context) {
		<-p.Done()
		n.mu.Lock()
		if n.control[name] == p {
			delete(n.control, name)
		}
		n.mu.Unlock()
		n.Changed()
	})
	select {
	case <-ready:
	case <-p.Done():
	case <-ctx.Done():
	}
}

// etcd is the member on this machine; its name is on the disk.
func (n *Node) etcd(ctx context.Context, c *kubeapi.Cluster, ready chan<- struct{}) int {
	name := n.member()
	if name == "" {
		return 1
	}
	c.SetMemberUp(name, true)
	defer c.SetMemberUp(name, false)
	close(ready)
	for {
		changed := n.changed()
		if n.cluster() != c { // the others go on with older data, and this member has confirmed more
			n.Load(&Data{saved: c.Save(), of: c})
			return 1
		}
		// A member that cannot be reached does not count.
		c.SetMemberUp(name, !n.os.Net.IsCut())
		select {
		case <-changed:
		case <-ctx.Done():
			return 0
		}
	}
}

// apiserver serves the cluster on port 6443 of every address.
func (n *Node) apiserver(ctx context.Context, c *kubeapi.Cluster, ready chan<- struct{}) int {
	cert, err := keyPair(n.read(pkiDir+"apiserver.crt"), n.read(pkiDir+"apiserver.key"))
	if err != nil {
		return 1
	}
	l := &funnel{conns: make(chan net.Conn), done: make(chan struct{})}
	stop, err := n.os.Net.Listen(ctx, netip.Addr{}, 6443, l.take)
	if err != nil {
		return 1
	}
	defer stop()
	srv := c.Serve(cert, l)
	defer srv.Close()
	close(ready)
	for {
		changed := n.changed()
		if n.cluster() != c { // its etcd has ended
			return 1
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0
		}
	}
}

// stopControl ends the control plane and waits for it.
func (n *Node) stopControl() {
	n.mu.Lock()
	var all []*process.Proc
	for _, p := range n.control {
		all = append(all, p)
	}
	n.mu.Unlock()
	for _, p := range all {
		p.Signal(process.SIGTERM)
		<-p.Done()
	}
}

// funnel is a net.Listener for connections that the machine's network hands over one by one.
type funnel struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// take hands a connection to the server and stays until it is closed.
func (l *funnel) take(c net.Conn) {
	h := &handed{Conn: c, closed: make(chan struct{})}
	select {
	case l.conns <- h:
		<-h.closed
	case <-l.done:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (l *funnel) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *funnel) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *funnel) Addr() net.Addr { return &net.TCPAddr{Port: 6443} }

type handed struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close closes the connection and lets the network go on.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.closed) })
	return h.Conn.Close()
}
