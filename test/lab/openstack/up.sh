#!/usr/bin/env bash
# Starts the lab's OpenStack, or what of it does not run. As root on Debian 12; README.md has the settings.
#
#   up.sh            everything
#   up.sh install    only what needs the package archive, for a start in a network namespace later
set -euo pipefail
cd "$(dirname "$0")"
. lib/settings.sh
. lib/process.sh
. lib/packages.sh
. lib/services.sh

[ "$(id -u)" = 0 ] || die "the lab must be started as root"
command -v apt-get >/dev/null || die "the lab is made of Debian's packages: there is no apt-get here"
[ ${#LAB_SOCKET} -lt 100 ] || die "GYBE_LAB_STATE is too long a path for a Unix socket: $LAB_STATE"
one_at_a_time
mkdir -p "$LAB_LOG" "$LAB_RUN"
install_packages
unpack_files
[ "${1-}" != install ] || exit 0
check_ports
keep_settings

limit=$LAB_START_SECONDS
# Migrations are as long as the machine is slow, and never hang.
[ -e "$LAB_DATA/migrated" ] || limit=$((3 * limit))

for attempt in 1 2; do
  if timeout --foreground -k 10 "$limit" lib/start.sh; then
    say "ready: . $LAB_STATE/openrc"
    exit 0
  fi
  echo "lab: start $attempt failed or took longer than ${limit}s; logs are kept in $LAB_STATE/failed-$attempt" >&2
  rm -rf "$LAB_STATE/failed-$attempt" && cp -r "$LAB_LOG" "$LAB_STATE/failed-$attempt"
  lib/stop.sh
done
die "the lab does not start"
