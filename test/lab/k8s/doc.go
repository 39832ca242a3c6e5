// Package k8s tests the Kubernetes cluster that Gybe makes with the real kubeadm on machines of a real OpenStack;
// README.md says what is real there and what is not.
package k8s
