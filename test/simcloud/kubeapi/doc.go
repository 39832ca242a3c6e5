// Package kubeapi is a small Kubernetes API: enough for client-go, and for the simulated kubectl and kubeadm, to work
// with as with the real one. One Cluster is the state (etcd's part); any number of Servers serve it, one per master.
//
// It does not know machines: their simulation (test/simcloud/machine) reports which nodes exist and whether their
// kubelets answer, and starts and stops Servers.
package kubeapi
