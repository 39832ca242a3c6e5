#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Turns one Ubuntu 22.04/24.04 (amd64) machine into a node of a Kubernetes cluster: containerd, kubeadm, Cilium, and, when there
# are several masters, HAProxy on port 16443 behind a keepalived virtual address. The folder lib must be beside it.
#
# It can be run again at any time, also after a crash or a reboot in the middle: every step looks at the machine first and does
# only what is missing. Two runs at the same time wait for each other.
set -euo pipefail

readonly PROG=install_k8s_cluster
readonly DEFAULT_K8S_VERSION=1.34 DEFAULT_CILIUM_VERSION=1.18.4
# The checksum of cilium-linux-amd64.tar.gz in the release of this version.
readonly DEFAULT_CILIUM_CLI_VERSION=v0.18.8
readonly DEFAULT_CILIUM_CLI_SHA256=422940f0b7eb6eabc1e126945d1772e3f824c3f4f9fbb0df0dbbf00a271311ba

HERE=$(cd "$(dirname "$0")" && pwd)
if [ ! -r "$HERE/lib/base.sh" ]; then
  echo "$PROG: error: arguments: the folder lib is missing beside this script" >&2
  exit 1
fi
# shellcheck source=lib/base.sh
. "$HERE/lib/base.sh"
# shellcheck source=lib/packages.sh
. "$HERE/lib/packages.sh"
# shellcheck source=lib/arguments.sh
. "$HERE/lib/arguments.sh"
# shellcheck source=lib/start.sh
. "$HERE/lib/start.sh"
# shellcheck source=lib/os.sh
. "$HERE/lib/os.sh"
# shellcheck source=lib/runtime.sh
. "$HERE/lib/runtime.sh"
# shellcheck source=lib/loadbalancer.sh
. "$HERE/lib/loadbalancer.sh"
# shellcheck source=lib/kubeadm.sh
. "$HERE/lib/kubeadm.sh"
# shellcheck source=lib/kubernetes.sh
. "$HERE/lib/kubernetes.sh"
# shellcheck source=lib/cni.sh
. "$HERE/lib/cni.sh"

usage() {
  cat <<'USAGE'
usage: install_k8s_cluster.sh -m IP[,IP...] -i IP [-a CIDR] [-p CIDR] [-t TOKEN -s HASH [-k KEY]] [-d] [-o]
       install_k8s_cluster.sh -w IP -i IP -t TOKEN -s HASH [-d] [-o]

  -m  addresses of all masters; the first is the main one. Several masters mean high availability
  -w  address of this worker
  -i  address of the cluster: the virtual address of several masters, or the address of the only one
  -a  CIDR of Services (10.96.0.0/12)
  -p  CIDR of Pods (10.0.0.0/8)
  -t  bootstrap token to join with; a master without it initialises the cluster
  -s  hash of the cluster's CA (sha256:...)
  -k  certificate key; needed by a further master
  -d  more output of kubeadm
  -o  append the output to /var/log/install_k8s_cluster.log as well

Environment:
  GYBE_PHASE          all (default), or one part: prepare, init, join; tokens: print new secrets for joining;
                      refresh: bring /etc/hosts and the load balancer up to date after the nodes changed;
                      upgrade: bring the Kubernetes of this node, which should be drained, to K8S_VERSION; the first of -m first of all;
                      network: bring the Cilium of the cluster to CILIUM_VERSION, on a master;
                      check: only look at the arguments, touch nothing
  GYBE_SECRETS_FILE   file (mode 0600) with lines JOIN_TOKEN=, CA_CERT_HASH=, CERTIFICATE_KEY=, VRRP_AUTH=; keeps secrets
                      out of the process list. The same names in the environment work too
  GYBE_RESULT_FILE    where init and tokens write the secrets for joining (mode 0600), instead of printing them
  NODE_NAME, NODE_IP  name and address of this node; default: master or worker + last octet, and the one of -m/-w found here
  CLUSTER_HOSTS       "IP NAME,IP NAME,...": the nodes to list in /etc/hosts
  EXTRA_CERT_SANS     further names of the API server, comma separated, e.g. the floating address of the cluster
  K8S_VERSION         minor (1.34, the newest patch is taken) or full version (1.34.2) of Kubernetes
  CNI                 cilium (default) or none
  CILIUM_VERSION      version of Cilium (1.18.4)
  CILIUM_CLI_VERSION, CILIUM_CLI_SHA256
                      version of the Cilium CLI and checksum of its cilium-linux-amd64.tar.gz; another version needs its checksum
  ha_flag             True: a worker's cluster has several masters
  http_proxy, https_proxy, no_proxy

Exit code 0 means done. Anything else is an error, and the last line says which step failed and why; 75 means that the same run may
succeed later, because a mirror, a registry or another node did not answer.
USAGE
}

