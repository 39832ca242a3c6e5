# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are set in arguments.sh
# SPDX-License-Identifier: Apache-2.0
#
# kubeadm: initialising a cluster, joining one, secrets for joining. It needs base.sh, arguments.sh and loadbalancer.sh.

readonly ADMIN=/etc/kubernetes/admin.conf
kc() { kubectl --kubeconfig "$ADMIN" --server "https://$NODE_IP:6443" --request-timeout 10s "$@"; }
api_ready() { [ -e "$ADMIN" ] && kc get --raw /readyz; }

# node_registration: the part that init and join share.
node_registration() {
  cat <<CONF
nodeRegistration:
  name: "$NODE_NAME"
  criSocket: unix:///run/containerd/containerd.sock
  kubeletExtraArgs:
  - name: node-ip
    value: "$NODE_IP"
CONF
}

init_config() {
  local san ip
  cat <<CONF
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint:
  advertiseAddress: "$NODE_IP"
  bindPort: 6443
CONF
  node_registration
  cat <<CONF
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: "$(kubeadm version -o short)"
controlPlaneEndpoint: "$ENDPOINT"
networking:
  podSubnet: "$pod_cidr"
  serviceSubnet: "$service_cidr"
apiServer:
  certSANs:
  - "$cluster_ip"
CONF
  for ip in ${masters//,/ }; do
    if [ "$ip" != "$cluster_ip" ]; then printf '  - "%s"\n' "$ip"; fi
  done
  for san in ${EXTRA_CERT_SANS//,/ }; do printf '  - "%s"\n' "$san"; done
}

join_config() {
  cat <<CONF
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    token: "$JOIN_TOKEN"
    apiServerEndpoint: "$ENDPOINT"
    caCertHashes:
    - "$CA_CERT_HASH"
CONF
  if [ "$ROLE" = master ]; then
    cat <<CONF
controlPlane:
  certificateKey: "$CERTIFICATE_KEY"
  localAPIEndpoint:
    advertiseAddress: "$NODE_IP"
    bindPort: 6443
CONF
  fi
  node_registration
}

# init_complete: the last objects that kubeadm init makes exist, so it has finished.
init_complete() {
  kc -n kube-system get configmap kubeadm-config && kc -n kube-public get configmap cluster-info &&
    kc -n kube-system get deployment coredns && kc -n kube-system get daemonset kube-proxy
}

# reset_node removes the files of a kubeadm that was killed half-way.
reset_node() {
  say "removing the files of an unfinished attempt"
  run kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock || die "kubeadm reset: $(why)"
  rm -rf /etc/cni/net.d/05-cilium.conflist /root/.kube/config
}

# show_kubelet: the kubelet's messages help when kubeadm has waited for it.
show_kubelet() { journalctl -u kubelet -n 10 --no-pager -o cat 2>/dev/null || true; }

# A kubeadm whose script was killed may still be at work.
no_kubeadm() { ! pgrep -x kubeadm; }
await_kubeadm() { poll 300 no_kubeadm || die_for_now "another kubeadm is running on this machine"; }

kubeadm_init() {
  await_kubeadm
  if [ -e "$STATE/init.done" ]; then
    systemctl start kubelet
    poll 180 api_ready || { show_kubelet; die "this node was initialised, but its API server does not answer on $NODE_IP:6443"; }
    say "the cluster is initialised already"
    return 0
  fi
  if [ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]; then
    # An earlier run has begun: it may have finished without the mark, or stopped half-way.
    if poll 60 api_ready && init_complete >/dev/null 2>&1; then
      touch "$STATE/init.done"
      say "the cluster is initialised already"
      return 0
    fi
    if api_ready >/dev/null 2>&1 && [ "$(kc get nodes -o name | wc -l)" -gt 1 ]; then
      die "kubeadm init is incomplete here, but other nodes have joined: not resetting a cluster in use"
    fi
    reset_node
  elif [ -e "$ADMIN" ]; then
    reset_node
  fi
  init_config | put 0600 "$STATE/init.yaml"
  # --skip-token-print: the output ends up in logs.
  run kubeadm init --config "$STATE/init.yaml" --skip-token-print ${VERBOSE:+--v=5} || { show_kubelet; die "$(why)"; }
  touch "$STATE/init.done"
}

# join_complete: the cluster knows this node, asked with the node's own credentials; and, for a master, its API server answers and
# the label that kubeadm join sets last is there.
join_complete() {
  kubectl --kubeconfig /etc/kubernetes/kubelet.conf --request-timeout 10s get node "$NODE_NAME" || return 1
  if [ "$ROLE" = worker ]; then return 0; fi
  api_ready && kc get nodes -l node-role.kubernetes.io/control-plane -o name | awk -v n="node/$NODE_NAME" '$1 == n { f = 1 } END { exit !f }'
}

# leave_cluster undoes a join that was killed half-way. The order matters: kubeadm takes the master's etcd out of the cluster only
# while the cluster knows the node, and the node may not join again under its name while it is listed as Ready.
leave_cluster() {
  local admin=''
  if [ -e "$ADMIN" ]; then
    # Its etcd may be a voting member already: a reset that does not reach the cluster could leave etcd without a majority.
    systemctl start kubelet || say "warning: the kubelet does not start"
    poll 180 endpoint_ready || die_for_now "the cluster does not answer; not resetting a master while its etcd may be needed"
    admin=$WORK/admin.conf
    install -m 0600 "$ADMIN" "$admin"
  fi
  reset_node
  if [ -n "$admin" ]; then
    run kubectl --kubeconfig "$admin" --request-timeout 30s delete node "$NODE_NAME" --ignore-not-found ||
      say "warning: node $NODE_NAME could not be removed from the cluster: $(why)"
  fi
}

kubeadm_join() {
  local try end limit=20
  await_kubeadm
  if [ -e /etc/kubernetes/kubelet.conf ]; then
    systemctl start kubelet
    if [ -e "$STATE/join.done" ]; then
      poll 180 join_complete || { show_kubelet; die "this node has joined, but it does not work in the cluster"; }
    fi
    # Without the mark kubeadm was killed, perhaps after it had finished. The kubelet of a worker needs only its
    # credentials to register the node, and some time if the machine has just started.
    if [ "$ROLE" = worker ]; then limit=90; fi
    if poll "$limit" join_complete; then
      touch "$STATE/join.done"
      say "this node has joined already"
      return 0
    fi
  fi
  end=$(($(date +%s) + 180))
  try=1
  while [ "$try" -le 3 ]; do
    if [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] || [ -e /etc/kubernetes/pki/ca.crt ]; then leave_cluster; fi
    join_config | put 0600 "$WORK/join.yaml"
    if run kubeadm join --config "$WORK/join.yaml"; then
      touch "$STATE/join.done"
      return 0
    fi
    # The reset has stopped the kubelet of an unfinished attempt. The cluster notices that in less than a minute.
    if grep -q 'already exists in the cluster' "$WORK/output" && [ "$(date +%s)" -lt "$end" ]; then
      say "the cluster still lists node $NODE_NAME as Ready; waiting until it is not"
      sleep 10
      continue
    fi
    say "attempt $try of 3 to join failed"
    # kubeadm may have given up on a kubelet that came up after all.
    if [ -e /etc/kubernetes/kubelet.conf ] && poll 20 join_complete; then
      touch "$STATE/join.done"
      return 0
    fi
    try=$((try + 1))
  done
  show_kubelet
  die "$(why)"
}

# user_kubeconfig: kubectl works for the user who logs in to a master.
user_kubeconfig() {
  local home user=${SUDO_USER:-root}
  home=$(getent passwd "$user" | cut -d: -f6)
  if [ -z "$home" ]; then return 0; fi
  mkdir -p "$home/.kube"
  put 0600 "$home/.kube/config" <"$ADMIN"
  chown -R "$user:" "$home/.kube"
}

node_ready() {
  local ready
  ready=$(kc get node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')
  [ "$ready" = True ]
}
wait_node_ready() {
  poll 600 node_ready || { show_kubelet; die "node $NODE_NAME is not Ready after 600 s"; }
}

# publish: new secrets for joining, into the result file or, in a complete run, to standard output. Nothing is printed otherwise.
publish() {
  local token hash config key='' out=$GYBE_RESULT_FILE
  # These go through the cluster's address, where HAProxy may still be finding out which master answers.
  poll 60 endpoint_ready || die_for_now "https://$ENDPOINT does not answer"
  token=$(try_secret kubeadm token create --ttl 2h) || die_for_now "kubeadm token create: $(why)"
  hash=$(openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der | openssl dgst -sha256 -hex | awk '{ print $NF }')
  if [ "${#hash}" -ne 64 ]; then die "the hash of /etc/kubernetes/pki/ca.crt cannot be computed"; fi
  if [ -n "$HA" ]; then
    config=$STATE/init.yaml
    if [ ! -e "$config" ]; then # another master has initialised the cluster
      config=$WORK/init.yaml
      init_config | put 0600 "$config"
    fi
    key=$(try_secret kubeadm init phase upload-certs --upload-certs --config "$config" | awk 'NF { k = $1 } END { print k }') ||
      die_for_now "kubeadm init phase upload-certs: $(why)"
    if [[ ! $key =~ ^[0-9a-f]{64}$ ]]; then die "kubeadm init phase upload-certs printed no certificate key"; fi
  fi
  if [ -n "$out" ]; then
    {
      printf 'token=%s\nssl_ca_cert_hash=sha256:%s\ncertificate_key=%s\n' "$token" "$hash" "$key"
      printf 'server=https://%s\nnode_name=%s\nssl_ca_cert=%s\n' "$ENDPOINT" "$NODE_NAME" "$(base64 -w0 /etc/kubernetes/pki/ca.crt)"
    } | put 0600 "$out"
    # Readable only for the user who asked.
    chown --reference="$(dirname "$out")" "$out"
    return 0
  fi
  if [ "$GYBE_PHASE" != all ] && [ "$GYBE_PHASE" != tokens ]; then return 0; fi
  printf 'token:%s\nserver:https://%s\nssl_ca_cert_hash:sha256:%s\n' "$token" "$ENDPOINT" "$hash"
  if [ -n "$key" ]; then printf 'certificate_key:%s\n' "$key"; fi
  cat /etc/kubernetes/pki/ca.crt
}
