package kube

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// lookEvery is how often the kubelet looks at its manifests, in simulated time; minLook bounds it however fast the clock is.
const (
	lookEvery = 20 * time.Second
	minLook   = 200 * time.Millisecond
)

func fsMode(m uint32) fs.FileMode { return fs.FileMode(m) }

// version is the version of an installed Kubernetes program, with v.
func (h *host) version(program string) string {
	v, _, _ := strings.Cut(h.os.Installed(program), "-")
	if v == "" {
		v = ubuntu.LatestKubernetes("1.37")
	}
	return "v" + v
}

// runtimeVersion is the version of containerd.
func (h *host) runtimeVersion() string {
	for _, n := range []string{"containerd", "containerd.io"} {
		if v := h.os.Installed(n); v != "" {
			v, _, _ = strings.Cut(v, "-")
			return v
		}
	}
	return "1.7.28"
}

// runtimeUp reports whether the container runtime serves the CRI.
func (h *host) runtimeUp() bool {
	return h.exists(criSocket) && !strings.Contains(string(h.read("/etc/containerd/config.toml")), `disabled_plugins = ["cri"]`)
}

// kubelet is the node agent: it runs the static pods and reports to the cluster.
func (h *host) kubelet(ctx context.Context, p *process.Proc) int {
	args := flagsOf(p.Args[1:])
	if _, ok := args["version"]; ok {
		p.Printf("Kubernetes %s\n", h.version("kubelet"))
		return 0
	}
	fail := func(text string) int { return p.Errorf("E1121 run.go:72] \"command failed\" err=\"%s\"\n", text) }
	if p.Cred.UID != 0 {
		return fail("failed to run Kubelet: must be run as root")
	}
	conf := h.read(kubeletConfig)
	switch {
	case conf == nil:
		return fail("failed to load kubelet config file, path: " + kubeletConfig + ", error: failed to load Kubelet config file " + kubeletConfig +
			", error failed to read kubelet config file \\\"" + kubeletConfig + "\\\", error: open " + kubeletConfig + ": no such file or directory")
	case h.os.SwapOn() && !strings.Contains(string(conf), "failSwapOn: false"):
		return fail("failed to run Kubelet: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")
	case !h.runtimeUp():
		return fail("failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \\\"unix://" + criSocket + "\\\": rpc error: code = Unavailable")
	case !h.exists(kubeletConf) && !h.exists(bootstrapConf):
		return fail("failed to run Kubelet: unable to load bootstrap kubeconfig: stat " + bootstrapConf + ": no such file or directory")
	}
	defer h.silence()
	for {
		h.mu.Lock()
		h.runtimes = h.runtimeUp()
		up := h.runtimes
		h.mu.Unlock()
		if up {
			h.syncPods()
		}
		h.register(p, first(args["node-ip"]))
		h.report()
		t := time.NewTimer(max(h.w.clock.Real(lookEvery), minLook))
		select {
		case <-ctx.Done():
			t.Stop()
			return 0
		case <-h.wake:
			t.Stop()
		case <-t.C:
		}
	}
}

// register finds out which node this is and makes it known to the cluster once an API server answers.
func (h *host) register(p *process.Proc, ip string) {
	conf := h.read(kubeletConf)
	if conf == nil {
		return
	}
	h.mu.Lock()
	done := h.node != ""
	h.mu.Unlock()
	if done {
		return
	}
	c := h.w.byCA(caOf(conf))
	if c == nil {
		p.Errorf("E1121 kubelet_node_status.go:106] \"Unable to register node with API server\" err=\"connection refused\"\n")
		return
	}
	u, _, ok := c.UserOfKubeconfig(conf)
	node, isNode := strings.CutPrefix(u.Name, "system:node:")
	if !ok || !isNode {
		p.Errorf("E1121 kubelet_node_status.go:106] \"Unable to register node with API server\" err=\"Unauthorized\"\n")
		return
	}
	if h.os.Net.IsCut() || !c.reachable() {
		p.Errorf("E1121 controller.go:145] \"Failed to ensure lease exists, will retry\" err=\"connection refused\"\n")
		return
	}
	c.join(h.m.ID)
	if !slices.Contains(c.Nodes(), node) {
		c.AddNode(h.spec(node, ip, false))
	}
	h.mu.Lock()
	h.node, h.of = node, c
	h.mu.Unlock()
}

// staticPods are the pods of a master in the order they start.
var staticPods = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// syncPods makes the manifests and the running static pods agree.
func (h *host) syncPods() {
	progs := map[string]process.Program{"etcd": h.etcd, "kube-apiserver": h.apiserver, "kube-controller-manager": idle, "kube-scheduler": idle}
	for _, name := range staticPods {
		b, err := h.root().ReadFile(manifestDir + name + ".yaml")
		h.mu.Lock()
		p := h.pods[name]
		h.mu.Unlock()
		if p != nil {
			select {
			case <-p.Done():
				p = nil
			default:
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			h.kill(name)
		case err == nil && p == nil:
			h.run(name, command(b), progs[name])
		}
	}
}

// command is what the first container of a pod runs.
func command(manifest []byte) []string {
	var pod struct {
		Spec struct {
			Containers []struct {
				Command []string `yaml:"command"`
			} `yaml:"containers"`
		} `yaml:"spec"`
	}
	if yaml.Unmarshal(manifest, &pod) != nil || len(pod.Spec.Containers) == 0 {
		return nil
	}
	return pod.Spec.Containers[0].Command
}

func (h *host) run(name string, args []string, prog process.Program) {
	if len(args) == 0 {
		return
	}
	a, _ := h.os.Sys.Account("root")
	p, err := h.os.Sys.NewProc(a, args...)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.pods[name] = p
	h.mu.Unlock()
	p.Launch(prog)
}

// kill ends a static pod and waits for it.
func (h *host) kill(name string) {
	h.mu.Lock()
	p := h.pods[name]
	delete(h.pods, name)
	h.mu.Unlock()
	if p != nil {
		p.Signal(process.SIGKILL)
		<-p.Done()
	}
}

// killPods ends all static pods.
func (h *host) killPods() {
	for _, n := range slices.Backward(staticPods) {
		h.kill(n)
	}
}

// podRuns reports whether a static pod runs.
func (h *host) podRuns(name string) bool {
	h.mu.Lock()
	p := h.pods[name]
	h.mu.Unlock()
	if p == nil {
		return false
	}
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}
