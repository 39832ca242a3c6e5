// Package k8s tests the Kubernetes cluster that Gybe makes with the real kubeadm on machines of a real OpenStack;
// README.md says what is real there and what is not.
// Its tests of Kubespray and of the Ansible driver need the Ansible host of ../kubespray.
package k8s
