package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// join makes this machine a node of an existing cluster.
func (n *Node) join(ctx context.Context, p *process.Proc, f *process.Flags) int {
	s, err := n.settings(p, f)
	if err != nil {
		return refuse(p, err.Error())
	}
	if s.token == "" || s.server == "" {
		return refuse(p, "discovery: Invalid value: \"\": bootstrapToken or file must be set")
	}
	if len(s.hashes) == 0 && !s.unsafe {
		return refuse(p, "discovery.bootstrapToken.caCertHashes: Invalid value: \"\": using token-based discovery "+
			"without caCertHashes can be unsafe. Set unsafeSkipCAVerification as true in your kubeadm config file or "+
			"pass --discovery-token-unsafe-skip-ca-verification flag to continue")
	}
	p.Printf("[preflight] Running pre-flight checks\n")
	if !n.joinChecks(p, s).report(p) {
		return 2
	}
	cl, k, err := n.discover(ctx, p, s)
	if err != nil {
		return fatal(p, "error execution phase preflight: couldn't validate the identity of the API Server: %v", err)
	}
	p.Printf("[preflight] Reading configuration from the \"kubeadm-config\" ConfigMap...\n")
	if err := n.probe(ctx, p, k); err != nil {
		return fatal(p, "error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: "+
			"failed to get config map: %v", err)
	}
	endpoint := strings.TrimPrefix(k.server, "https://")
	if s.controlPlane {
		p.Printf("[preflight] Running pre-flight checks before initializing the new control plane instance\n")
		if s.certKey == "" {
			return fatal(p, "error execution phase preflight: \n"+
				"One or more conditions for hosting a new control plane instance is not satisfied.\n\n"+
				"[failure loading certificate for CA: couldn't load the certificate file /etc/kubernetes/pki/ca.crt: "+
				"open /etc/kubernetes/pki/ca.crt: no such file or directory]\n\n"+
				"Please ensure that:\n* The cluster has a stable controlPlaneEndpoint address.\n"+
				"* The certificates that must be shared among control plane instances are provided.\n")
		}
		p.Printf("[download-certs] Downloading the certificates in Secret \"kubeadm-certs\"\n")
		if err := cl.ValidCertificateKey(s.certKey); err != nil {
			return fatal(p, "error execution phase control-plane-prepare/download-certs: error downloading certs: "+
				"%v", err)
		}
		if err := s.fetchConfig(cl); err != nil {
			return fatal(p, "error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: %v", err)
		}
		// The programs of a master use the endpoint of the ConfigMap, not that of the discovery.
		if err := n.masterFiles(p, cl, s, cmp.Or(s.endpoint, endpoint)); err != nil {
			return fatal(p, "error execution phase control-plane-prepare/certs: %v", err)
		}
		n.reg.hold(cl, n)
	} else if err := n.write(pkiDir+"ca.crt", cl.CAPEM(), 0o644); err != nil {
		return fatal(p, "error execution phase kubelet-start: %v", err)
	}
	bootstrap, err := k.file(s.token)
	if err == nil {
		err = n.write(bootstrapConf, bootstrap, 0o600)
	}
	if err != nil {
		return fatal(p, "error execution phase kubelet-start: %v", err)
	}
	if n.wait(ctx, "kubeadm join") != nil {
		return 1
	}
	if slices.Contains(cl.Nodes(), s.nodeName) && cl.NodeReady(s.nodeName) {
		return fatal(p, "error execution phase kubelet-start: a Node with name %q and status \"Ready\" already exists "+
			"in the cluster. You must delete the existing Node or change the name of this new joining Node", s.nodeName)
	}
	if s.controlPlane {
		p.Printf("[check-etcd] Checking that the etcd cluster is healthy\n")
		admin, err := loadConfig(n.read(adminConf))
		if err == nil {
			err = n.answers(ctx, p, admin, configPath)
		}
		if err != nil {
			return fatal(p, "error execution phase check-etcd: could not retrieve the list of etcd endpoints: %v", err)
		}
		for _, m := range cl.Members() {
			if !m.Up {
				return fatal(p, "error execution phase check-etcd: etcd cluster is not healthy: failed to dial "+
					"endpoint https://%s:2379 with maintenance client: context deadline exceeded", m.Name)
			}
		}
	}
	if err := n.credentials(cl, s, k.server); err != nil {
		return fatal(p, "error execution phase kubelet-start: %v", err)
	}
	if s.controlPlane {
		if err := n.etcdFiles(cl, s.nodeName); err != nil {
			return fatal(p, "error execution phase control-plane-join/etcd: %v", err)
		}
		cl.AddMember(s.nodeName)
		n.manifests(n.version("kubeadm"))
		p.Printf("[etcd] Announced new etcd member joining to the existing etcd cluster\n")
	}
	if st := n.startKubelet(ctx, p, s); st != 0 {
		return st
	}
	p.Printf("[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap\n")
	_ = n.root().Remove(bootstrapConf)
	if !n.registered(ctx, cl, s.nodeName) {
		return fatal(p, "error execution phase kubelet-start: timed out waiting for the condition")
	}
	if !s.controlPlane {
		p.Printf("\nThis node has joined the cluster:\n" +
			"* Certificate signing request was sent to apiserver and a response was received.\n" +
			"* The Kubelet was informed of the new secure connection details.\n\n" +
			"Run 'kubectl get nodes' on the control-plane to see this node join the cluster.\n\n")
		return 0
	}
	admin, err := loadConfig(n.read(adminConf))
	if err == nil {
		admin.server = s.localServer()
		err = n.answers(ctx, p, admin, "/readyz")
	}
	if err != nil {
		return fatal(p, "error execution phase wait-control-plane: failed while waiting for the control plane to "+
			"start: %v", err)
	}
	p.Printf(markControlPlane, s.nodeName)
	p.Printf("\nThis node has joined the cluster and a new control plane instance was created:\n\n" +
		"* Certificate signing request was sent to apiserver and approval was received.\n" +
		"* The Kubelet was informed of the new secure connection details.\n" +
		"* Control plane label and taint were applied to the new node.\n" +
		"* A new etcd member was added to the local/stacked etcd cluster.\n\n")
	return 0
}

