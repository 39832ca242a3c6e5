#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Turns one Ubuntu 22.04/24.04 (amd64) machine into a node of a Kubernetes cluster: containerd, kubeadm, Cilium, and, when there
# are several masters, HAProxy on port 16443 behind a keepalived virtual address.
#
# It can be run again at any time, also after a crash or a reboot in the middle: every step looks at the machine first and does
# only what is missing. Two runs at once are serialised by a lock.
#
# Plain bash with common commands on purpose: no redirections of descriptors above 2, no traps but EXIT, no BASH_* variables.
set -euo pipefail

readonly PROG=install_k8s_cluster
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
# Programs with users of their own (apt, haproxy) must be able to read what is written for them; secrets get their modes one by one.
umask 022

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
                      check: only look at the arguments, touch nothing
  GYBE_SECRETS_FILE   file (mode 0600) with lines JOIN_TOKEN=, CA_CERT_HASH=, CERTIFICATE_KEY=, VRRP_AUTH=; keeps secrets
                      out of the process list. The same names in the environment work too
  GYBE_RESULT_FILE    where init and tokens write what others need to join (mode 0600), instead of printing it
  NODE_NAME, NODE_IP  name and address of this node; default: master or worker + last octet, and the one of -m/-w found here
  CLUSTER_HOSTS       "IP NAME,IP NAME,...": the nodes to list in /etc/hosts
  EXTRA_CERT_SANS     further names of the API server, comma separated, e.g. the floating address of the cluster
  K8S_VERSION         minor (1.34, the newest patch is taken) or full version (1.34.2) of Kubernetes
  CNI                 cilium (default) or none
  CILIUM_VERSION, CILIUM_CLI_VERSION, CILIUM_CLI_SHA256
  ha_flag             True: a worker's cluster has several masters
  http_proxy, https_proxy, no_proxy

Exit code 0 means done. Anything else is an error, and the last line says which step failed and why; 75 means that the same run may
succeed later, because a mirror, a registry or another node did not answer.
USAGE
}

# --- messages and small tools -------------------------------------------------------------------------------------------------

STEP=arguments
WORK=''
FAILED=''

say() { printf '%s: %s\n' "$PROG" "$*"; }
# die may run in a subshell, whose variables are lost: hence the file.
die() { die_with 1 "$@"; }
# die_for_now: what failed depends on other machines, so the same run may succeed later.
die_for_now() { die_with 75 "$@"; }
die_with() {
  local status=$1
  shift
  FAILED=1
  if [ -n "$WORK" ]; then touch "$WORK/failed"; fi
  printf '%s: error: %s: %s\n' "$PROG" "$STEP" "$*" >&2
  exit "$status"
}

# on_exit keeps the promise of the last line when a command failed where nobody looked, and removes files with secrets.
on_exit() {
  local rc=$?
  if [ "$rc" -ne 0 ] && [ -z "$FAILED" ] && { [ -z "$WORK" ] || [ ! -e "$WORK/failed" ]; }; then
    printf '%s: error: %s: exit status %s\n' "$PROG" "$STEP" "$rc" >&2
  fi
  if [ -n "$WORK" ]; then rm -rf "$WORK"; fi
}

# step NAME COMMAND...: runs one step under its name.
step() {
  local began
  STEP=$1
  shift
  began=$(date +%s)
  say "step $STEP"
  "$@"
  say "done $STEP ($(($(date +%s) - began)) s)"
}

