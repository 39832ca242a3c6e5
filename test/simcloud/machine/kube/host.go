package kube

import (
	"context"
	"sync"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// Files of a node.
const (
	adminConf     = "/etc/kubernetes/admin.conf"
	kubeletConf   = "/etc/kubernetes/kubelet.conf"
	bootstrapConf = "/etc/kubernetes/bootstrap-kubelet.conf"
	kubeletConfig = "/var/lib/kubelet/config.yaml"
	kubeletFlags  = "/var/lib/kubelet/kubeadm-flags.env"
	pkiDir        = "/etc/kubernetes/pki/"
	caFile        = pkiDir + "ca.crt"
	manifestDir   = "/etc/kubernetes/manifests/"
	etcdDir       = "/var/lib/etcd"
	criSocket     = "/run/containerd/containerd.sock"
)

// apiPort is where API servers listen.
const apiPort = 6443

// host is one machine as a node, or as what may become one.
type host struct {
	w    *World
	m    Machine
	os   *ubuntu.OS
	wake chan struct{} // the kubelet shall look again

	mu       sync.Mutex
	pods     map[string]*process.Proc // static pods that run, by name
	node     string                   // whom the running kubelet reports as, "" if none runs
	of       *cluster                 // where it reports
	runtimes bool                     // it found the container runtime at its last look
}

// version makes a program that only tells its version.
func version(text string) process.Program {
	return func(_ context.Context, p *process.Proc) int {
		p.Printf("%s", text)
		return 0
	}
}

// idle is a program that runs until it is killed.
func idle(ctx context.Context, _ *process.Proc) int {
	<-ctx.Done()
	return 0
}

// root is the machine's disk.
func (h *host) root() memfs.View { return h.os.Sys.FS.As(memfs.Root) }

func (h *host) exists(file string) bool {
	_, err := h.root().Stat(file)
	return err == nil
}

// read returns a file's content, nil if it cannot be read.
func (h *host) read(file string) []byte {
	b, err := h.root().ReadFile(file)
	if err != nil {
		return nil
	}
	return b
}

// put writes a file with its directories.
func (h *host) put(file string, data []byte, secret bool) {
	mode := map[bool]uint32{false: 0o644, true: 0o600}[secret]
	for i := len(file) - 1; i > 0; i-- {
		if file[i] == '/' {
			_ = h.root().MkdirAll(file[:i], 0o755)
			break
		}
	}
	_ = h.root().Remove(file)
	_ = h.root().WriteFile(file, data, fsMode(mode))
}

// poke makes a running kubelet look at once.
func (h *host) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// report tells the cluster whether this machine's kubelet reports.
func (h *host) report() {
	h.mu.Lock()
	node, c, runtimes := h.node, h.of, h.runtimes
	h.mu.Unlock()
	if c == nil || node == "" {
		return
	}
	reason := ""
	if !runtimes {
		reason = "container runtime is down"
	}
	c.post(h.w, node, !h.os.Net.IsCut() && c.reachable(), reason)
}

// silence tells the cluster that the kubelet has ended.
func (h *host) silence() {
	h.mu.Lock()
	node, c := h.node, h.of
	h.node, h.of = "", nil
	h.mu.Unlock()
	if c != nil && node != "" {
		c.post(h.w, node, false, "")
	}
}

// spec describes the machine as a node.
func (h *host) spec(name, ip string, controlPlane bool) kubeapi.NodeSpec {
	if ip == "" {
		ip = h.os.Net.Primary().String()
	}
	return kubeapi.NodeSpec{
		Name: name, ControlPlane: controlPlane, IP: ip, Version: h.version("kubelet"), OSImage: "Ubuntu 22.04.4 LTS", KernelVersion: "5.15.0-107-generic",
		ContainerRuntime: "containerd://" + h.runtimeVersion(), CPUs: h.m.VCPUs, MemoryBytes: int64(h.m.MemoryMB) << 20,
	}
}
