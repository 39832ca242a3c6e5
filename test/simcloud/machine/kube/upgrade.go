package kube

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// upgrade is kubeadm upgrade apply and kubeadm upgrade node. kubelet is not their business.
func (n *Node) upgrade(ctx context.Context, p *process.Proc, f *process.Flags) int {
	verb := ""
	if len(f.Args) > 1 {
		verb = f.Args[1]
	}
	if verb != "apply" && verb != "node" {
		return fatal(p, "unknown command %q for \"kubeadm upgrade\"", verb)
	}
	if !checkRoot(p) {
		return 2
	}
	p.Printf("[upgrade] Reading configuration from the \"kubeadm-config\" ConfigMap in namespace \"kube-system\"...\n")
	conf := adminConf
	if verb == "node" && !n.exists(adminConf) {
		conf = kubeletConf
	}
	cl, c, err := n.access(ctx, p, conf)
	if err != nil {
		return fatal(p, "[upgrade/init config] FATAL: %v", err)
	}
	defer c.close()
	version, err := clusterVersion(cl)
	if err != nil {
		return fatal(p, "[upgrade/init config] FATAL: %v", err)
	}
	p.Printf("[upgrade/preflight] Running preflight checks\n")
	if err := healthy(cl); err != nil {
		return fatal(p, "[preflight] Some fatal errors occurred:\n\t[ERROR ControlPlaneNodesReady]: %v", err)
	}
	if verb == "apply" {
		if len(f.Args) < 3 {
			return fatal(p, "missing one or more required arguments. Required arguments: [version]")
		}
		want := "v" + strings.TrimPrefix(f.Args[2], "v")
		if why := n.policy(version, want); why != "" {
			return fatal(p, "[upgrade/version] FATAL: the --version argument is invalid due to these fatal errors:\n\n"+
				"\t- %s\n\nPlease fix the misalignments highlighted above and try upgrading again", why)
		}
		if !f.On("y") {
			p.Printf("[upgrade] Are you sure you want to proceed? [y/N]: ")
			if b, _ := p.ReadFile("-"); !strings.HasPrefix(strings.ToLower(strings.TrimSpace(string(b))), "y") {
				return fatal(p, "won't proceed; the user didn't answer (Y|y) in order to continue")
			}
		}
		version = want
	} else if m := minor(n.version("kubeadm")); minor(version) < m-1 || minor(version) > m {
		return fatal(p, "[upgrade/init config] FATAL: this version of kubeadm only supports deploying clusters "+
			"with the control plane version >= 1.%d.0. Current version: %s", m-1, version)
	}
	if n.wait(ctx, "kubeadm upgrade") != nil {
		return 1
	}
	if n.exists(manifestDir + "kube-apiserver.yaml") {
		if st := n.replaceControl(ctx, p, cl, version); st != 0 {
			return st
		}
	}
	if verb == "apply" {
		if err := setClusterVersion(cl, version); err != nil {
			return fatal(p, "error execution phase upload-config: %v", err)
		}
		p.Printf("\n[upgrade] SUCCESS! A control plane node of your cluster was upgraded to \"%s\".\n\n"+
			"[upgrade] Now please proceed with upgrading the rest of the nodes by following the right order.\n",
			version)
		return 0
	}
	p.Printf("[kubelet-start] Writing kubelet configuration to file %q\n"+
		"[upgrade] The configuration for this node was successfully updated!\n", kubeletConfig)
	return 0
}

// policy is what forbids a version, in kubeadm's words.
func (n *Node) policy(have, want string) string {
	kubeadm := n.version("kubeadm")
	switch {
	case minor(want) > minor(kubeadm):
		return fmt.Sprintf("Specified version to upgrade to %q is higher than the kubeadm version %q. "+
			"Upgrade kubeadm first using the tool you used to install kubeadm", want, kubeadm)
	case minor(want) > minor(have)+1:
		return fmt.Sprintf("Specified version to upgrade to %q is too high; kubeadm can upgrade only 1 minor version "+
			"at a time", want)
	case minor(want) < minor(have):
		return fmt.Sprintf("Specified version to downgrade to %q is too low; kubeadm can downgrade only 1 minor "+
			"version at a time", want)
	}
	return ""
}

// healthy wants all masters Ready, as kubeadm's preflight check does.
func healthy(cl *kubeapi.Cluster) error {
	for _, name := range cl.Nodes() {
		o, err := cl.Store().Get(kubeapi.Kind("Node"), "", name)
		if err != nil {
			return err
		}
		if kubeapi.At(o, "metadata", "labels", "node-role.kubernetes.io/control-plane") != nil && !cl.NodeReady(name) {
			return fmt.Errorf("there are NotReady control-planes in the cluster: [%s]", name)
		}
	}
	return nil
}

// replaceControl exchanges the control plane of this machine.
func (n *Node) replaceControl(ctx context.Context, p *process.Proc, cl *kubeapi.Cluster, version string) int {
	p.Printf("[upgrade/staticpods] Writing new Static Pod manifests to %q\n", strings.TrimSuffix(manifestDir, "/"))
	if !strings.Contains(string(n.read(manifestDir+"kube-apiserver.yaml")), ":"+version+"\n") {
		n.manifests(version)
		n.stopControl() // kubelet starts it again
	}
	admin, err := loadConfig(n.read(adminConf))
	if err == nil {
		admin.server = "https://" + net.JoinHostPort(n.os.Net.Primary().String(), "6443")
		err = n.answers(ctx, p, admin, "/readyz")
	}
	if err != nil {
		return fatal(p, "[upgrade/apply] FATAL: couldn't upgrade control plane. kubeadm has tried to recover "+
			"everything into the earlier state. Errors faced: %v", err)
	}
	cl.SetStaticPods(strings.ToLower(n.os.Sys.Hostname()), version)
	p.Printf("[upgrade/staticpods] Component \"kube-apiserver\" upgraded successfully!\n")
	return 0
}

// clusterVersion is the version that kubeadm keeps in its ConfigMap.
func clusterVersion(cl *kubeapi.Cluster) (string, error) {
	conf, err := clusterConfig(cl)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(conf) {
		if v, ok := strings.CutPrefix(line, "kubernetesVersion:"); ok {
			return strings.Trim(strings.TrimSpace(v), `"`), nil
		}
	}
	return "", fmt.Errorf("the ConfigMap %s names no version", configMap)
}

func setClusterVersion(cl *kubeapi.Cluster, version string) error {
	conf, err := clusterConfig(cl)
	if err != nil {
		return err
	}
	var out strings.Builder
	for line := range strings.Lines(conf) {
		if strings.HasPrefix(line, "kubernetesVersion:") {
			line = "kubernetesVersion: " + version + "\n"
		}
		out.WriteString(line)
	}
	return setClusterConfig(cl, out.String())
}
