// Package kubeapi is a small Kubernetes API: enough for client-go, and for the simulated kubectl and kubeadm, to work
// with as with the real one. One Cluster is the state (etcd's part); any number of Servers serve it, one per master.
//
// It knows nothing of machines: whoever plays them (test/simcloud/machine) tells it which nodes exist and whether their
// kubelets answer, and starts and stops Servers.
//
// STATUS: two authors met here. The object store (store.go, resource.go, admit.go) stays as it is and is the base. Everything
// above it (Cluster, PKI, users, tokens, RBAC, HTTP, watches, patches, nodes, etcd members, kubeconfig) is being written right
// now behind the interface in api.go: import it and use it from machine/, please do not write it a second time.
package kubeapi
