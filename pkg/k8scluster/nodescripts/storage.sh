#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes an Ubuntu machine the NFS server of a Kubernetes cluster (GYBE_PHASE=server) or able to mount from one (GYBE_PHASE=client).
#
#   GYBE_VOLUMES   lines of "<volume id> <device, or -> <mount point>"
#   GYBE_EXPORTS   lines of "<directory> <network>"
#   http_proxy, https_proxy, no_proxy
#
# It can be run again at any time: every step looks first and does only what is missing. A volume that is not blank is never formatted.
set -euo pipefail

readonly PROG=storage
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../vnf-packages/kubernetes-cluster/Scripts/lib/base.sh
. "$HERE/lib/base.sh"
# shellcheck source=../../../vnf-packages/kubernetes-cluster/Scripts/lib/packages.sh
. "$HERE/lib/packages.sh"

# find_disk VOLUME DEVICE: the disk whose serial number is the volume's id. Guests may use another device than the VIM names, so the device
# comes second, and is not used when its serial number shows that it is another volume.
find_disk() {
  local id=$1 device=$2 name
  for name in "virtio-${id:0:20}" "scsi-0QEMU_QEMU_HARDDISK_$id" "scsi-0QEMU_QEMU_HARDDISK_${id:0:20}"; do
    if [ -e "/dev/disk/by-id/$name" ]; then
      readlink -f "/dev/disk/by-id/$name"
      return 0
    fi
  done
  if [ "$device" != "-" ] && [ -b "$device" ]; then
    for name in /dev/disk/by-id/virtio-* /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_*; do
      if [ "$(readlink -f "$name")" = "$device" ]; then return 1; fi
    done
    echo "$device"
    return 0
  fi
  return 1
}

# set_up_volume VOLUME DEVICE DIRECTORY
set_up_volume() {
  local id=$1 device=$2 dir=$3 disk='' kind uuid source try status=0
  for try in $(seq 60); do
    if disk=$(find_disk "$id" "$device"); then break; fi
    if [ "$try" = 1 ]; then say "waiting for volume $id"; fi
    sleep 1
  done
  if [ -z "$disk" ]; then die "volume $id is not attached: there is no disk with its id, nor a device $device"; fi

  # Exit status 2 is "nothing found", but also "not readable", which must not count as blank.
  dd if="$disk" of=/dev/null bs=4096 count=1 2>/dev/null || die "volume $id ($disk) cannot be read"
  kind=$(blkid -p -o value -s TYPE "$disk") || status=$?
  if [ -z "$kind" ]; then
    if [ "$status" -ne 0 ] && [ "$status" -ne 2 ]; then die "volume $id ($disk): blkid ended with exit status $status"; fi
    if [ -n "$(blkid -p -o value -s PTTYPE "$disk" || true)" ]; then
      die "volume $id ($disk) has a partition table: it is not blank and is not formatted"
    fi
    say "volume $id ($disk) is blank: makes a file system"
    mkfs.ext4 -q "$disk" || die "mkfs.ext4 $disk failed"
  fi
  uuid=$(blkid -p -o value -s UUID "$disk" || true)
  if [ -z "$uuid" ]; then die "the file system of volume $id ($disk) has no UUID"; fi

  mkdir -p "$dir"
  if ! grep -q "^UUID=$uuid $dir " /etc/fstab; then
    { awk -v dir="$dir" '$2 != dir' /etc/fstab && echo "UUID=$uuid $dir auto defaults,nofail 0 2"; } | put 0644 /etc/fstab
  fi
  if ! mountpoint -q "$dir"; then mount "$dir" || die "mount $dir failed"; fi
  source=$(findmnt -n -o SOURCE "$dir" || true)
  if [ "$source" != "$disk" ]; then die "$dir is mounted from $source and not from volume $id ($disk)"; fi
  say "volume $id ($disk) is mounted at $dir"
}

# old_block FILE: removes the block that earlier versions of this script have written with other marks.
old_block() {
  if [ ! -e "$1" ]; then return 0; fi
  awk '/^# begin gybe$/ { skip = 1 } !skip { print } /^# end gybe$/ { skip = 0 }' "$1" | put 0644 "$1"
}

set_up_exports() {
  local dir network
  if ! package_installed nfs-kernel-server; then install_packages nfs-kernel-server; fi
  while read -r dir network; do
    if [ -n "$dir" ]; then echo "$dir $network(rw,sync,no_subtree_check,insecure,all_squash)"; fi
  done <<<"$GYBE_EXPORTS" >"$WORK/exports"
  while read -r dir network; do
    if [ -z "$dir" ]; then continue; fi
    mkdir -p "$dir"
    chown nobody:nogroup "$dir"
  done <<<"$GYBE_EXPORTS"
  old_block /etc/exports
  put_block gybe /etc/exports <"$WORK/exports"
  systemctl enable nfs-kernel-server >/dev/null 2>&1 || true
  systemctl start nfs-kernel-server || die "the NFS server does not start"
  exportfs -ra || die "exportfs -ra failed"
  exportfs >"$WORK/exported" || die "exportfs failed"
  while read -r dir network; do
    if [ -z "$dir" ]; then continue; fi
    awk -v dir="$dir" '$1 == dir { found = 1 } END { exit !found }' "$WORK/exported" || die "$dir is not exported"
    say "$dir is exported to $network"
  done <<<"$GYBE_EXPORTS"
}

# As another user than root: the same again through sudo, with the variables that a caller may set.
if [ "$(id -u)" != 0 ]; then
  keep=GYBE_PHASE,GYBE_VOLUMES,GYBE_EXPORTS,http_proxy,https_proxy,no_proxy
  sudo -n --preserve-env="$keep" true || die "$(id -un) cannot use sudo without a password"
  exec sudo -n --preserve-env="$keep" bash "$0"
fi

WORK=$(mktemp -d)
trap on_exit EXIT

case ${GYBE_PHASE:-} in
server)
  while read -r id device dir; do
    if [ -n "$id" ]; then set_up_volume "$id" "$device" "$dir" </dev/null; fi
  done <<<"${GYBE_VOLUMES:-}"
  set_up_exports
  ;;
client)
  if ! package_installed nfs-common; then install_packages nfs-common; fi
  ;;
*) die "GYBE_PHASE is ${GYBE_PHASE:-not set}, not server or client" ;;
esac
say "done"
