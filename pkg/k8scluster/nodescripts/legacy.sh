#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a legacy installation script, as packages for older VNFMs have it: it does all the work of a node in one run, as the user who logs in,
# from /tmp/install_k8s_cluster.sh.
#
#   GYBE_PHASE     init (first master), join, refresh: nodes have come or gone, or detach: other masters will go
#   GYBE_RUN       names this run; a run that was cut off is not started again
#   GYBE_TRY       how often the script has been tried on this machine
#   NODE_NAME, CLUSTER_HOSTS ("address name,…"), MASTERS, WORKER, CLUSTER_IP, POD_CIDR, SERVICE_CIDR, EXPORTS (lines of name=value)
#   ./secrets      lines of JOIN_TOKEN, CA_CERT_HASH, CERTIFICATE_KEY
set -uo pipefail

readonly PROG=node HERE=$PWD MARKS=/var/lib/gybe
# shellcheck source=../../../vnf-packages/kubernetes-cluster/Scripts/lib/base.sh
. "$HERE/lib/base.sh"

# put_as_root FILE: standard input becomes the file's content when it differs; fails when it does not.
put_as_root() {
  cat >"$HERE/new"
  if cmp -s "$HERE/new" "$1"; then return 1; fi
  sudo -n cp "$HERE/new" "$1" || die "cannot write $1"
}

# write_hosts keeps one marked block in /etc/hosts and leaves every other line alone.
write_hosts() {
  {
    awk '/^# BEGIN cluster$/ { skip = 1 } !skip { print } /^# END cluster$/ { skip = 0 }' /etc/hosts
    echo '# BEGIN cluster'
    tr ',' '\n' <<<"$CLUSTER_HOSTS"
    echo '# END cluster'
  } | put_as_root /etc/hosts || true
}

# balance brings HAProxy's servers up to date with the masters. It keeps the form of the lines that the script has written: "server <name>
# <address>:6443 …".
balance() {
  local conf=/etc/haproxy/haproxy.cfg
  if [ ! -e "$conf" ] || ! grep -Eq '^[[:space:]]*server[[:space:]]+master[^[:space:]]*[[:space:]]+[0-9.]+:' "$conf"; then
    say "$conf names no masters: not touched"
    return 0
  fi
  if awk -v masters="$MASTERS" '
    /^[ \t]*server[ \t]+master[^ \t]*[ \t]+[0-9.]+:/ {
      if (done) next
      done = 1
      indent = $0; sub(/server.*/, "", indent)
      port = $3; sub(/^[^:]*:/, "", port)
      rest = ""
      for (i = 4; i <= NF; i++) rest = rest " " $i
      n = split(masters, ip, ",")
      for (i = 1; i <= n; i++) {
        split(ip[i], part, ".")
        print indent "server  master" part[4] "  " ip[i] ":" port rest
      }
      next
    }
    { print }' "$conf" | put_as_root "$conf"; then
    sudo -n systemctl restart haproxy || die "haproxy does not start with the new list of masters"
    say "haproxy knows the masters ${MASTERS//,/, }"
  fi
}

# member: this machine is a node of the cluster already, and Ready.
member() {
  local conf
  for conf in /etc/kubernetes/admin.conf /etc/kubernetes/kubelet.conf; do
    if sudo -n test -e "$conf" && [ "$(sudo -n kubectl --kubeconfig "$conf" --request-timeout 10s get node "$NODE_NAME" \
      -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)" = True ]; then
      return 0
    fi
  done
  return 1
}

install_node() {
  local line rc=0 done_file=/etc/kubernetes/kubelet.conf args
  if [ "$GYBE_TRY" -gt 1 ] && member; then
    say "$NODE_NAME is a node of the cluster already: the script is not run again"
    return 0
  fi
  if [ -e "$MARKS/$GYBE_RUN" ]; then die "the machine rebooted while the script was running; it is not known which part was done"; fi
  write_hosts
  install -m 0755 "$HERE/install.sh" /tmp/install_k8s_cluster.sh || die "cannot write /tmp/install_k8s_cluster.sh"

  if [ -n "$WORKER" ]; then
    args=(-w "$WORKER" -i "$CLUSTER_IP")
  else
    args=(-m "$MASTERS" -i "$CLUSTER_IP" -p "$POD_CIDR" -a "$SERVICE_CIDR")
  fi
  while IFS= read -r line; do
    case $line in
    JOIN_TOKEN=?*) args+=(-t "${line#*=}") ;;
    CA_CERT_HASH=?*) args+=(-s "${line#*=}") ;;
    CERTIFICATE_KEY=?*) args+=(-k "${line#*=}") ;;
    *) ;;
    esac
  done <"$HERE/secrets"
  while IFS= read -r line; do
    if [ -n "$line" ]; then export "${line?}"; fi
  done <<<"$EXPORTS"

  { sudo -n mkdir -p "$MARKS" && sudo -n touch "$MARKS/$GYBE_RUN"; } || die "$(id -un) cannot use sudo without a password"
  cd || die "the user has no home directory"
  (
    # The script gets the same variables as from older VNFMs, and no others.
    unset DEBIAN_FRONTEND GYBE_PHASE GYBE_RUN GYBE_TRY NODE_NAME CLUSTER_HOSTS MASTERS WORKER CLUSTER_IP POD_CIDR SERVICE_CIDR EXPORTS
    bash /tmp/install_k8s_cluster.sh "${args[@]}"
  ) || rc=$?
  sudo -n rm -f "$MARKS/$GYBE_RUN"
  if [ "$rc" -ne 0 ]; then exit "$rc"; fi
  if [ "$GYBE_PHASE" = init ]; then done_file=/etc/kubernetes/admin.conf; fi
  if ! sudo -n test -e "$done_file"; then die "the script succeeded, but the machine is not a node: there is no $done_file"; fi
}

case ${GYBE_PHASE:-} in
init | join) install_node ;;
refresh)
  write_hosts
  if [ -z "$WORKER" ]; then balance; fi
  ;;
detach) balance ;;
*) die "GYBE_PHASE is ${GYBE_PHASE:-not set}, not init, join, refresh or detach" ;;
esac