# poll SECONDS COMMAND...: runs the command every second until it succeeds; fails after that many seconds.
poll() {
  local end
  end=$(($(date +%s) + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ "$(date +%s)" -ge "$end" ]; then return 1; fi
    sleep 1
  done
}

# run COMMAND...: shows the command's output and keeps it, so that why() can name the reason of a failure.
run() { "$@" 2>&1 | tee "$WORK/output"; }
why() {
  awk '{ gsub(/^[ \t]+/, "") } /^\[ERROR/ { p = p (p == "" ? "" : "; ") $0 } /[Ee]rror:|^E: / { e = $0 } NF && !/stack trace/ { l = $0 }
    END { m = p != "" ? p : e != "" ? e : l; print m != "" ? m : "no output" }' "$WORK/output"
}

# retried COMMAND...: for what depends on other people's servers.
retried() {
  local try
  for try in 1 2 3 4; do
    if run "$@"; then return 0; fi
    if [ "$try" -lt 4 ]; then
      say "attempt $try of 4 did not succeed, trying again"
      sleep $((try * 3))
    fi
  done
  return 1
}

# put MODE PATH: writes standard input to PATH by rename when it differs. changed says whether the last put did; it asks a file
# because put is often the end of a pipe, which is a subshell.
put() {
  rm -f "$WORK/changed"
  cat >"$WORK/file"
  if cmp -s "$WORK/file" "$2"; then return 0; fi
  mkdir -p "$(dirname "$2")"
  install -m "$1" "$WORK/file" "$2.gybe-new"
  # Where /etc/hosts is a mount of its own it cannot be replaced, only filled.
  if ! mv -f "$2.gybe-new" "$2" 2>/dev/null; then
    cat "$2.gybe-new" >"$2"
    rm -f "$2.gybe-new"
  fi
  touch "$WORK/changed"
}
changed() { [ -e "$WORK/changed" ]; }

has() { command -v "$1" >/dev/null 2>&1; }

# fetch URL FILE
fetch() { retried curl -fsSL --connect-timeout 15 --max-time 300 -o "$2" "$1" || die_for_now "download $1: $(why)"; }

apt_update() {
  retried apt-get -q -o DPkg::Lock::Timeout=300 update || die_for_now "apt-get update: $(why)"
  touch "$WORK/apt-updated"
}

# apt_install PACKAGE...
apt_install() {
  if [ ! -e "$WORK/apt-updated" ]; then apt_update; fi
  # A run that was killed inside dpkg leaves packages half configured; this is a no-op otherwise.
  run dpkg --configure -a --force-confold >/dev/null || die "dpkg --configure -a: $(why)"
  retried apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold --allow-change-held-packages \
    --no-install-recommends install "$@" || die_for_now "apt-get install $*: $(why)"
}

# --- arguments ----------------------------------------------------------------------------------------------------------------

# read_secrets: the file wins over the environment, -t, -s and -k win over both.
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

settle_arguments() {
  local ip
  case $CNI in cilium | none) ;; *) die "CNI is cilium or none, not $CNI" ;; esac
  if [ -n "$masters" ] && [ -n "$worker" ]; then die "-m and -w exclude each other"; fi
  if [ -z "$masters" ] && [ -z "$worker" ]; then die "one of -m and -w is needed"; fi
  if [ -z "$cluster_ip" ]; then die "-i, the address of the cluster, is needed"; fi
  if ! is_ipv4 "$cluster_ip"; then die "-i: $cluster_ip is not an IPv4 address"; fi
  if [[ ! $K8S_VERSION =~ ^v?1\.[0-9]+(\.[0-9]+)?$ ]]; then die "K8S_VERSION: $K8S_VERSION is not like 1.34 or 1.34.2"; fi
  K8S_VERSION=${K8S_VERSION#v}
  K8S_MINOR=$(cut -d. -f1,2 <<<"$K8S_VERSION")
  # The kubeadm configuration below is v1beta4.
  if [ "${K8S_MINOR#1.}" -lt 31 ]; then die "K8S_VERSION: Kubernetes 1.31 is the oldest that this script installs"; fi

  MASTERS=()
  HA=''
  if [ -n "$masters" ]; then
    IFS=, read -r -a MASTERS <<<"$masters"
    for ip in "${MASTERS[@]}"; do
      if ! is_ipv4 "$ip"; then die "-m: $ip is not an IPv4 address"; fi
    done
    if [ "${#MASTERS[@]}" -gt 1 ]; then HA=1; fi
    ROLE=master
    find_master_index
  else
    if ! is_ipv4 "$worker"; then die "-w: $worker is not an IPv4 address"; fi
    if [ "$ha_flag" = True ]; then HA=1; fi
    ROLE=worker
    NODE_IP=$worker
  fi
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

# --- prepare ------------------------------------------------------------------------------------------------------------------

check_machine() {
  local os=unknown
  if [ -r /etc/os-release ]; then
    os=$(awk -F= '$1 == "ID" { i = $2 } $1 == "VERSION_ID" { v = $2 } END { gsub(/"/, "", i); gsub(/"/, "", v); print i " " v }' /etc/os-release)
  fi
  case $os in
    "ubuntu 22.04" | "ubuntu 24.04") ;;
    *) say "warning: made for Ubuntu 22.04 and 24.04, this is $os" ;;
  esac
  if [ "$(uname -m)" != x86_64 ]; then die "made for x86_64, this is $(uname -m)"; fi
  if ! has apt-get; then die "apt-get not found: made for Ubuntu"; fi
  # cloud-init holds the package lock and rewrites files while a new machine starts.
  if has cloud-init; then timeout 300 cloud-init status --wait >/dev/null 2>&1 || say "warning: cloud-init did not end well, going on"; fi
}

