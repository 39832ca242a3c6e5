package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// init makes this machine the first master of a new cluster.
func (n *Node) init(ctx context.Context, p *process.Proc, f *process.Flags) int {
	s, err := n.settings(p, f)
	if err == nil {
		err = s.validate()
	}
	if err != nil {
		return refuse(p, err.Error())
	}
	if s.certKey != "" && len(s.certKey) != 64 {
		return fatal(p, "error decoding certificate key: encoding/hex: invalid key length")
	}
	version := n.stable(s)
	p.Printf("[init] Using Kubernetes version: %s\n[preflight] Running pre-flight checks\n", version)
	if !n.initChecks(p, s).report(p) {
		return 2
	}
	p.Printf("[preflight] Pulling images required for setting up a Kubernetes cluster\n")
	endpoint := s.endpoint
	if endpoint == "" {
		endpoint = net.JoinHostPort(s.advertise, strconv.Itoa(s.bindPort))
	} else if _, _, err := net.SplitHostPort(endpoint); err != nil {
		endpoint = net.JoinHostPort(endpoint, "6443")
	}
	cl, err := kubeapi.NewCluster(kubeapi.Options{Name: s.clusterName, Version: version, Endpoint: endpoint})
	if err != nil {
		return fatal(p, "error execution phase certs/ca: %v", err)
	}
	if err := uploadConfig(cl, s, endpoint, version); err != nil {
		return fatal(p, "error execution phase upload-config/kubeadm: %v", err)
	}
	n.reg.add(cl)
	n.reg.hold(cl, n)
	p.Printf("[certs] Generating \"ca\" certificate and key\n")
	if err := n.masterFiles(p, cl, s, endpoint); err != nil {
		return fatal(p, "error execution phase certs: %v", err)
	}
	p.Printf("[control-plane] Creating static Pod manifest for \"kube-apiserver\"\n")
	if n.wait(ctx, "kubeadm init") != nil {
		return 1
	}
	if err := n.etcdFiles(cl, s.nodeName); err != nil {
		return fatal(p, "error execution phase etcd: %v", err)
	}
	cl.AddMember(s.nodeName)
	cl.SetMemberUp(s.nodeName, false)
	n.manifests(version)
	if st := n.startKubelet(ctx, p, s); st != 0 {
		return st
	}
	p.Printf("[control-plane-check] Waiting for healthy control plane components. This can take up to 4m0s\n")
	admin, err := loadConfig(n.read(adminConf))
	if err != nil {
		return fatal(p, "error execution phase wait-control-plane: %v", err)
	}
	local := *admin
	local.server = s.localServer()
	if err := n.answers(ctx, p, &local, "/livez"); err != nil {
		return fatal(p, "error execution phase wait-control-plane: failed while waiting for the control plane "+
			"to start: kube-apiserver check failed at %s/livez: %v", local.server, err)
	}
	if err := n.answers(ctx, p, admin, configPath); err != nil {
		return fatal(p, "error execution phase upload-config/kubeadm: error uploading the kubeadm "+
			"ClusterConfiguration: unable to create configmap: %v", err)
	}
	if !n.registered(ctx, cl, s.nodeName) {
		return fatal(p, "error execution phase mark-control-plane: error patching node %q: "+
			"client rate limiter Wait returned an error: context deadline exceeded", s.nodeName)
	}
	if s.uploadCerts {
		uploadCerts(p, cl, s)
	}
	p.Printf(markControlPlane, s.nodeName)
	token := cl.CreateToken(24 * time.Hour)
	if !f.On("skip-token-print") {
		p.Printf("[bootstrap-token] Using token: %s\n", token)
	}
	p.Printf("[addons] Applied essential addon: CoreDNS\n[addons] Applied essential addon: kube-proxy\n\n" +
		"Your Kubernetes control-plane has initialized successfully!\n")
	if f.On("skip-token-print") {
		return 0
	}
	join := fmt.Sprintf(
		"kubeadm join %s --token %s \\\n\t--discovery-token-ca-cert-hash %s", endpoint, token, cl.CAHash(),
	)
	if s.uploadCerts {
		p.Printf("\nYou can now join any number of control-plane nodes running the following command on each "+
			"as root:\n\n  %s \\\n\t--control-plane --certificate-key %s\n", join, s.certKey)
	}
	p.Printf("\nThen you can join any number of worker nodes by running the following on each as root:\n\n%s \n", join)
	return 0
}

