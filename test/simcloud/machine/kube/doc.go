// Package kube holds the programs that make a simulated Ubuntu machine a Kubernetes node: kubeadm, kubectl, the kubelet
// and containerd services, crictl, cilium, and haproxy and keepalived with the virtual address they carry. They act on
// a kubeapi.Cluster that the masters of one cluster share, and check what the real ones check.
package kube