set_host_name() {
  if [ "$(hostname)" != "$NODE_NAME" ]; then hostnamectl set-hostname "$NODE_NAME" || die "hostnamectl set-hostname $NODE_NAME"; fi
  # Otherwise cloud-init gives the machine its old name back at the next boot.
  if [ -d /etc/cloud/cloud.cfg.d ]; then
    printf 'preserve_hostname: true\nmanage_etc_hosts: false\n' | put 0644 /etc/cloud/cloud.cfg.d/99-gybe.cfg
  fi
}

# write_hosts keeps one marked block in /etc/hosts and leaves every other line alone.
write_hosts() {
  local block ip
  if [ -n "$CLUSTER_HOSTS" ]; then
    block=$(tr ',' '\n' <<<"$CLUSTER_HOSTS" | sed '/^ *$/d')
  else
    block=$(for ip in ${masters//,/ }; do echo "$ip master${ip##*.}"; done | awk -v a="$NODE_IP" '$1 != a')
  fi
  if ! awk -v a="$NODE_IP" '$1 == a { f = 1 } END { exit !f }' <<<"$block"; then
    block="$NODE_IP $NODE_NAME"$'\n'$block
  fi
  {
    awk '/^# BEGIN gybe cluster$/ { skip = 1 } !skip { print } /^# END gybe cluster$/ { skip = 0 }' /etc/hosts
    printf '# BEGIN gybe cluster\n%s\n# END gybe cluster\n' "$(sed '/^$/d' <<<"$block")"
  } | put 0644 /etc/hosts
}

swap_off() {
  if [ -r /proc/swaps ] && awk 'NR > 1 { f = 1 } END { exit !f }' /proc/swaps; then swapoff -a || die "swapoff -a"; fi
  if [ -f /etc/fstab ] && grep -Eq '^[^#].*[[:space:]]swap[[:space:]]' /etc/fstab; then
    sed -E 's/^([^#].*[[:space:]]swap[[:space:]].*)$/# \1/' /etc/fstab | put 0644 /etc/fstab
  fi
}

kernel_settings() {
  local module
  printf 'overlay\nbr_netfilter\n' | put 0644 /etc/modules-load.d/kubernetes.conf
  for module in overlay br_netfilter; do
    modprobe "$module" || say "warning: modprobe $module did not work; it may be built into the kernel"
  done
  put 0644 /etc/sysctl.d/99-kubernetes.conf <<'CONF'
net.ipv4.ip_forward = 1
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
CONF
  sysctl -q -p /etc/sysctl.d/99-kubernetes.conf || say "warning: not every kernel setting could be applied"
  if [ "$(sysctl -n net.ipv4.ip_forward)" != 1 ]; then die "net.ipv4.ip_forward cannot be switched on"; fi
}

# proxy_settings: apt and containerd do not read the environment of this script.
proxy_settings() {
  if [ -z "$http_proxy$https_proxy" ]; then return 0; fi
  {
    if [ -n "$http_proxy" ]; then printf 'Acquire::http::Proxy "%s";\n' "$http_proxy"; fi
    if [ -n "$https_proxy" ]; then printf 'Acquire::https::Proxy "%s";\n' "$https_proxy"; fi
  } | put 0644 /etc/apt/apt.conf.d/90gybe-proxy
  put 0644 /etc/systemd/system/containerd.service.d/gybe-proxy.conf <<CONF
[Service]
Environment="HTTP_PROXY=$http_proxy"
Environment="HTTPS_PROXY=$https_proxy"
Environment="NO_PROXY=$no_proxy"
CONF
  if changed; then
    systemctl daemon-reload
    if systemctl is-active --quiet containerd; then systemctl restart containerd; fi
  fi
}

base_packages() {
  if has curl && has gpg && has conntrack && has socat; then return 0; fi
  apt_install ca-certificates curl gpg conntrack socat
}

# is_wanted VERSION: v1.34.2 is what K8S_VERSION asks for.
is_wanted() { case ${1#v} in "$K8S_VERSION" | "$K8S_VERSION".*) ;; *) return 1 ;; esac }

kubernetes_installed() {
  local v
  if ! has kubeadm || ! has kubelet || ! has kubectl; then return 1; fi
  v=$(kubeadm version -o short) || return 1
  is_wanted "$v" || return 1
  case $(kubelet --version) in *" $v") return 0 ;; *) return 1 ;; esac
}

# kubernetes_repository lets apt know the packages of the minor that is wanted.
kubernetes_repository() {
  local key=/etc/apt/keyrings/kubernetes-apt-keyring.gpg repo=https://pkgs.k8s.io/core:/stable:/v$K8S_MINOR/deb
  if [ -e "$WORK/repository" ]; then return 0; fi
  fetch "$repo/Release.key" "$WORK/release.key"
  gpg --batch --yes --dearmor -o "$WORK/release.gpg" "$WORK/release.key" || die "the signing key of $repo is not usable"
  put 0644 "$key" <"$WORK/release.gpg"
  echo "deb [signed-by=$key] $repo/ /" | put 0644 /etc/apt/sources.list.d/kubernetes.list
  apt_update
  touch "$WORK/repository"
}

# package_version WANTED: the newest package of kubeadm that is 1.34 or 1.34.2; kubelet and kubectl have the same versions.
package_version() {
  local version
  version=$(apt-cache madison kubeadm | awk -F'|' -v want="$1" '
    { gsub(/ /, "", $2); v = $2; sub(/-.*/, "", v) } !best && (v == want || index(v, want ".") == 1) { best = $2 } END { print best }')
  if [ -z "$version" ]; then die "the repository of Kubernetes $K8S_MINOR has no kubeadm $1"; fi
  echo "$version"
}

hold_packages() { apt-mark hold kubelet kubeadm kubectl >/dev/null || say "warning: apt-mark hold did not work"; }

kubernetes_packages() {
  local version
  if ! kubernetes_installed; then
    kubernetes_repository
    version=$(package_version "$K8S_VERSION")
    apt_install "kubelet=$version" "kubeadm=$version" "kubectl=$version"
    if ! kubernetes_installed; then die "kubeadm $version is installed but reports $(kubeadm version -o short)"; fi
  fi
  hold_packages
}

runtime_answers() { systemctl is-active --quiet containerd && [ -e /run/containerd/containerd.sock ]; }

# container_runtime: containerd with the systemd cgroup driver, the pause image that this kubeadm expects, and a place for what it is to
# know of registries.
container_runtime() {
  local pause
  if ! has containerd; then apt_install containerd; fi
  pause=$(kubeadm config images list --kubernetes-version "$(kubeadm version -o short)" 2>/dev/null | awk '/\/pause:/ { p = $1 } END { print p }')
  containerd config default >"$WORK/containerd.toml" || die "containerd config default"
  sed -E -e 's/SystemdCgroup = false/SystemdCgroup = true/' \
    -e "s#^([[:space:]]*config_path = )(''|\"\")#\\1\"/etc/containerd/certs.d\"#" \
    -e "s#^([[:space:]]*(sandbox_image|sandbox) = )['\"].*['\"]#\\1\"${pause:-registry.k8s.io/pause:3.10}\"#" "$WORK/containerd.toml" |
    put 0644 /etc/containerd/config.toml
  systemctl enable containerd >/dev/null 2>&1 || die "systemctl enable containerd"
  if changed; then
    systemctl restart containerd || die "systemctl restart containerd"
  elif ! systemctl is-active --quiet containerd; then
    systemctl start containerd || die "systemctl start containerd"
  fi
  poll 60 runtime_answers || die "containerd does not answer after 60 s"
  systemctl enable kubelet >/dev/null 2>&1 || die "systemctl enable kubelet"
}

# cilium_cli: only a master that initialises needs it, but which one that is may change in a heal.
cilium_cli() {
  local base=https://github.com/cilium/cilium-cli/releases/download/$CILIUM_CLI_VERSION file=cilium-linux-amd64.tar.gz sum
  if [ "$CNI" != cilium ] || has cilium; then return 0; fi
  fetch "$base/$file" "$WORK/$file"
  sum=$CILIUM_CLI_SHA256
  if [ -z "$sum" ]; then
    fetch "$base/$file.sha256sum" "$WORK/$file.sha256sum"
    sum=$(awk 'NR == 1 { s = $1 } END { print s }' "$WORK/$file.sha256sum")
  fi
  if [ "$(sha256sum "$WORK/$file" | awk '{ print $1 }')" != "$sum" ]; then die "$file: checksum is not $sum"; fi
  tar -xzf "$WORK/$file" -C "$WORK" cilium || die "$file: cannot be unpacked"
  install -m 0755 "$WORK/cilium" /usr/local/bin/cilium
}

pull_images() {
  retried kubeadm config images pull --kubernetes-version "$(kubeadm version -o short)" || die_for_now "kubeadm config images pull: $(why)"
}

# --- load balancer of several masters -------------------------------------------------------------------------------------------

# load_balancer: HAProxy passes TLS through to the masters; clients verify the API server's certificate themselves. Only its health
# check skips verification: it asks nothing but /readyz, and the cluster's CA does not exist yet when HAProxy starts.
load_balancer() {
  local ip reload=''
  if ! has haproxy || ! has keepalived; then apt_install haproxy keepalived; fi
  {
    cat <<'CONF'
global
  log /dev/log local0
  user haproxy
  group haproxy
  stats socket /run/haproxy/admin.sock mode 660 level admin
defaults
  mode tcp
  log global
  option tcplog
  option dontlognull
  retries 3
  option redispatch 1
  timeout connect 1s
  timeout client 10m
  timeout server 10m
  timeout check 2s
frontend kubernetes-api
CONF
    printf '  bind *:%s\n' "$API_PORT"
    cat <<'CONF'
  default_backend masters
backend masters
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
CONF
    for ip in "${MASTERS[@]}"; do printf '  server master%s %s:6443\n' "${ip//./-}" "$ip"; done
  } | put 0644 /etc/haproxy/haproxy.cfg
  if changed; then reload=1; fi
  run haproxy -c -f /etc/haproxy/haproxy.cfg || die "haproxy refuses its configuration: $(why)"
  start_or_reload haproxy "$reload"
  reload=''

  put 0755 /usr/local/libexec/gybe-check-haproxy <<CONF
#!/bin/bash
# keepalived gives the virtual address away when this machine's HAProxy accepts no connections.
exec timeout 2 bash -c 'exec 3<>/dev/tcp/127.0.0.1/$API_PORT'
CONF
  keepalived_conf | put 0600 /etc/keepalived/keepalived.conf
  if changed; then reload=1; fi
  start_or_reload keepalived "$reload"
}

# keepalived_conf: all start as BACKUP and none preempts, so that the address moves only when its holder is in trouble. Peers are
# addressed one by one (clouds drop multicast), and the router id follows the address so that clusters in a network differ.
keepalived_conf() {
  local dev peer
  dev=$(ip -4 -o addr show | awk -v a="$NODE_IP" '{ i = $4; sub("/.*", "", i) } i == a { d = $2 } END { print d }')
  if [ -z "$dev" ]; then die "no network interface has the address $NODE_IP"; fi
  cat <<CONF
global_defs {
  router_id $NODE_NAME
  script_user root
  enable_script_security
}
vrrp_script haproxy {
  script /usr/local/libexec/gybe-check-haproxy
  interval 2
  timeout 3
  fall 2
  rise 1
}
vrrp_instance kubernetes_api {
  state BACKUP
  nopreempt
  interface $dev
  virtual_router_id $((${cluster_ip##*.} % 255 + 1))
  priority $((150 - 10 * MASTER_INDEX))
  advert_int 1
  unicast_src_ip $NODE_IP
  unicast_peer {
CONF
  for peer in "${MASTERS[@]}"; do
    if [ "$peer" != "$NODE_IP" ]; then printf '    %s\n' "$peer"; fi
  done
  echo '  }'
  if [ -n "$VRRP_AUTH" ]; then printf '  authentication {\n    auth_type PASS\n    auth_pass %s\n  }\n' "$VRRP_AUTH"; fi
  cat <<CONF
  virtual_ipaddress {
    $cluster_ip/32
  }
  track_script {
    haproxy
  }
}
CONF
}

# start_or_reload SERVICE RELOAD
start_or_reload() {
  systemctl enable "$1" >/dev/null 2>&1 || die "systemctl enable $1"
  if [ -n "$2" ] || ! systemctl is-active --quiet "$1"; then
    systemctl reload-or-restart "$1" || die "$1 does not start: $(systemctl status --no-pager "$1" 2>&1 | awk 'NF { l = $0 } END { print l }')"
  fi
}

# endpoint_accepts: something accepts connections on the cluster's address. Before the first init HAProxy has no healthy master and
# closes them again, so only "could not connect" (7) and "timed out" (28) count as silence.
endpoint_accepts() {
  local rc=0
  curl -sk --noproxy '*' --connect-timeout 2 --max-time 4 -o /dev/null "https://$ENDPOINT/readyz" || rc=$?
  [ "$rc" -ne 7 ] && [ "$rc" -ne 28 ]
}
endpoint_ready() { curl -fsk --noproxy '*' --connect-timeout 2 --max-time 4 -o /dev/null "https://$ENDPOINT/readyz"; }

# --- kubeadm --------------------------------------------------------------------------------------------------------------------

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

# init_complete: the last things that kubeadm init makes are there, so it must have come to its end.
init_complete() {
  kc -n kube-system get configmap kubeadm-config && kc -n kube-public get configmap cluster-info &&
    kc -n kube-system get deployment coredns && kc -n kube-system get daemonset kube-proxy
}

# reset_node removes what a kubeadm that was killed half-way left behind.
reset_node() {
  say "removing what an unfinished attempt left on this node"
  run kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock || die "kubeadm reset: $(why)"
  rm -rf /etc/cni/net.d/05-cilium.conflist /root/.kube/config
}

# kubelet_says: its own words help most when kubeadm waited for it in vain.
kubelet_says() { journalctl -u kubelet -n 10 --no-pager -o cat 2>/dev/null || true; }

# A kubeadm whose script was killed may still be at work.
no_kubeadm() { ! pgrep -x kubeadm; }
await_kubeadm() { poll 300 no_kubeadm || die_for_now "another kubeadm is running on this machine"; }

kubeadm_init() {
  await_kubeadm
  if [ -e "$STATE/init.done" ]; then
    systemctl start kubelet
    poll 180 api_ready || { kubelet_says; die "this node was initialised, but its API server does not answer on $NODE_IP:6443"; }
    say "the cluster is initialised already"
    return 0
  fi
  if [ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]; then
    # Somebody was here before: it may have come to its end without the note, or be half done.
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
  run kubeadm init --config "$STATE/init.yaml" --skip-token-print ${VERBOSE:+--v=5} || { kubelet_says; die "$(why)"; }
  touch "$STATE/init.done"
}

wait_endpoint() {
  poll "$1" "$2" || die_for_now "nobody answers on https://$ENDPOINT after $1 s; is the address allowed on the masters' ports?"
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
    # Its etcd may count for the quorum already: a reset that does not reach the cluster would leave that without a majority.
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
  local try
  await_kubeadm
  if [ -e /etc/kubernetes/kubelet.conf ]; then
    systemctl start kubelet
    if [ -e "$STATE/join.done" ]; then
      poll 180 join_complete || { kubelet_says; die "this node has joined, but it does not work in the cluster"; }
    fi
    # Without the note kubeadm was killed, perhaps after it had done everything.
    if poll 20 join_complete; then
      touch "$STATE/join.done"
      say "this node has joined already"
      return 0
    fi
  fi
  for try in 1 2 3; do
    if [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] || [ -e /etc/kubernetes/pki/ca.crt ]; then leave_cluster; fi
    join_config | put 0600 "$WORK/join.yaml"
    if run kubeadm join --config "$WORK/join.yaml"; then
      touch "$STATE/join.done"
      return 0
    fi
    say "attempt $try of 3 to join did not succeed"
    # kubeadm may have given up on a kubelet that came up after all.
    if [ -e /etc/kubernetes/kubelet.conf ] && poll 20 join_complete; then
      touch "$STATE/join.done"
      return 0
    fi
  done
  kubelet_says
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

install_cilium() {
  if [ "$CNI" != cilium ]; then return 0; fi
  if [ -e "$STATE/cilium.done" ]; then return 0; fi
  if kc -n kube-system get daemonset cilium >/dev/null 2>&1 && kc -n kube-system get deployment cilium-operator >/dev/null 2>&1; then
    touch "$STATE/cilium.done"
    return 0
  fi
  for _ in 1 2 3; do
    if KUBECONFIG=$ADMIN run cilium install --version "$CILIUM_VERSION" --set ipam.mode=kubernetes; then
      touch "$STATE/cilium.done"
      return 0
    fi
    # A killed installation leaves a release that blocks the next one.
    KUBECONFIG=$ADMIN run cilium uninstall >/dev/null || true
    sleep 2
  done
  die "cilium install: $(why)"
}

node_ready() {
  local ready
  ready=$(kc get node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')
  [ "$ready" = True ]
}

# insist COMMAND...: for what must not be shown: tries a few times, keeps only standard error for why().
insist() {
  local try
  for try in 1 2 3 4 5; do
    if "$@" 2>"$WORK/output"; then return 0; fi
    sleep "$try"
  done
  return 1
}

# publish: new secrets to join with, into the result file or, as a whole run does, to standard output. Nothing is printed otherwise.
publish() {
  local token hash config key='' out=$GYBE_RESULT_FILE
  # These go through the cluster's address, where HAProxy may still be finding out which master answers.
  poll 60 endpoint_ready || die_for_now "nobody answers on https://$ENDPOINT"
  token=$(insist kubeadm token create --ttl 2h) || die_for_now "kubeadm token create: $(why)"
  hash=$(openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der | openssl dgst -sha256 -hex | awk '{ print $NF }')
  if [ "${#hash}" -ne 64 ]; then die "the hash of /etc/kubernetes/pki/ca.crt cannot be computed"; fi
  if [ -n "$HA" ]; then
    config=$STATE/init.yaml
    if [ ! -e "$config" ]; then # another master has initialised the cluster
      config=$WORK/init.yaml
      init_config | put 0600 "$config"
    fi
    key=$(insist kubeadm init phase upload-certs --upload-certs --config "$config" | awk 'NF { k = $1 } END { print k }') ||
      die_for_now "kubeadm init phase upload-certs: $(why)"
    if [[ ! $key =~ ^[0-9a-f]{64}$ ]]; then die "kubeadm init phase upload-certs printed no certificate key"; fi
  fi
  if [ -n "$out" ]; then
    {
      printf 'token=%s\nssl_ca_cert_hash=sha256:%s\ncertificate_key=%s\n' "$token" "$hash" "$key"
      printf 'server=https://%s\nnode_name=%s\nssl_ca_cert=%s\n' "$ENDPOINT" "$NODE_NAME" "$(base64 -w0 /etc/kubernetes/pki/ca.crt)"
    } | put 0600 "$out"
    # Readable for the user who asked, and for nobody else.
    chown --reference="$(dirname "$out")" "$out"
    return 0
  fi
  if [ "$GYBE_PHASE" != all ] && [ "$GYBE_PHASE" != tokens ]; then return 0; fi
  printf 'token:%s\nserver:https://%s\nssl_ca_cert_hash:sha256:%s\n' "$token" "$ENDPOINT" "$hash"
  if [ -n "$key" ]; then printf 'certificate_key:%s\n' "$key"; fi
  cat /etc/kubernetes/pki/ca.crt
}

# --- upgrade --------------------------------------------------------------------------------------------------------------------

upgrade_kubeadm() {
  local version
  if [ ! -e /etc/kubernetes/kubelet.conf ]; then die "this machine is no node of a cluster"; fi
  await_kubeadm
  if is_wanted "$(kubeadm version -o short)"; then return 0; fi
  kubernetes_repository
  version=$(package_version "$K8S_VERSION")
  apt_install "kubeadm=$version"
  if ! is_wanted "$(kubeadm version -o short)"; then die "kubeadm $version is installed but reports $(kubeadm version -o short)"; fi
}

# kubeadm_upgrade: the first master takes the cluster to the new version, all others follow. kubeadm does only what is missing, so
# it is run again when it was interrupted or met an API server that was just being replaced.
kubeadm_upgrade() {
  local try words=node
  if [ "$ROLE" = master ] && [ "$MASTER_INDEX" = 0 ]; then words="apply --yes $(kubeadm version -o short)"; fi
  for try in 1 2; do
    # shellcheck disable=SC2086 # words
    if run kubeadm upgrade $words; then return 0; fi
    say "attempt $try of 2 to upgrade did not succeed"
    poll 180 endpoint_ready || die_for_now "nobody answers on https://$ENDPOINT"
  done
  kubelet_says
  die "$(why)"
}

# node_upgraded: the cluster knows this node with the version of the installed kubeadm.
node_upgraded() {
  local v
  v=$(kubectl --kubeconfig /etc/kubernetes/kubelet.conf --request-timeout 10s get node "$NODE_NAME" -o 'jsonpath={.status.nodeInfo.kubeletVersion}') || return 1
  [ "$v" = "$(kubeadm version -o short)" ] || return 1
  [ "$ROLE" = worker ] || api_ready
}

upgrade_kubelet() {
  local v version
  v=$(kubeadm version -o short)
  if [ "$(kubelet --version)" != "Kubernetes $v" ]; then
    kubernetes_repository
    version=$(package_version "${v#v}")
    apt_install "kubelet=$version" "kubectl=$version"
  fi
  hold_packages
  if ! node_upgraded >/dev/null 2>&1; then
    systemctl daemon-reload
    systemctl restart kubelet || die "systemctl restart kubelet"
  fi
}

wait_upgraded() { poll 300 node_upgraded || { kubelet_says; die "the cluster does not know node $NODE_NAME as $(kubeadm version -o short) after 300 s"; }; }

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
  step cilium install_cilium
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

mark_installed() { touch /tmp/installed; }

main() {
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
  settle_arguments
  if [ "$GYBE_PHASE" = check ]; then return 0; fi

  STATE=/var/lib/gybe
  mkdir -p "$STATE"
  chmod 0700 "$STATE"
  WORK=$(mktemp -d "$STATE/work.XXXXXX")
  say "$GYBE_PHASE on $ROLE $NODE_NAME ($NODE_IP), cluster $ENDPOINT, Kubernetes $K8S_VERSION"
  case $GYBE_PHASE in
    prepare) prepare ;;
    init)
      init
      step secrets publish
      mark_installed
      ;;
    join)
      join
      mark_installed
      ;;
    tokens) step secrets publish ;;
    refresh) refresh ;;
    upgrade) upgrade ;;
    all)
      prepare
      if [ -n "$JOIN_TOKEN" ]; then
        join
      else
        init
        step node-ready wait_node_ready
        step secrets publish
      fi
      mark_installed
      ;;
  esac
  say "finished $GYBE_PHASE"
}

wait_node_ready() {
  poll 600 node_ready || { kubelet_says; die "node $NODE_NAME is not Ready after 600 s"; }
}

# --- start ------------------------------------------------------------------------------------------------------------------------

# wants_log: -o is among the options.
wants_log() {
  local opt OPTIND=1 found=1
  while getopts :dom:w:i:a:p:t:s:k: opt; do
    if [ "$opt" = o ]; then found=0; fi
  done
  return "$found"
}

GYBE_PHASE=${GYBE_PHASE:-all} GYBE_SECRETS_FILE=${GYBE_SECRETS_FILE:-} GYBE_RESULT_FILE=${GYBE_RESULT_FILE:-}
NODE_NAME=${NODE_NAME:-} NODE_IP=${NODE_IP:-} CLUSTER_HOSTS=${CLUSTER_HOSTS:-} EXTRA_CERT_SANS=${EXTRA_CERT_SANS:-}
K8S_VERSION=${K8S_VERSION:-1.34} CNI=${CNI:-cilium} CILIUM_VERSION=${CILIUM_VERSION:-1.18.4}
CILIUM_CLI_VERSION=${CILIUM_CLI_VERSION:-v0.18.8} CILIUM_CLI_SHA256=${CILIUM_CLI_SHA256:-}
JOIN_TOKEN=${JOIN_TOKEN:-} CA_CERT_HASH=${CA_CERT_HASH:-} CERTIFICATE_KEY=${CERTIFICATE_KEY:-} VRRP_AUTH=${VRRP_AUTH:-}
ha_flag=${ha_flag:-False} http_proxy=${http_proxy:-} https_proxy=${https_proxy:-} no_proxy=${no_proxy:-}

case ${1:-} in
  --help)
    usage
    exit 0
    ;;
  *) ;;
