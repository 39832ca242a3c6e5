#!/bin/bash
# An installation script as packages of older VNFMs have it: no phases, one run per node as the user who logs in, everything on the command
# line, the join information printed by the first master.
set -o xtrace
while getopts "dom:w:i:a:p:t:s:k:" opt; do
  case $opt in
  m) MASTERS=$OPTARG MODE=master ;;
  w) WORKER=$OPTARG MODE=worker ;;
  i) CLUSTER=$OPTARG ;;
  a) SERVICES=$OPTARG ;;
  p) PODS=$OPTARG ;;
  t) TOKEN=$OPTARG ;;
  s) HASH=$OPTARG ;;
  k) KEY=$OPTARG ;;
  *) exit 255 ;;
  esac
done

fail() {
  echo "Install Failed! $1"
  exit 255
}

prepare() {
  sudo hostnamectl set-hostname "$1"
  sudo swapoff -a
  sudo modprobe br_netfilter
  printf 'net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n' | sudo tee /etc/sysctl.d/k8s.conf >/dev/null
  sudo sysctl -q -p /etc/sysctl.d/k8s.conf
  sudo apt-get -y update || fail "no packages"
  sudo apt-get -y install ca-certificates curl gpg conntrack socat containerd || fail "no containerd"
  sudo mkdir -p /etc/containerd /etc/apt/keyrings
  containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' | sudo tee /etc/containerd/config.toml >/dev/null
  sudo systemctl restart containerd
  curl -fsSL https://pkgs.k8s.io/core:/stable:/v1.34/deb/Release.key | gpg --dearmor >/tmp/key.gpg
  sudo cp /tmp/key.gpg /etc/apt/keyrings/kubernetes.gpg
  echo "deb [signed-by=/etc/apt/keyrings/kubernetes.gpg] https://pkgs.k8s.io/core:/stable:/v1.34/deb/ /" | sudo tee /etc/apt/sources.list.d/kubernetes.list >/dev/null
  sudo apt-get -y update || fail "no repository"
  sudo apt-get -y install kubelet kubeadm kubectl || fail "no kubeadm"
  sudo systemctl enable kubelet
}

balancer() {
  sudo apt-get -y install haproxy keepalived || fail "no haproxy"
  local ip dev
  {
    printf 'global\n  user haproxy\n  group haproxy\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 10m\n  timeout server 10m\n'
    printf 'frontend kubernetes-apiserver\n    bind *:16443\n    default_backend kubernetes-apiserver\n'
    printf 'backend kubernetes-apiserver\n    balance roundrobin\n'
    for ip in ${MASTERS//,/ }; do printf '    server  master%s  %s:6443 check\n' "${ip##*.}" "$ip"; done
  } | sudo tee /etc/haproxy/haproxy.cfg >/dev/null
  sudo systemctl restart haproxy || fail "no balancer"
  sudo mkdir -p /etc/keepalived
  dev=$(ip -4 -o addr show | grep " $1/" | awk '{ print $2 }')
  {
    printf 'vrrp_instance VI_1 {\n  state BACKUP\n  interface %s\n  virtual_router_id 51\n  priority %s\n  advert_int 1\n' "$dev" "$2"
    printf '  authentication {\n    auth_type PASS\n    auth_pass cluster\n  }\n  virtual_ipaddress {\n    %s/24\n  }\n}\n' "$CLUSTER"
  } | sudo tee /etc/keepalived/keepalived.conf >/dev/null
  sudo systemctl restart keepalived || fail "no keepalived"
  sleep 4
}

has_address() { ip -4 -o addr show | grep -q " $1/"; }

if [ "$MODE" = worker ]; then
  port=6443
  # shellcheck disable=SC2154 # ha_flag comes from the environment
  [ "$ha_flag" != False ] && port=16443
  prepare "worker${WORKER##*.}"
  sudo kubeadm join "$CLUSTER:$port" --token "$TOKEN" --discovery-token-ca-cert-hash "sha256:$HASH" || fail "The node does not join."
  echo "Install Success!"
  exit 0
fi

endpoint=$CLUSTER:6443
priority=103
for ip in ${MASTERS//,/ }; do
  if has_address "$ip"; then break; fi
  priority=$((priority - 1))
done
prepare "master${ip##*.}"
if [[ "$MASTERS" =~ , ]]; then
  endpoint=$CLUSTER:16443
  balancer "$ip" "$priority"
fi
if has_address "${MASTERS%%,*}"; then
  sudo kubeadm init --pod-network-cidr="$PODS" --service-cidr="$SERVICES" --control-plane-endpoint "$endpoint" --apiserver-advertise-address "$ip" --upload-certs || fail "kubeadm init"
  mkdir -p "$HOME/.kube"
  sudo cp -f /etc/kubernetes/admin.conf "$HOME/.kube/config"
  sudo chown "$(id -u):$(id -g)" "$HOME/.kube/config"
  curl -fsSL -o /tmp/cilium.tar.gz https://github.com/cilium/cilium-cli/releases/download/v0.18.8/cilium-linux-amd64.tar.gz
  sudo tar -xzf /tmp/cilium.tar.gz -C /usr/local/bin cilium
  cilium install || fail "no network"
  echo "token:$(sudo kubeadm token create)"
  echo "server:https://$endpoint"
  cat /etc/kubernetes/pki/ca.crt
  echo "ssl_ca_cert_hash:$(openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der | openssl dgst -sha256 -hex | sed 's/^.* //')"
  echo "certificate_key:$(sudo kubeadm init phase upload-certs --upload-certs)"
else
  sudo kubeadm join "$endpoint" --token "$TOKEN" --discovery-token-ca-cert-hash "sha256:$HASH" --control-plane --certificate-key "$KEY" --apiserver-advertise-address "$ip" || fail "The node does not join."
fi
echo "Install Success!"
exit 0
