#!/usr/bin/env bash
# Machines to log in to, made of namespaces. As root; README.md explains them.
#
#   hosts.sh up                      the network and the image
#   hosts.sh add NAME ADDRESS [KEY...]    a machine, switched on; public keys to log in with      (each command can be repeated)
#   hosts.sh on | off | reset NAME   its power switch
#   hosts.sh remove NAME
#   hosts.sh run NAME COMMAND...     as root on its console
#   hosts.sh disk NAME VOLUME DEVICE | undisk NAME VOLUME
#   hosts.sh float ADDRESS [FIXED]   where a floating address leads
#   hosts.sh list
#   hosts.sh down                    all of it
set -euo pipefail
cd "$(dirname "$0")"
. lib/settings.sh
. lib/network.sh
. lib/image.sh
. lib/disk.sh
. lib/machine.sh

up() {
  [ "$(id -u)" = 0 ] || die "namespaces are made by root"
  # An overlay's upper folder must not lie in its lower one, and this disk needs no fsync.
  mkdir -p "$STATE"
  mountpoint -q "$STATE" || mount -t tmpfs -o mode=755 gybe-hosts "$STATE"
  mkdir -p "$STATE/hosts" "$STATE/volumes" "$CGROUP"
  mountpoint -q "$CGROUP" || mount -t cgroup2 cgroup2 "$CGROUP"
  CGROUP=$CGROUP/$NET
  mkdir -p "$CGROUP"
  network_up
  image_up
}

down() {
  local name
  for name in $(machine_list | cut -d' ' -f1); do machine_remove "$name"; done
  disks_down
  network_down
  rmdir "$CGROUP" 2>/dev/null || true
  ! mountpoint -q "$STATE/cgroup" || umount "$STATE/cgroup"
  ! mountpoint -q "$STATE" || umount -l "$STATE"
}

[ "${1-}" = up ] || CGROUP=$CGROUP/$NET
case ${1-} in
  up) up ;;
  add) machine_add "${@:2}" ;;
  on | off | remove) "machine_$1" "$2" ;;
  reset) machine_off "$2" && machine_on "$2" ;;
  run) machine_run "${@:2}" ;;
  disk) disk_add "$2" "$3" "$4" ;;
  undisk) disk_remove "$2" "$3" ;;
  float) float "$2" "${3-}" ;;
  list) machine_list ;;
  down) down ;;
  *)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
