#!/bin/bash
# Installs HAProxy in front of a Kubernetes cluster: port 8383 leads to the API servers of the masters, and the section
# kubernetes-nodeport to the workers. Frontends for NodePorts are added later by others, and stay when the script runs
# again.
#
#   install_external_lb.sh -m MASTER[,MASTER...] [-w WORKER[,WORKER...]]    addresses of the nodes
set -o errexit -o nounset -o pipefail

readonly CONFIG=/etc/haproxy/haproxy.cfg
# Where HAProxy is. A login that runs one command may not have it in its path.
PATH=$PATH:/usr/sbin

fail() {
  echo "install_external_lb: error: $1" >&2
  exit 1
}

masters='' workers=''
while [ $# -gt 0 ]; do
  case "$1" in
    -m) masters=${2:-} ;;
    -w) workers=${2:-} ;;
    *) fail "unknown argument $1" ;;
  esac
  shift 2 || fail "a value is missing"
done
[ -n "$masters" ] || fail "-m is missing"

# servers prints the lines of a backend: a role, addresses with commas between them, and what follows each address.
servers() {
  local ip
  for ip in ${2//,/ }; do
    echo "    server  $1${ip##*.} $ip$3"
  done
}

config() {
  echo "# made by install_external_lb.sh
global
    log /dev/log local0
    maxconn 4000
    user haproxy
    group haproxy

defaults
    log global
    mode tcp
    timeout connect 10s
    timeout client 10m
    timeout server 10m
    retries 3
    option redispatch

frontend kubernetes-apiserver
    mode tcp
    bind *:8383
    default_backend kubernetes-apiserver

backend kubernetes-apiserver
    mode tcp
    balance roundrobin
    option tcp-check"
  servers master "$masters" ":6443 check"
  echo "
backend kubernetes-nodeport
    mode tcp
    balance roundrobin"
  servers worker "$workers" ''
}

if ! command -v haproxy >/dev/null 2>&1; then
  echo "install_external_lb: installing HAProxy"
  sudo -n -E apt-get update -q
  sudo -n -E DEBIAN_FRONTEND=noninteractive apt-get install -y -q haproxy
fi
if ! grep -q '^backend kubernetes-nodeport' "$CONFIG" 2>/dev/null; then
  config >haproxy.cfg
  haproxy -c -f haproxy.cfg || fail "HAProxy does not accept the configuration"
  sudo -n install -m 0644 haproxy.cfg "$CONFIG.new"
  sudo -n mv -f "$CONFIG.new" "$CONFIG"
fi
sudo -n systemctl enable haproxy
sudo -n systemctl restart haproxy
echo "install_external_lb: HAProxy answers at port 8383"