// credentials writes kubelet.conf, as the TLS bootstrap does.
func (n *Node) credentials(cl *kubeapi.Cluster, s *settings, server string) error {
	conf, err := newKubeconfig(cl, server, "system:node:"+s.nodeName, "system:nodes")
	if err != nil {
		return err
	}
	return n.write(kubeletConf, conf, 0o600)
}

// discover asks the endpoint for cluster-info and checks CA and token, as kubeadm's discovery does.
func (n *Node) discover(ctx context.Context, p *process.Proc, s *settings) (*kubeapi.Cluster, *config, error) {
	first := &config{server: "https://" + s.server, insecure: true}
	c, err := first.connect(p, 10*time.Second)
	if err != nil {
		return nil, nil, err
	}
	defer c.close()
	var body []byte
	n.poll(ctx, min(n.patience(), 5*time.Second), func() bool {
		body, err = c.get(ctx, "/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s")
		return err == nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("failed to request the cluster-info ConfigMap: %w", err)
	}
	var cm struct{ Data map[string]string }
	if err := json.Unmarshal(body, &cm); err != nil {
		return nil, nil, fmt.Errorf("couldn't parse the kubeconfig file in the cluster-info ConfigMap: %w", err)
	}
	info, err := clientcmd.Load([]byte(cm.Data["kubeconfig"]))
	if err != nil || len(info.Clusters) == 0 {
		return nil, nil, errors.New("couldn't parse the kubeconfig file in the cluster-info ConfigMap")
	}
	k := &config{token: s.token}
	for _, x := range info.Clusters {
		k.ca, k.server = x.CertificateAuthorityData, x.Server
	}
	cl := n.reg.byCA(k.ca)
	if cl == nil || !cl.ValidToken(s.token) {
		id, _, _ := strings.Cut(s.token, ".")
		return nil, nil, fmt.Errorf("token id %q is invalid for this cluster or it has expired. Use \"kubeadm token "+
			"create\" on the control-plane node to create a new valid token", id)
	}
	have := caHash(k.ca)
	pinned := slices.ContainsFunc(s.hashes, func(h string) bool { return strings.EqualFold(h, have) })
	if !s.unsafe && !pinned {
		return nil, nil, fmt.Errorf("cluster CA found in cluster-info ConfigMap is invalid: none of the public keys "+
			"%q are pinned", have)
	}
	return cl, k, nil
}

// probe asks with the bootstrap token, over verified TLS.
func (n *Node) probe(ctx context.Context, p *process.Proc, k *config) error {
	c, err := k.connect(p, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.close()
	_, err = c.get(ctx, "/version")
	return err
}
