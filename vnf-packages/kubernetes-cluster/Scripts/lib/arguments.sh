# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for the other files
# SPDX-License-Identifier: Apache-2.0
#
# The command line, the environment and the secrets of install_k8s_cluster.sh. It needs base.sh.

# The variables that a caller may set. They go through sudo.
readonly VARIABLES=GYBE_PHASE,GYBE_SECRETS_FILE,GYBE_RESULT_FILE,NODE_NAME,NODE_IP,CLUSTER_HOSTS,EXTRA_CERT_SANS,K8S_VERSION,CNI,\
CILIUM_VERSION,CILIUM_CLI_VERSION,CILIUM_CLI_SHA256,JOIN_TOKEN,CA_CERT_HASH,CERTIFICATE_KEY,VRRP_AUTH,ha_flag,http_proxy,https_proxy,no_proxy

set_defaults() {
  GYBE_PHASE=${GYBE_PHASE:-all} GYBE_SECRETS_FILE=${GYBE_SECRETS_FILE:-} GYBE_RESULT_FILE=${GYBE_RESULT_FILE:-}
  NODE_NAME=${NODE_NAME:-} NODE_IP=${NODE_IP:-} CLUSTER_HOSTS=${CLUSTER_HOSTS:-} EXTRA_CERT_SANS=${EXTRA_CERT_SANS:-}
  K8S_VERSION=${K8S_VERSION:-$DEFAULT_K8S_VERSION} CNI=${CNI:-cilium} CILIUM_VERSION=${CILIUM_VERSION:-$DEFAULT_CILIUM_VERSION}
  CILIUM_CLI_VERSION=${CILIUM_CLI_VERSION:-$DEFAULT_CILIUM_CLI_VERSION} CILIUM_CLI_SHA256=${CILIUM_CLI_SHA256:-}
  JOIN_TOKEN=${JOIN_TOKEN:-} CA_CERT_HASH=${CA_CERT_HASH:-} CERTIFICATE_KEY=${CERTIFICATE_KEY:-} VRRP_AUTH=${VRRP_AUTH:-}
  ha_flag=${ha_flag:-False} http_proxy=${http_proxy:-} https_proxy=${https_proxy:-} no_proxy=${no_proxy:-}
}

# read_options: the command line wins over GYBE_SECRETS_FILE, and that wins over the environment.
read_options() {
  local opt OPTIND=1
  masters='' worker='' cluster_ip='' service_cidr=10.96.0.0/12 pod_cidr=10.0.0.0/8 VERBOSE=''
  read_secrets
  while getopts dom:w:i:a:p:t:s:k: opt; do
    case $opt in
      m) masters=$OPTARG ;;
      w) worker=$OPTARG ;;
      i) cluster_ip=$OPTARG ;;
      a) service_cidr=$OPTARG ;;
      p) pod_cidr=$OPTARG ;;
      t) JOIN_TOKEN=$OPTARG ;;
      s) CA_CERT_HASH=$OPTARG ;;
      k) CERTIFICATE_KEY=$OPTARG ;;
      d) VERBOSE=1 ;;
      o) ;;
      *)
        usage >&2
        die "unknown option"
        ;;
    esac
  done
}

# wants_log: -o is among the options.
wants_log() {
  local opt OPTIND=1 found=1
  while getopts :dom:w:i:a:p:t:s:k: opt; do
    if [ "$opt" = o ]; then found=0; fi
  done
  return "$found"
}

read_secrets() {
  local line
  if [ -z "$GYBE_SECRETS_FILE" ]; then return 0; fi
  if [ ! -r "$GYBE_SECRETS_FILE" ]; then die "GYBE_SECRETS_FILE $GYBE_SECRETS_FILE is not readable"; fi
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      JOIN_TOKEN=*) JOIN_TOKEN=${line#*=} ;;
      CA_CERT_HASH=*) CA_CERT_HASH=${line#*=} ;;
      CERTIFICATE_KEY=*) CERTIFICATE_KEY=${line#*=} ;;
      VRRP_AUTH=*) VRRP_AUTH=${line#*=} ;;
      *) ;;
    esac
  done <"$GYBE_SECRETS_FILE"
}

is_ipv4() { [[ $1 =~ ^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$ ]]; }

has_address() { ip -4 -o addr show | awk -v a="$1" '{ sub("/.*", "", $4) } $4 == a { found = 1 } END { exit !found }'; }

# find_master_index: which entry of -m is this machine; its place decides the keepalived priority.
find_master_index() {
  local i
  MASTER_INDEX=-1
  for i in "${!MASTERS[@]}"; do
    if [ -n "$NODE_IP" ]; then
      if [ "${MASTERS[$i]}" = "$NODE_IP" ]; then MASTER_INDEX=$i; fi
    elif has_address "${MASTERS[$i]}"; then
      MASTER_INDEX=$i
    fi
  done
  if [ "$MASTER_INDEX" -lt 0 ]; then die "none of the masters $masters is an address of this machine"; fi
  NODE_IP=${MASTERS[$MASTER_INDEX]}
}

