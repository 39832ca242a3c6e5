package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// kubeadmOptions are those of all commands of kubeadm that are simulated. Options of real ones that change nothing here
// are accepted.
var kubeadmOptions = []string{
	"apiserver-advertise-address:=apiserver-advertise-address", "certificate-key:=certificate-key", "config:=config",
	"control-plane=control-plane", "control-plane-endpoint:=control-plane-endpoint", "cri-socket:=cri-socket",
	"discovery-token-ca-cert-hash:=discovery-token-ca-cert-hash",
	"discovery-token-unsafe-skip-ca-verification=discovery-token-unsafe-skip-ca-verification", "force=f",
	"kubeconfig:=kubeconfig", "kubernetes-version:=kubernetes-version", "output:=o",
	"pod-network-cidr:=pod-network-cidr", "print-join-command=print-join-command", "service-cidr:=service-cidr",
	"skip-token-print=skip-token-print", "token:=token", "ttl:=ttl", "upload-certs=upload-certs", "v:=v", "yes=y",
}

func (n *Node) kubeadm(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "fo:v:y", kubeadmOptions...)
	if !ok {
		return 1
	}
	verb := ""
	if len(f.Args) > 0 {
		verb = f.Args[0]
	}
	switch verb {
	case "init":
		if len(f.Args) > 1 && f.Args[1] == "phase" {
			return n.phase(ctx, p, f)
		}
		return n.init(ctx, p, f)
	case "join":
		return n.join(ctx, p, f)
	case "reset":
		return n.reset(ctx, p, f)
	case "token":
		return n.token(ctx, p, f)
	case "version":
		if v := n.version("kubeadm"); f.Val("o") == "short" {
			p.Printf("%s\n", v)
		} else {
			p.Printf("kubeadm version: &version.Info{Major:\"1\", Minor:\"%d\", GitVersion:\"%s\"}\n", minor(v), v)
		}
		return 0
	case "config":
		return n.config(p, f)
	case "upgrade":
		return n.upgrade(ctx, p, f)
	}
	p.Errorf("Error: unknown command \"%s\" for \"kubeadm\"\n", verb)
	return 1
}

// fatal prints an error the way kubeadm ends.
func fatal(p *process.Proc, format string, a ...any) int {
	p.Errorf("%s\nTo see the stack trace of this error execute with --v=5 or higher\n", fmt.Sprintf(format, a...))
	return 1
}

// refuse reports settings that are not valid.
func refuse(p *process.Proc, why string) int {
	fatal(p, "%s", why)
	return 3
}

// settings reads the flags and the file of --config.
func (n *Node) settings(p *process.Proc, f *process.Flags) (*settings, error) {
	s := &settings{
		serviceSubnet: "10.96.0.0/12", bindPort: 6443, clusterName: "kubernetes",
		nodeName: strings.ToLower(n.os.Sys.Hostname()),
	}
	if name := f.Val("config"); name != "" {
		b, err := p.ReadFile(name)
		if err != nil {
			why := strings.ToLower(process.Reason(err))
			return nil, fmt.Errorf("unable to read config from %q : open %s: %s", name, name, why)
		}
		if err := s.load(b); err != nil {
			return nil, err
		}
	}
	for dst, name := range map[*string]string{
		&s.advertise: "apiserver-advertise-address", &s.endpoint: "control-plane-endpoint",
		&s.version: "kubernetes-version", &s.podSubnet: "pod-network-cidr", &s.serviceSubnet: "service-cidr",
		&s.certKey: "certificate-key", &s.token: "token",
	} {
		if v := f.Val(name); v != "" {
			*dst = v
		}
	}
	s.hashes = append(s.hashes, f.Vals["discovery-token-ca-cert-hash"]...)
	s.unsafe = s.unsafe || f.On("discovery-token-unsafe-skip-ca-verification")
	s.controlPlane = s.controlPlane || f.On("control-plane")
	s.uploadCerts = f.On("upload-certs")
	if len(f.Args) > 1 && f.Args[0] == "join" {
		s.server = f.Args[1]
	}
	if s.advertise == "" {
		s.advertise = n.os.Net.Primary().String()
	}
	return s, nil
}

