// Package kubespray knows the files that Kubespray reads, the output of its playbooks, and the configuration of the
// load balancer in front of a cluster that it made. It is pure: package k8scluster moves the bytes.
//
// The layout of the inventory follows Kubespray 2.16 (groups kube_control_plane, kube_node, etcd, k8s_cluster and
// calico_rr), which its later versions read, too.
package kubespray
