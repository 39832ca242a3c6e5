#!/bin/bash
# Puts another configuration of HAProxy, from standard input, in place of the one with the digest $1, once HAProxy has
# checked it. Exit status 75: the configuration is another one by now, or others have the lock for half a minute.
# HAProxy is reloaded: connections that pass it stay.
set -o errexit -o nounset -o pipefail
new=$(mktemp)
trap 'rm -f "$new"' EXIT
cat >"$new"
sudo -n flock -w 30 -E 75 /run/lock/gybe-haproxy bash -c '
  set -o errexit
  config=/etc/haproxy/haproxy.cfg
  [ "$(sha256sum "$config" | cut -d " " -f 1)" = "$1" ] || exit 75
  haproxy -c -q -f "$2"
  install -m 0644 "$2" "$config.gybe"
  mv -f "$config.gybe" "$config"
  systemctl reload-or-restart haproxy
' - "$1" "$new"