# check_versions also sets K8S_MINOR.
check_versions() {
  case $CNI in cilium | none) ;; *) die "CNI is cilium or none, not $CNI" ;; esac
  if [[ ! $K8S_VERSION =~ ^v?1\.[0-9]+(\.[0-9]+)?$ ]]; then die "K8S_VERSION: $K8S_VERSION is not like 1.34 or 1.34.2"; fi
  K8S_VERSION=${K8S_VERSION#v}
  K8S_MINOR=$(cut -d. -f1,2 <<<"$K8S_VERSION")
  # The configuration of kubeadm is written as v1beta4.
  if [ "${K8S_MINOR#1.}" -lt 31 ]; then die "K8S_VERSION: Kubernetes 1.31 is the oldest that this script installs"; fi
  if [[ ! $CILIUM_VERSION =~ ^v?1\.[0-9]+\.[0-9]+$ ]]; then die "CILIUM_VERSION: $CILIUM_VERSION is not like 1.18.4"; fi
  CILIUM_VERSION=${CILIUM_VERSION#v}
  if [ -z "$CILIUM_CLI_SHA256" ]; then
    if [ "$CILIUM_CLI_VERSION" != "$DEFAULT_CILIUM_CLI_VERSION" ]; then die "CILIUM_CLI_VERSION $CILIUM_CLI_VERSION needs its checksum in CILIUM_CLI_SHA256"; fi
    CILIUM_CLI_SHA256=$DEFAULT_CILIUM_CLI_SHA256
  fi
}

# check_role sets ROLE, HA, MASTERS, MASTER_INDEX and NODE_IP.
check_role() {
  local ip
  if [ -n "$masters" ] && [ -n "$worker" ]; then die "-m and -w exclude each other"; fi
  if [ -z "$masters" ] && [ -z "$worker" ]; then die "one of -m and -w is needed"; fi
  if [ -z "$cluster_ip" ]; then die "-i, the address of the cluster, is needed"; fi
  if ! is_ipv4 "$cluster_ip"; then die "-i: $cluster_ip is not an IPv4 address"; fi
  MASTERS=()
  HA=''
  if [ -n "$worker" ]; then
    if ! is_ipv4 "$worker"; then die "-w: $worker is not an IPv4 address"; fi
    if [ "$ha_flag" = True ]; then HA=1; fi
    ROLE=worker
    NODE_IP=$worker
    return 0
  fi
  IFS=, read -r -a MASTERS <<<"$masters"
  for ip in "${MASTERS[@]}"; do
    if ! is_ipv4 "$ip"; then die "-m: $ip is not an IPv4 address"; fi
  done
  if [ "${#MASTERS[@]}" -gt 1 ]; then HA=1; fi
  ROLE=master
  find_master_index
}

# check_arguments also sets API_PORT, ENDPOINT and the defaults that depend on the role.
check_arguments() {
  check_versions
  check_role
  if [ -n "$http_proxy$https_proxy" ]; then
    # The nodes and the cluster are reached directly.
    no_proxy=${no_proxy:+$no_proxy,}127.0.0.1,localhost,$NODE_IP,$cluster_ip,$service_cidr,$pod_cidr,.svc,.cluster.local${masters:+,$masters}
    export http_proxy https_proxy no_proxy
  fi
  API_PORT=6443
  if [ -n "$HA" ]; then API_PORT=16443; fi
  ENDPOINT=$cluster_ip:$API_PORT
  if [ -z "$NODE_NAME" ]; then NODE_NAME=$ROLE${NODE_IP##*.}; fi
  if [[ ! $NODE_NAME =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$ ]]; then die "NODE_NAME: $NODE_NAME is not a host name"; fi
  if [ -n "$CERTIFICATE_KEY" ] && [[ ! $CERTIFICATE_KEY =~ ^[0-9a-f]+$ ]]; then die "the certificate key is not hexadecimal"; fi
  if [ -n "$VRRP_AUTH" ] && [[ ! $VRRP_AUTH =~ ^[A-Za-z0-9]{1,8}$ ]]; then die "VRRP_AUTH is not 1 to 8 letters and digits"; fi
}

need_join_secrets() {
  if [ -z "$JOIN_TOKEN" ] || [ -z "$CA_CERT_HASH" ]; then die "joining needs a token (-t) and the hash of the CA (-s)"; fi
  if [ "$ROLE" = master ] && [ -z "$CERTIFICATE_KEY" ]; then die "joining as a master needs the certificate key (-k)"; fi
}
