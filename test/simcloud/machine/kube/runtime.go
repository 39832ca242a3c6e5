package kube

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func keyPair(cert, key []byte) (tls.Certificate, error) { return tls.X509KeyPair(cert, key) }

const defaultConfig = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = []

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "registry.k8s.io/pause:3.8"
    [plugins."io.containerd.grpc.v1.cri".containerd]
      snapshotter = "overlayfs"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
          SystemdCgroup = false
    [plugins."io.containerd.grpc.v1.cri".registry]
      config_path = ""
`

// containerd is the daemon, and `containerd config default`.
func (n *Node) containerd(ctx context.Context, p *process.Proc) int {
	if len(p.Args) > 1 {
		if strings.Join(p.Args[1:], " ") != "config default" {
			return p.Errorf("containerd: only the daemon and config default are simulated\n")
		}
		p.Printf("%s", defaultConfig)
		return 0
	}
	if b := string(n.read("/etc/containerd/config.toml")); strings.Count(b, "[")-strings.Count(b, "]") != 0 {
		p.Errorf("containerd: failed to load TOML: /etc/containerd/config.toml: toml: unbalanced brackets\n")
		return 1
	}
	if err := n.write(containerdSock, nil, 0o660); err != nil {
		return p.Errorf("containerd: failed to get listener for main endpoint: %s\n", process.Reason(err))
	}
	defer func() { _ = n.root().Remove(containerdSock) }()
	p.Handle(func(s process.Signal) bool { return s == process.SIGHUP })
	n.os.Ready(p)
	<-ctx.Done()
	return 0
}

// criProblem says why the container runtime does not answer, "" if it does.
func (n *Node) criProblem() string {
	switch {
	case !n.exists(containerdSock):
		return `could not connect to the container runtime: failed to create new CRI runtime service: validate service connection: validate CRI v1 runtime API for endpoint "unix:///run/containerd/containerd.sock": rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: no such file or directory"`
	case criDisabled(string(n.read("/etc/containerd/config.toml"))):
		return `could not connect to the container runtime: failed to create new CRI runtime service: validate service connection: validate CRI v1 runtime API for endpoint "unix:///run/containerd/containerd.sock": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService`
	}
	return ""
}

func criDisabled(conf string) bool {
	for line := range strings.Lines(conf) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "disabled_plugins") && strings.Contains(t, `"cri"`) {
			return true
		}
	}
	return false
}

// kubelet is the node agent.
func (n *Node) kubelet(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(true, "v:", "bootstrap-kubeconfig:=bootstrap-kubeconfig", "config:=config",
		"container-runtime-endpoint:=container-runtime-endpoint",
		"hostname-override:=hostname-override", "kubeconfig:=kubeconfig", "node-ip:=node-ip",
		"node-labels:=node-labels", "pod-infra-container-image:=pod-infra-container-image", "version=version", "v:=v")
	if !ok {
		return 1
	}
	if f.On("version") {
		p.Printf("Kubernetes %s\n", n.version("kubelet"))
		return 0
	}
	fail := func(format string, a ...any) int {
		p.Errorf("E0101 00:00:00.000000 "+format+"\n", a...)
		return 1
	}
	if !n.exists(kubeletConfig) {
		return fail(`command failed err="failed to load kubelet config file, path: %s, error: failed to load Kubelet config file %s, error failed to read kubelet config file \"%s\", error: open %s: no such file or directory"`, kubeletConfig, kubeletConfig, kubeletConfig, kubeletConfig)
	}
	if why := n.criProblem(); why != "" {
		return fail(`"command failed" err="failed to run Kubelet: %s"`, why)
	}
	conf := n.read(kubeletConf)
	if conf == nil {
		if conf = n.read(bootstrapConf); conf == nil {
			return fail(`"command failed" err="failed to run Kubelet: unable to load bootstrap kubeconfig: stat %s: no such file or directory"`, bootstrapConf)
		}
	}
	k, err := loadConfig(conf)
	if err != nil {
		return fail(`"command failed" err="failed to run Kubelet: invalid kubeconfig: %v"`, err)
	}
	for _, l := range []netip.AddrPort{
		netip.MustParseAddrPort("127.0.0.1:10248"), netip.MustParseAddrPort("0.0.0.0:10250"),
	} {
		stop, err := n.os.Net.Listen(ctx, l.Addr(), l.Port(), healthz)
		if err != nil {
			return fail(`"Failed to start healthz server" err="listen tcp %s: bind: %s"`, l, process.Reason(err))
		}
		defer stop()
	}
	n.os.Ready(p)
	name := strings.ToLower(n.os.Sys.Hostname())
	if h := f.Val("hostname-override"); h != "" {
		name = h
	}
	ip := f.Val("node-ip")
	if ip == "" {
		ip = n.os.Net.Primary().String()
	}
	n.live(ctx, p, k, name, ip)
	return 0
}

// healthz answers every request with ok.
func healthz(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	b := make([]byte, 4096)
	if _, err := c.Read(b); err == nil {
		_, _ = io.WriteString(
			c, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
		)
	}
}

// retryEvery is how often kubelet tries again what did not work, in real time at least.
const retryEvery = 50 * time.Millisecond

// live registers the node and reports on it until ctx ends.
func (n *Node) live(ctx context.Context, p *process.Proc, k *config, name, ip string) {
	var cluster *kubeapi.Cluster
	t := time.NewTimer(0)
	defer t.Stop()
	ready, changed := false, n.changed()
	defer func() {
		if ready {
			n.reg.report(n.os.Sys.Clock, cluster, name, false)
		}
		n.reg.stops(n)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-changed:
		}
		changed = n.changed() // before looking, so that no change is missed
		n.startControl(ctx)
		pause := max(n.os.Sys.Clock.Real(time.Second), retryEvery)
		if cluster != nil && n.reg.byCA(k.ca) != cluster { // it has other data now, and may not know this node
			if ready {
				n.reg.report(n.os.Sys.Clock, cluster, name, false)
			}
			cluster, ready = nil, false
		}
		switch cut := n.os.Net.IsCut(); {
		case cluster == nil && !cut && n.exists(kubeletConf):
			c := n.reg.byCA(k.ca)
			if c == nil || !k.healthy(ctx, p) {
				break
			}
			master := n.exists(manifestDir + "kube-apiserver.yaml")
			c.AddNode(kubeapi.NodeSpec{Name: name, ControlPlane: master, IP: ip, Version: n.version("kubelet")})
			n.reg.report(n.os.Sys.Clock, c, name, true)
			cluster, ready, pause = c, true, time.Hour
		case cluster != nil:
			if ready == cut {
				ready = !cut
				n.reg.report(n.os.Sys.Clock, cluster, name, ready)
			}
			pause = time.Hour
		}
		if !t.Stop() {
			select {
			case <-t.C:
			default:
			}
		}
		t.Reset(pause)
	}
}
