#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Lets a node of a Kubernetes cluster pull images from private registries, with containerd or with Docker, and makes sure that each
# registry answers and accepts the login. It can be run again at any time. Files beside it:
#
#   servers      lines of "http|https <host[:port]> <file with the CA's certificate, or ->"
#   hosts        lines for /etc/hosts
#   logins       lines of "<host[:port]> <base64 of user:password>"
#   config.json  the same for the kubelet
set -euo pipefail

readonly PROG=registry
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../vnf-packages/kubernetes-cluster/Scripts/lib/base.sh
. "$HERE/lib/base.sh"

if [ "$(id -u)" != 0 ]; then
  keep=http_proxy,https_proxy,no_proxy
  sudo -n --preserve-env="$keep" true || die "$(id -un) cannot use sudo without a password"
  exec sudo -n --preserve-env="$keep" bash "$0"
fi

WORK=$(mktemp -d)
trap on_exit EXIT

# config_path: containerd reads the settings of registries from this directory.
config_path() {
  local conf=/etc/containerd/config.toml table='plugins."io.containerd.grpc.v1.cri".registry'
  if ! has containerd || [ ! -e "$conf" ]; then return 0; fi
  if grep -Eq "^[[:space:]]*config_path = ['\"].+['\"]" "$conf"; then return 0; fi
  if grep -Eq '^version = 3' "$conf"; then table='plugins."io.containerd.cri.v1.images".registry'; fi
  if grep -Eq "^[[:space:]]*config_path = " "$conf"; then
    sed -E "s#^([[:space:]]*config_path = ).*#\\1\"/etc/containerd/certs.d\"#" "$conf" >"$WORK/containerd.toml"
  else
    { cat "$conf" && printf '\n[%s]\n  config_path = "/etc/containerd/certs.d"\n' "$table"; } >"$WORK/containerd.toml"
  fi
  put 0644 "$conf" <"$WORK/containerd.toml"
  if changed; then systemctl restart containerd || die "containerd does not start with $conf"; fi
}

# set_up SCHEME SERVER CA
set_up() {
  local scheme=$1 server=$2 ca=$3 dir=/etc/containerd/certs.d/$2
  if [ "$ca" != - ]; then
    put 0644 "$dir/ca.crt" <"$HERE/$ca"
    if has docker; then put 0644 "/etc/docker/certs.d/$server/ca.crt" <"$HERE/$ca"; fi
  fi
  {
    printf 'server = "%s://%s"\n\n[host."%s://%s"]\n  capabilities = ["pull", "resolve"]\n' "$scheme" "$server" "$scheme" "$server"
    if [ "$ca" != - ]; then printf '  ca = "%s/ca.crt"\n' "$dir"; fi
  } | put 0644 "$dir/hosts.toml"
}

# ask URL [CURL OPTION...]: the answer's head and body. The login is in a file, where no list of processes shows it.
ask() {
  local url=$1
  shift
  curl -sS -i --connect-timeout 10 --max-time 30 "$@" "$url" 2>"$WORK/why"
}
status() { awk 'NR == 1 { print $2 }' <<<"$1"; }

# check SCHEME SERVER CA: the registry answers, and accepts the login if there is one.
check() {
  local scheme=$1 server=$2 ca=$3 login='' answer challenge realm service code args=()
  if ! has curl; then
    say "$server is not checked: curl is not installed"
    return 0
  fi
  if [ "$ca" != - ]; then args+=(--cacert "$HERE/$ca"); fi
  login=$(awk -v s="$server" '$1 == s { print $2 }' "$HERE/logins")
  if [ -n "$login" ]; then
    (umask 077 && printf 'Authorization: Basic %s\n' "$login" >"$WORK/login")
    args+=(-H "@$WORK/login")
  fi
  answer=$(ask "$scheme://$server/v2/" "${args[@]}") || die_for_now "the registry $server does not answer: $(tail -n 1 "$WORK/why")"
  code=$(status "$answer")
  if [ "$code" = 401 ] && [ -n "$login" ]; then
    # It may require a token, which another server issues after a login.
    challenge=$(tr -d '\r' <<<"$answer" | grep -i '^www-authenticate: *bearer' || true)
    realm=$(sed -n 's/.*realm="\([^"]*\)".*/\1/p' <<<"$challenge")
    service=$(sed -n 's/.*service="\([^"]*\)".*/\1/p' <<<"$challenge")
    if [ -n "$realm" ]; then
      answer=$(ask "$realm?service=$service" "${args[@]}") || answer=$(ask "$realm?service=$service" -H "@$WORK/login") ||
        die_for_now "$realm, which issues the tokens for the registry $server, does not answer: $(tail -n 1 "$WORK/why")"
      code=$(status "$answer")
    fi
  fi
  case $code in
  200) say "the registry $server answers" ;;
  401)
    if [ -n "$login" ]; then die "the registry $server refuses the login"; fi
    say "the registry $server requires a login for some of its images"
    ;;
  *) die_for_now "the registry $server answers with status $code" ;;
  esac
}

# log_in: Docker stores logins itself.
log_in() {
  local server login
  if ! has docker; then return 0; fi
  while read -r server login; do
    if [ -z "$server" ]; then continue; fi
    login=$(base64 -d <<<"$login")
    docker login --username "${login%%:*}" --password-stdin "$server" <<<"${login#*:}" >"$WORK/output" 2>&1 ||
      die "docker login $server: $(tail -n 1 "$WORK/output")"
  done <"$HERE/logins"
}

put_block registries /etc/hosts <"$HERE/hosts"
while read -r scheme server ca; do
  if [ -n "$server" ]; then set_up "$scheme" "$server" "$ca" </dev/null; fi
done <"$HERE/servers"
config_path
while read -r scheme server ca; do
  if [ -n "$server" ]; then check "$scheme" "$server" "$ca" </dev/null; fi
done <"$HERE/servers"
log_in
# The kubelet logs in with this file, with every container runtime. Scripts for Docker make it a link to Docker's file.
if [ -s "$HERE/logins" ] && [ ! -L /var/lib/kubelet/config.json ]; then
  put 0600 /var/lib/kubelet/config.json <"$HERE/config.json"
  chmod 0600 /var/lib/kubelet/config.json
  if ! cmp -s "$HERE/config.json" /var/lib/kubelet/config.json; then die "cannot write /var/lib/kubelet/config.json"; fi
fi
say "done"
