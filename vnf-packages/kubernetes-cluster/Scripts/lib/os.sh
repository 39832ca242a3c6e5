# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are set in arguments.sh
# SPDX-License-Identifier: Apache-2.0
#
# The machine below Kubernetes: Ubuntu, its names, its kernel, its proxy. It needs base.sh, packages.sh and arguments.sh.

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
  if has cloud-init; then timeout 300 cloud-init status --wait >/dev/null 2>&1 || say "warning: cloud-init reports an error, going on"; fi
}

set_host_name() {
  if [ "$(hostname)" != "$NODE_NAME" ]; then hostnamectl set-hostname "$NODE_NAME" || die "hostnamectl set-hostname $NODE_NAME"; fi
  # Otherwise cloud-init gives the machine its old name back at the next boot.
  if [ -d /etc/cloud/cloud.cfg.d ]; then
    printf 'preserve_hostname: true\nmanage_etc_hosts: false\n' | put 0644 /etc/cloud/cloud.cfg.d/99-gybe.cfg
  fi
}

# write_hosts lists the nodes in /etc/hosts, and always this node.
write_hosts() {
  local nodes ip
  if [ -n "$CLUSTER_HOSTS" ]; then
    nodes=$(tr ',' '\n' <<<"$CLUSTER_HOSTS" | sed '/^ *$/d')
  else
    nodes=$(for ip in ${masters//,/ }; do echo "$ip master${ip##*.}"; done | awk -v a="$NODE_IP" '$1 != a')
  fi
  if ! awk -v a="$NODE_IP" '$1 == a { f = 1 } END { exit !f }' <<<"$nodes"; then
    nodes="$NODE_IP $NODE_NAME"$'\n'$nodes
  fi
  sed '/^$/d' <<<"$nodes" | put_block 'gybe cluster' /etc/hosts
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

# proxy_settings: apt and containerd do not read the environment of this script. A "%" in a systemd unit starts a
# specifier, and "%%" is the sign itself: passwords in URLs are encoded with it.
proxy_settings() {
  if [ -z "$http_proxy$https_proxy" ]; then return 0; fi
  {
    if [ -n "$http_proxy" ]; then printf 'Acquire::http::Proxy "%s";\n' "$http_proxy"; fi
    if [ -n "$https_proxy" ]; then printf 'Acquire::https::Proxy "%s";\n' "$https_proxy"; fi
  } | put 0644 /etc/apt/apt.conf.d/90gybe-proxy
  put 0644 /etc/systemd/system/containerd.service.d/gybe-proxy.conf <<CONF
[Service]
Environment="HTTP_PROXY=${http_proxy//%/%%}"
Environment="HTTPS_PROXY=${https_proxy//%/%%}"
Environment="NO_PROXY=${no_proxy//%/%%}"
CONF
  if changed; then
    systemctl daemon-reload
    if systemctl is-active --quiet containerd; then systemctl restart containerd; fi
  fi
}

base_packages() {
  if has curl && has gpg && has conntrack && has socat; then return 0; fi
  install_packages ca-certificates curl gpg conntrack socat
}
