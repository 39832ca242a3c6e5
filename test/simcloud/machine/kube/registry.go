// Package kube is Kubernetes on a simulated machine: containerd, kubelet, kubeadm, kubectl and the cilium command. They
// keep their state in the machine's files, reach the API server over the machine's network with real TLS, and check
// what the real ones check. The API itself is test/simcloud/kubeapi.
package kube

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// Registry knows the clusters that the machines of a fleet have made, by the hash of their CA.
type Registry struct {
	mu       sync.Mutex
	clusters map[string]*kubeapi.Cluster
	masters  map[string]map[*Node]bool
	nodes    map[*Node]bool
	// waiting are the members of etcd that have started with older data and found no majority, by the hash of the CA.
	waiting map[string]map[*Node]*kubeapi.Saved
	silent  map[silence]*time.Timer
	// reporting counts the kubelets that report for a node: two while one takes over from another.
	reporting map[silence]int
}

// NewRegistry returns a registry without clusters.
func NewRegistry() *Registry {
	return &Registry{
		clusters: map[string]*kubeapi.Cluster{}, masters: map[string]map[*Node]bool{}, nodes: map[*Node]bool{},
		waiting: map[string]map[*Node]*kubeapi.Saved{},
		silent:  map[silence]*time.Timer{}, reporting: map[silence]int{},
	}
}

// Close ends all clusters.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for h, c := range r.clusters {
		r.hush(c)
		c.Close()
		delete(r.clusters, h)
	}
}

func (r *Registry) add(c *kubeapi.Cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clusters[c.CAHash()] = c
}

// hold notes that a node is a master of a cluster, so that the cluster lives as long as one of them.
func (r *Registry) hold(c *kubeapi.Cluster, n *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(c.CAHash(), n)
}

// keep is hold for a hash. The lock is held.
func (r *Registry) keep(hash string, n *Node) {
	if r.masters[hash] == nil {
		r.masters[hash] = map[*Node]bool{}
	}
	r.masters[hash][n] = true
}

// stops is called when the control plane of a machine does not run any more.
func (r *Registry) stops(n *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.waiting {
		delete(of, n)
	}
}

// Forget is called when a machine is gone with its disk; a cluster without masters is dropped.
func (r *Registry) Forget(n *Node) {
	r.stops(n)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, n)
	for h, m := range r.masters {
		if !m[n] {
			continue
		}
		delete(m, n)
		if len(m) == 0 {
			if c := r.clusters[h]; c != nil {
				r.hush(c)
				c.Close()
			}
			delete(r.clusters, h)
			delete(r.masters, h)
		}
	}
}

// byCA finds the cluster of a CA certificate in PEM, nil if it is not one of ours.
func (r *Registry) byCA(caPEM []byte) *kubeapi.Cluster {
	h := caHash(caPEM)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clusters[h]
}

// Clusters lists the clusters there are.
func (r *Registry) Clusters() []*kubeapi.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*kubeapi.Cluster
	for _, c := range r.clusters {
		out = append(out, c)
	}
	return out
}

// caHash is the hash of a CA's public key as kubeadm join wants it, "" if it is no certificate.
func caHash(caPEM []byte) string {
	b, _ := pem.Decode(caPEM)
	if b == nil {
		return ""
	}
	c, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}
