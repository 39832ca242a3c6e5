#!/usr/bin/env bash
# Makes a test host a cluster of one node, on which pods are scheduled. It runs on the host.
set -euo pipefail
echo 'deb https://apt.kubernetes.io/ kubernetes-xenial main' >/etc/apt/sources.list.d/kubernetes.list
apt-get install -y containerd kubelet kubeadm kubectl
systemctl enable --now containerd kubelet
kubeadm init --kubernetes-version "$(kubeadm version -o short)" --pod-network-cidr 10.200.0.0/16 --skip-phases addon/coredns,show-join-command
export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl taint nodes --all node-role.kubernetes.io/control-plane-
# The substitute for kubelet needs a network configuration, not a plugin.
mkdir -p /etc/cni/net.d
echo '{"cniVersion": "0.3.1", "name": "lab", "plugins": []}' >/etc/cni/net.d/05-lab.conflist
kubectl wait --for condition=Ready node --all --timeout 60s
