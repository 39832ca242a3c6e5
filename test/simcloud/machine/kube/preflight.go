package kube

import (
	"fmt"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// checks collects what preflight finds.
type checks struct {
	errs, warns []string
}

func (c *checks) fail(name, format string, a ...any) {
	c.errs = append(c.errs, fmt.Sprintf("[ERROR %s]: %s", name, fmt.Sprintf(format, a...)))
}

func (c *checks) warn(name, format string, a ...any) {
	c.warns = append(c.warns, fmt.Sprintf("[WARNING %s]: %s", name, fmt.Sprintf(format, a...)))
}

// report prints the findings; false if one is fatal.
func (c *checks) report(p *process.Proc) bool {
	for _, w := range c.warns {
		p.Errorf("\t%s\n", w)
	}
	if len(c.errs) == 0 {
		return true
	}
	p.Errorf("error execution phase preflight: [preflight] Some fatal errors occurred:\n\t%s\n"+
		"[preflight] If you know what you are doing, you can make a check non-fatal with "+
		"`--ignore-preflight-errors=...`\n"+
		"To see the stack trace of this error execute with --v=5 or higher\n", strings.Join(c.errs, "\n\t"))
	return false
}

// common are the checks of every node.
func (n *Node) common(c *checks, name string) {
	content := func(file string) {
		id := "FileContent-" + strings.ReplaceAll(file, "/", "-")
		b := n.read(file)
		switch {
		case b == nil:
			c.fail(id, "%s does not exist", file)
		case strings.TrimSpace(string(b)) != "1":
			c.fail(id, "%s contents are not set to 1", file)
		}
	}
	if why := n.criProblem(); why != "" {
		c.fail("CRI", "%s", why)
	}
	content("/proc/sys/net/bridge/bridge-nf-call-iptables")
	content("/proc/sys/net/ipv4/ip_forward")
	for _, tool := range []string{"conntrack", "mount"} {
		if !n.inPath(tool) {
			c.fail("FileExisting-"+tool, "%s not found in system path", tool)
		}
	}
	if !n.inPath("socat") {
		c.warn("FileExisting-socat", "socat not found in system path")
	}
	if _, err := n.os.Net.Resolve(name); err != nil {
		c.warn("Hostname", "hostname \"%s\" could not be reached", name)
		c.warn("Hostname", "hostname \"%s\": lookup %s on 127.0.0.53:53: server misbehaving", name, name)
	}
	if !n.inPath("kubelet") {
		c.fail("FileExisting-kubelet", "kubelet not found in system path")
	}
}

func (n *Node) inPath(tool string) bool {
	for _, d := range []string{"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/"} {
		if n.root().Access(d+tool, memfs.Exec) == nil {
			return true
		}
	}
	return false
}

func (n *Node) portFree(c *checks, ports ...uint16) {
	for _, p := range ports {
		if n.os.Net.InUse(p) {
			c.fail(fmt.Sprintf("Port-%d", p), "Port %d is in use", p)
		}
	}
}

func (n *Node) fileFree(c *checks, files ...string) {
	for _, f := range files {
		if n.exists(f) {
			c.fail("FileAvailable-"+strings.ReplaceAll(f, "/", "-"), "%s already exists", f)
		}
	}
}

// size checks what the hardware must have for a control plane.
func (n *Node) size(c *checks) {
	cpus, mb := n.os.Hardware().VCPUs, n.os.Hardware().MemoryMB
	if cpus == 1 {
		c.fail("NumCPU", "the number of available CPUs 1 is less than the required 2")
	}
	if mb > 0 && mb < 1700 {
		c.fail("Mem", "the system RAM (%d MB) is less than the minimum 1700 MB", mb)
	}
}

func privileged(p *process.Proc, c *checks) {
	if p.Cred.UID != 0 {
		c.fail("IsPrivilegedUser", "user is not running as root")
	}
}

// checkRoot makes the only check of a kubeadm that changes no more than its own machine.
func checkRoot(p *process.Proc) bool {
	c := &checks{}
	privileged(p, c)
	return c.report(p)
}

// initChecks are the preflight checks of kubeadm init.
func (n *Node) initChecks(p *process.Proc, s *settings) *checks {
	c := &checks{}
	privileged(p, c)
	n.size(c)
	n.portFree(c, 6443, 10259, 10257)
	n.fileFree(c, manifestDir+"kube-apiserver.yaml", manifestDir+"kube-controller-manager.yaml",
		manifestDir+"kube-scheduler.yaml", manifestDir+"etcd.yaml")
	n.common(c, s.nodeName)
	n.portFree(c, 10250, 2379, 2380)
	if l, err := n.root().ReadDir(etcdDir); err == nil && len(l) > 0 {
		c.fail("DirAvailable--var-lib-etcd", "%s is not empty", etcdDir)
	}
	if kubeadm := n.version("kubeadm"); minor(s.version) > minor(kubeadm) {
		c.fail("KubernetesVersion", "Kubernetes version is greater than kubeadm version. Please consider to upgrade "+
			"kubeadm. Kubernetes version: %s. Kubeadm version: %s",
			strings.TrimPrefix(s.version, "v"), strings.TrimPrefix(kubeadm, "v"))
	}
	return c
}

// joinChecks are the preflight checks of kubeadm join.
func (n *Node) joinChecks(p *process.Proc, s *settings) *checks {
	c := &checks{}
	privileged(p, c)
	n.fileFree(c, kubeletConf, bootstrapConf)
	if !s.controlPlane {
		if l, err := n.root().ReadDir(strings.TrimSuffix(manifestDir, "/")); err == nil && len(l) > 0 {
			c.fail("DirAvailable--etc-kubernetes-manifests", "/etc/kubernetes/manifests is not empty")
		}
	}
	n.fileFree(c, pkiDir+"ca.crt")
	n.common(c, s.nodeName)
	n.portFree(c, 10250)
	if s.controlPlane {
		n.size(c)
		n.portFree(c, 6443, 2379, 2380)
		if l, err := n.root().ReadDir(etcdDir); err == nil && len(l) > 0 {
			c.fail("DirAvailable--var-lib-etcd", "%s is not empty", etcdDir)
		}
	}
	return c
}

func minor(v string) int {
	f := strings.Split(strings.TrimPrefix(v, "v"), ".")
	if len(f) < 2 {
		return 0
	}
	n := 0
	_, _ = fmt.Sscan(f[1], &n)
	return n
}