// access finds a kubeconfig that kubeadm may use, the cluster behind it, and makes sure that the API server answers.
func (n *Node) access(ctx context.Context, p *process.Proc, kubeconfig string) (*kubeapi.Cluster, *client, error) {
	names := []string{kubeconfig}
	if kubeconfig == "" {
		names = []string{p.Env["KUBECONFIG"], adminConf, p.Env["HOME"] + "/.kube/config"}
	}
	var last error
	for _, name := range names {
		if name == "" {
			continue
		}
		b, err := p.ReadFile(name)
		if err != nil {
			if last == nil || process.Errno(err) != process.Errno(errNotExist) {
				why := strings.ToLower(process.Reason(err))
				last = fmt.Errorf("failed to load admin kubeconfig: open %s: %s", name, why)
			}
			continue
		}
		k, err := loadConfig(b)
		if err != nil {
			return nil, nil, fmt.Errorf("failed to load admin kubeconfig: %w", err)
		}
		c, err := k.connect(p, 10*time.Second)
		if err != nil {
			return nil, nil, err
		}
		if _, err := c.get(ctx, configPath); err != nil {
			c.close()
			return nil, nil, fmt.Errorf(
				"unable to fetch the kubeadm-config ConfigMap: failed to get config map: %w", err,
			)
		}
		cl := n.reg.byCA(k.ca)
		if cl == nil {
			c.close()
			return nil, nil, errors.New("the cluster of this kubeconfig does not exist any more")
		}
		return cl, c, nil
	}
	return nil, nil, last
}

var errNotExist = func() error { _, err := memfs.New(time.Now, 0).As(memfs.Root).Stat("/x"); return err }()

// token is kubeadm token create.
func (n *Node) token(ctx context.Context, p *process.Proc, f *process.Flags) int {
	if len(f.Args) != 2 || f.Args[1] != "create" {
		return fatal(p, "only token create is simulated")
	}
	cl, c, err := n.access(ctx, p, f.Val("kubeconfig"))
	if err != nil {
		return fatal(p, "%v", err)
	}
	defer c.close()
	ttl := 24 * time.Hour
	if t := f.Val("ttl"); t != "" {
		if ttl, err = time.ParseDuration(t); err != nil {
			return fatal(p, "invalid argument %q for \"--ttl\" flag: %v", t, err)
		}
	}
	tok := cl.CreateToken(ttl)
	if f.On("print-join-command") {
		tok = fmt.Sprintf("kubeadm join %s --token %s --discovery-token-ca-cert-hash %s ",
			strings.TrimPrefix(c.server, "https://"), tok, cl.CAHash())
	}
	p.Printf("%s\n", tok)
	return 0
}

// phase runs the phases that scripts call by themselves.
func (n *Node) phase(ctx context.Context, p *process.Proc, f *process.Flags) int {
	name := ""
	if len(f.Args) > 2 {
		name = f.Args[2]
	}
	if name != "upload-certs" {
		return fatal(p, "phase %q is not simulated", name)
	}
	if p.Cred.UID != 0 {
		return fatal(p, "error execution phase upload-certs: open %s: permission denied", adminConf)
	}
	s, err := n.settings(p, f)
	if err != nil {
		return fatal(p, "%v", err)
	}
	cl, c, err := n.access(ctx, p, f.Val("kubeconfig"))
	if err != nil {
		return fatal(p, "error execution phase upload-certs: error uploading certs: error creating token: %v", err)
	}
	defer c.close()
	if !s.uploadCerts {
		p.Printf("[upload-certs] Skipping phase. Please see --upload-certs\n")
		return 0
	}
	uploadCerts(p, cl, s)
	return 0
}