# --- phases -----------------------------------------------------------------------------------------------------------------------

prepare() {
  step check-machine check_machine
  step host-name set_host_name
  step hosts write_hosts
  step swap swap_off
  step kernel kernel_settings
  step proxy proxy_settings
  step base-packages base_packages
  step kubernetes-packages kubernetes_packages
  step container-runtime container_runtime
  if [ "$ROLE" = master ]; then
    step cilium-cli cilium_cli
    if [ -n "$HA" ]; then step load-balancer load_balancer; fi
    step images pull_images
  fi
}

init() {
  if [ "$ROLE" != master ]; then die "only a master initialises a cluster"; fi
  if [ -n "$HA" ]; then step cluster-address wait_endpoint 60 endpoint_accepts; fi
  step kubeadm-init kubeadm_init
  step kubeconfig user_kubeconfig
  step cilium install_network
}

join() {
  STEP=arguments
  need_join_secrets
  step cluster-address wait_endpoint 180 endpoint_ready
  step kubeadm-join kubeadm_join
  if [ "$ROLE" = master ]; then step kubeconfig user_kubeconfig; fi
}

refresh() {
  step hosts write_hosts
  if [ "$ROLE" = master ] && [ -n "$HA" ]; then step load-balancer load_balancer; fi
}

upgrade() {
  step cluster-address wait_endpoint 180 endpoint_ready
  step kubeadm-package upgrade_kubeadm
  if [ "$ROLE" = master ]; then step images pull_images; fi
  step kubeadm-upgrade kubeadm_upgrade
  step kubelet-package upgrade_kubelet
  step node-version wait_upgraded
  if [ "$ROLE" = master ]; then step kubeconfig user_kubeconfig; fi
  step cluster-answers wait_endpoint 180 endpoint_ready
}

network() {
  if [ "$ROLE" != master ]; then die "only a master upgrades the network"; fi
  step cilium-cli cilium_cli
  step cluster-address wait_endpoint 180 endpoint_ready
  step cilium install_network
}

all() {
  prepare
  if [ -n "$JOIN_TOKEN" ]; then
    join
    return 0
  fi
  init
  step node-ready wait_node_ready
  step secrets publish
}

main() {
  STEP=arguments
  read_options "$@"
  check_arguments
  if [ "$GYBE_PHASE" = check ]; then return 0; fi

  STATE=/var/lib/gybe
  mkdir -p "$STATE"
  chmod 0700 "$STATE"
  WORK=$(mktemp -d "$STATE/work.XXXXXX")
  say "$GYBE_PHASE on $ROLE $NODE_NAME ($NODE_IP), cluster $ENDPOINT, Kubernetes $K8S_VERSION"
  case $GYBE_PHASE in
    init)
      init
      step secrets publish
      ;;
    tokens) step secrets publish ;;
    *) "$GYBE_PHASE" ;;
  esac
  say "finished $GYBE_PHASE"
}

# --- start ------------------------------------------------------------------------------------------------------------------------

if [ "${1:-}" = --help ]; then
  usage
  exit 0
fi
STEP=arguments
set_defaults
case $GYBE_PHASE in
  all | prepare | init | join | tokens | refresh | upgrade | network) ;;
  check)
    trap on_exit EXIT
    main "$@"
    exit 0
    ;;
  *) die "GYBE_PHASE is all, prepare, init, join, tokens, refresh, upgrade, network or check, not $GYBE_PHASE" ;;
esac
run_as_root "$@"
run_logged "$@"
run_locked "$@"
trap on_exit EXIT
main "$@"