esac

case $GYBE_PHASE in
  all | prepare | init | join | tokens | refresh | upgrade) ;;
  check)
    trap on_exit EXIT
    main "$@"
    exit 0
    ;;
  *) die "GYBE_PHASE is all, prepare, init, join, tokens, refresh, upgrade or check, not $GYBE_PHASE" ;;
esac

# As another user than root: the same again through sudo, with the variables that a caller may set.
if [ "$(id -u)" != 0 ]; then
  keep=GYBE_PHASE,GYBE_SECRETS_FILE,GYBE_RESULT_FILE,NODE_NAME,NODE_IP,CLUSTER_HOSTS,EXTRA_CERT_SANS,K8S_VERSION,CNI
  keep=$keep,CILIUM_VERSION,CILIUM_CLI_VERSION,CILIUM_CLI_SHA256,JOIN_TOKEN,CA_CERT_HASH,CERTIFICATE_KEY,VRRP_AUTH
  keep=$keep,ha_flag,http_proxy,https_proxy,no_proxy
  sudo -n --preserve-env="$keep" true || die "$(id -un) cannot use sudo without a password"
  exec sudo -n --preserve-env="$keep" bash "$0" "$@"
fi

# The log file keeps everything but the secrets.
if wants_log "$@" && [ -z "${GYBE_LOGGED:-}" ]; then
  export GYBE_LOGGED=1 LOG=/var/log/install_k8s_cluster.log
  touch "$LOG"
  chmod 0600 "$LOG"
  rc=0
  bash "$0" "$@" 2>&1 | awk -v log_file="$LOG" '{ print; fflush(); if (/^(token|certificate_key):/) sub(/:.*/, ":***"); print >>log_file; fflush(log_file) }' || rc=$?
  exit "$rc"
fi

# One run at a time on this machine. Only flock itself holds the lock (-o): services that a run starts must not keep it.
if [ -z "${GYBE_LOCKED:-}" ]; then
  export GYBE_LOCKED=1
  rc=0
  flock -o -w 900 -E 75 /run/install_k8s_cluster.lock bash "$0" "$@" || rc=$?
  if [ "$rc" = 75 ]; then die_for_now "another run has been holding /run/install_k8s_cluster.lock for 900 s"; fi
  exit "$rc"
fi

trap on_exit EXIT
main "$@"
