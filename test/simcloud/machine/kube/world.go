package kube

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// defaultGrace is how long a node may be silent before the cluster takes it for lost, as the node controller's
// node-monitor-grace-period.
const defaultGrace = 50 * time.Second

// World is what the machines of one cloud share of Kubernetes: the clusters that kubeadm init made on them, found by
// the hash of their CA, and which machine runs which part. It is safe for concurrent use.
type World struct {
	clock *process.Clock
	grace time.Duration

	mu       sync.Mutex
	hosts    map[string]*host
	clusters map[string]*cluster // by CA hash
	closed   bool
}

// cluster is a kubeapi.Cluster and who belongs to it.
type cluster struct {
	*kubeapi.Cluster
	mu     sync.Mutex
	hosts  map[string]bool        // ids of machines that made or joined it
	etcd   map[string]*host       // running etcd processes by member name
	api    map[string]*host       // running API servers by machine id
	silent map[string]*time.Timer // nodes whose kubelet does not report, until they are given up
	closed chan struct{}
}

// New makes a world without clusters. clock is the time inside the machines.
func New(clock *process.Clock) *World {
	return &World{clock: clock, grace: defaultGrace, hosts: map[string]*host{}, clusters: map[string]*cluster{}}
}

// Close ends every cluster. Call it when no machine runs any more.
func (w *World) Close() {
	w.mu.Lock()
	w.closed = true
	all := slices.Collect(maps.Values(w.clusters))
	clear(w.clusters)
	w.mu.Unlock()
	for _, c := range all {
		c.end()
	}
}

// Machine is what a machine tells of itself. Zero numbers are unknown and are not checked.
type Machine struct {
	ID       string
	VCPUs    int
	MemoryMB int
}

// Install registers the programs of a Kubernetes node on a machine.
func (w *World) Install(m Machine, o *ubuntu.OS) {
	h := &host{w: w, m: m, os: o, pods: map[string]*process.Proc{}, wake: make(chan struct{}, 1)}
	w.mu.Lock()
	w.hosts[m.ID] = h
	w.mu.Unlock()
	o.Add(map[string]process.Program{
		"kubeadm": h.kubeadm, "kubectl": h.kubectl, "kubelet": h.kubelet, "containerd": h.containerd, "ctr": h.ctr, "crictl": h.crictl,
		"cilium": h.cilium, "runc": version("runc version 1.1.12\n"), "hubble": version("hubble v1.18.0\n"),
		"kube-apiserver": h.apiserver, "etcd": h.etcd, "kube-controller-manager": idle, "kube-scheduler": idle,
	})
}

// Forget drops a machine that was deleted. The last machine of a cluster takes the cluster with it.
func (w *World) Forget(id string) {
	w.mu.Lock()
	delete(w.hosts, id)
	var gone []*cluster
	for hash, c := range w.clusters {
		if c.leave(id) {
			gone = append(gone, c)
			delete(w.clusters, hash)
		}
	}
	w.mu.Unlock()
	for _, c := range gone {
		c.end()
	}
}

// Changed tells that a machine's network was cut or restored: its etcd member and its node are lost to the others, or
// come back.
func (w *World) Changed(id string) {
	w.mu.Lock()
	h := w.hosts[id]
	all := slices.Collect(maps.Values(w.clusters))
	w.mu.Unlock()
	if h == nil {
		return
	}
	for _, c := range all {
		c.members()
	}
	h.poke()
	h.report()
}

// Clusters lists the clusters that exist.
func (w *World) Clusters() []*kubeapi.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*kubeapi.Cluster
	for _, c := range w.clusters {
		out = append(out, c.Cluster)
	}
	return out
}

// add makes a cluster known.
func (w *World) add(k *kubeapi.Cluster) *cluster {
	c := &cluster{Cluster: k, hosts: map[string]bool{}, etcd: map[string]*host{}, api: map[string]*host{}, silent: map[string]*time.Timer{}, closed: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters[k.CAHash()] = c
	return c
}

// byCA finds the cluster of a CA certificate in PEM.
func (w *World) byCA(caPEM []byte) *cluster {
	hash := caHash(caPEM)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clusters[hash]
}

// caHash is the hash of a CA's public key as kubeadm writes it, "" if there is no certificate.
func caHash(caPEM []byte) string {
	block, _ := pem.Decode(caPEM)
	if block == nil {
		return ""
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}