const markControlPlane = "[mark-control-plane] Marking the node %s as control-plane by adding the labels: " +
	"[node-role.kubernetes.io/control-plane node.kubernetes.io/exclude-from-external-load-balancers]\n"

// localServer is the URL of this machine's own API server.
func (s *settings) localServer() string {
	return "https://" + net.JoinHostPort(s.advertise, strconv.Itoa(s.bindPort))
}

// wait takes the simulated time of a step.
func (n *Node) wait(ctx context.Context, step string) error {
	if n.os.Delay == nil {
		return nil
	}
	return n.os.Delay(ctx, step)
}

// masterFiles writes the certificates and kubeconfig files of a control plane.
func (n *Node) masterFiles(p *process.Proc, cl *kubeapi.Cluster, s *settings, endpoint string) error {
	host, _, _ := net.SplitHostPort(endpoint)
	sans := []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local", s.nodeName, host, s.advertise, "127.0.0.1", "localhost",
	}
	if first, err := netip.ParsePrefix(s.serviceSubnet); err == nil {
		sans = append(sans, first.Addr().Next().String())
	}
	for _, x := range s.sans {
		if !slices.Contains(sans, x) {
			sans = append(sans, x)
		}
	}
	cert, err := cl.IssueServing(sans...)
	if err != nil {
		return err
	}
	certPEM, keyPEM, err := pemPair(cert)
	if err != nil {
		return err
	}
	p.Printf("[certs] Generating \"apiserver\" certificate and key\n"+
		"[certs] apiserver serving cert is signed for DNS names [kubernetes %s] and IPs [%s]\n",
		s.nodeName, s.advertise)
	kubelet, err := cl.IssueClient("kube-apiserver-kubelet-client", "kubeadm:cluster-admins")
	if err != nil {
		return err
	}
	files := map[string][]byte{
		pkiDir + "ca.crt": cl.CAPEM(), pkiDir + "ca.key": cl.CAKeyPEM(), pkiDir + "apiserver.crt": certPEM,
		pkiDir + "apiserver.key": keyPEM, pkiDir + "apiserver-kubelet-client.crt": kubelet.Certificate,
		pkiDir + "apiserver-kubelet-client.key": kubelet.Key, pkiDir + "front-proxy-ca.crt": cl.CAPEM(),
		pkiDir + "etcd/ca.crt": cl.CAPEM(), pkiDir + "etcd/server.crt": certPEM, pkiDir + "etcd/server.key": keyPEM,
		pkiDir + "sa.key": keyPEM, pkiDir + "sa.pub": certPEM,
	}
	server := "https://" + endpoint
	admin, err := cl.AdminKubeconfig(server)
	if err != nil {
		return err
	}
	files[adminConf], files[etc+"super-admin.conf"] = admin, admin
	for file, who := range map[string][2]string{
		kubeletConf:                     {"system:node:" + s.nodeName, "system:nodes"},
		etc + "controller-manager.conf": {"system:kube-controller-manager", ""},
		etc + "scheduler.conf":          {"system:kube-scheduler", ""},
	} {
		if files[file], err = newKubeconfig(cl, server, who[0], who[1]); err != nil {
			return err
		}
	}
	for name, data := range files {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, ".crt") || strings.HasSuffix(name, ".pub") {
			mode = 0o644
		}
		if err := n.write(name, data, mode); err != nil {
			return err
		}
	}
	p.Printf("[kubeconfig] Writing \"admin.conf\" kubeconfig file\n")
	return nil
}

// newKubeconfig is a kubeconfig with a new certificate.
func newKubeconfig(cl *kubeapi.Cluster, server, user, group string) ([]byte, error) {
	cred, err := cl.IssueClient(user, group)
	if err != nil {
		return nil, err
	}
	return cl.Kubeconfig(server, user, cred)
}