// uploadCerts gives the cluster the certificates of its control plane, encrypted with a key that it prints.
func uploadCerts(p *process.Proc, cl *kubeapi.Cluster, s *settings) {
	s.certKey = cl.UploadCerts(s.certKey)
	p.Printf("[upload-certs] Storing the certificates in Secret \"kubeadm-certs\" in the \"kube-system\" Namespace\n"+
		"[upload-certs] Using certificate key:\n%s\n", s.certKey)
}

func (n *Node) config(p *process.Proc, f *process.Flags) int {
	what := strings.Join(f.Args[1:], " ")
	v := n.stable(&settings{version: f.Val("kubernetes-version")})
	switch what {
	case "images list", "images pull":
		pause, etcd := "3.10", "3.6.4-0"
		if minor(v) >= 34 {
			pause = "3.10.1"
		}
		images := []string{
			"kube-apiserver:" + v, "kube-controller-manager:" + v, "kube-scheduler:" + v,
			"kube-proxy:" + v, "coredns/coredns:v1.12.1", "pause:" + pause, "etcd:" + etcd,
		}
		if what == "images pull" {
			if why := n.criProblem(); why != "" {
				return fatal(p, "failed to pull image \"registry.k8s.io/kube-apiserver:%s\": %s", v, why)
			}
			if n.os.Net.IsCut() {
				const failed = "failed to pull image \"registry.k8s.io/kube-apiserver:%s\": dial tcp: lookup " +
					"registry.k8s.io: i/o timeout"
				return fatal(p, failed, v)
			}
		}
		for _, i := range images {
			if what == "images pull" {
				p.Printf("[config/images] Pulled registry.k8s.io/%s\n", i)
			} else {
				p.Printf("registry.k8s.io/%s\n", i)
			}
		}
		return 0
	}
	return fatal(p, "unknown command %q for \"kubeadm config\"", what)
}

// reset removes what init or join has left on the machine.
func (n *Node) reset(ctx context.Context, p *process.Proc, f *process.Flags) int {
	if !checkRoot(p) {
		return 2
	}
	if !f.On("f") {
		return fatal(p, "aborted reset operation: only --force is simulated")
	}
	p.Printf("[preflight] Running pre-flight checks\n")
	if name := n.member(); name != "" {
		if cl, c, err := n.access(ctx, p, adminConf); err == nil {
			if len(cl.Members()) > 1 {
				cl.RemoveMember(name)
			}
			c.close()
		} else {
			p.Errorf("W0101 00:00:00.000000 removeetcdmember.go:106] [reset] Failed to remove etcd member: %v, "+
				"please manually remove this etcd member using etcdctl\n", err)
		}
		p.Printf("[reset] Deleted contents of the etcd data directory: %s\n", etcdDir)
	}
	p.Printf("[reset] Stopping the kubelet service\n")
	_ = n.os.StopUnit(ctx, "kubelet")
	n.stopControl()
	v := n.root()
	for _, dir := range []string{manifestDir, "/var/lib/kubelet", pkiDir, etcdDir} {
		p.Printf("[reset] Deleting contents of directory: %s\n", dir)
		_ = v.RemoveAll(strings.TrimSuffix(dir, "/"))
	}
	_ = v.MkdirAll(strings.TrimSuffix(manifestDir, "/"), 0o755)
	for _, file := range []string{
		"admin.conf", "super-admin.conf", "kubelet.conf", "bootstrap-kubelet.conf",
		"controller-manager.conf", "scheduler.conf",
	} {
		p.Printf("[reset] Deleting file: %s\n", etc+file)
		_ = v.Remove(etc + file)
	}
	p.Printf("\nThe reset process does not clean CNI configuration. To do so, you must remove /etc/cni/net.d\n")
	return 0
}

// stable is the version that kubeadm init installs without being told.
func (n *Node) stable(s *settings) string {
	return "v" + strings.TrimPrefix(cmp.Or(s.version, n.version("kubeadm")), "v")
}
