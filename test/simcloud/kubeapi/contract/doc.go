// Package contract holds one suite of facts about the Kubernetes API that pkg/kubernetes and pkg/k8scluster rely on. It
// runs against the simulated API and, when CONTRACT_KUBECONFIG names the kubeconfig of an administrator, against a real
// cluster; a difference is a bug of the simulation. test/lab/k8s runs it on the clusters that kubeadm makes there.
//
// A real cluster needs a Ready node that accepts pods, and the image registry.k8s.io/pause:3.10.1. Names of everything
// that a test creates begin with "ct-". With CONTRACT_REPORT=file the run writes one line for each fact.
package contract