func pemPair(c tls.Certificate) (cert, key []byte, err error) {
	for _, der := range c.Certificate {
		cert = append(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func (n *Node) etcdFiles(cl *kubeapi.Cluster, name string) error {
	n.Load(nil)
	return errors.Join(n.write(etcdDir+"/member/name", []byte(name+"\n"), 0o600),
		n.write(etcdDir+"/member/cluster", []byte(cl.CAHash()+"\n"), 0o600))
}

func (n *Node) manifests(version string) {
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		text := fmt.Appendf(nil, `apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  namespace: kube-system
spec:
  hostNetwork: true
  containers:
  - name: %[1]s
    image: registry.k8s.io/%[1]s:%s
    command: [%[1]s]
`, name, version)
		_ = n.write(manifestDir+name+".yaml", text, 0o600)
	}
}

// startKubelet writes kubelet's configuration and waits until it runs.
func (n *Node) startKubelet(ctx context.Context, p *process.Proc, s *settings) int {
	flags := append([]string{"--hostname-override=" + s.nodeName}, s.kubeletArgs...)
	p.Printf("[kubelet-start] Writing kubelet environment file with flags to file \"%s\"\n"+
		"[kubelet-start] Writing kubelet configuration to file \"%s\"\n", kubeletFlags, kubeletConfig)
	const conf = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\n" +
		"clusterDNS: [10.96.0.10]\n"
	env := fmt.Sprintf("KUBELET_KUBEADM_ARGS=\"%s\"\n", strings.Join(flags, " "))
	if err := errors.Join(
		n.write(kubeletConfig, []byte(conf), 0o644), n.write(kubeletFlags, []byte(env), 0o644),
	); err != nil {
		return fatal(p, "error execution phase kubelet-start: %v", err)
	}
	p.Printf("[kubelet-start] Starting the kubelet\n")
	_ = n.os.StopUnit(ctx, "kubelet")
	if err := n.os.StartUnit(ctx, "kubelet"); err != nil {
		p.Errorf("[kubelet-start] WARNING: unable to start the kubelet service: %v\n", err)
	}
	const url = "http://127.0.0.1:10248/healthz"
	p.Printf("[kubelet-check] Waiting for a healthy kubelet at %s. This can take up to 4m0s\n", url)
	if !n.poll(ctx, n.patience(), func() bool { return n.os.Net.InUse(10248) }) {
		p.Printf("[kubelet-check] The kubelet is not healthy after 4m0.000000000s\n\n" +
			"Unfortunately, an error has occurred, likely caused by:\n\t- The kubelet is not running\n")
		return fatal(p, "error execution phase kubelet-start: failed while waiting for the kubelet to start: "+
			"The HTTP call equal to 'curl -sSL %[1]s' returned error: Get \"%[1]s\": "+
			"dial tcp 127.0.0.1:10248: connect: connection refused", url)
	}
	p.Printf("[kubelet-check] The kubelet is healthy after 500ms\n")
	return 0
}

// patience is how long kubeadm waits for what shall come up: four minutes of the machine's time, but long enough for
// this process to get its turn, and not for ever when the clock is slow.
func (n *Node) patience() time.Duration {
	return min(max(n.os.Sys.Clock.Real(4*time.Minute), 3*time.Second), 10*time.Second)
}

// poll waits until done is true. False when the time is over or the process was killed.
func (n *Node) poll(ctx context.Context, limit time.Duration, done func() bool) bool {
	end := time.Now().Add(limit)
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for !done() {
		select {
		case now := <-t.C:
			if now.After(end) {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// answers waits until a GET succeeds.
func (n *Node) answers(ctx context.Context, p *process.Proc, k *config, path string) error {
	c, err := k.connect(p, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.close()
	n.poll(ctx, n.patience(), func() bool {
		_, err = c.get(ctx, path)
		return err == nil
	})
	return err
}

// registered waits for kubelet to enter the node into the cluster.
func (n *Node) registered(ctx context.Context, cl *kubeapi.Cluster, name string) bool {
	return n.poll(ctx, n.patience(), func() bool { return slices.Contains(cl.Nodes(), name) })
}

// file is a kubeconfig with a token.
func (k *config) file(token string) ([]byte, error) {
	auth := &api.AuthInfo{Token: token}
	return clientcmd.Write(*kubeapi.UserConfig("kubernetes", k.server, k.ca, "tls-bootstrap-token-user", auth))
}
