#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes an Ubuntu machine the NFS server of a Kubernetes cluster (GYBE_PHASE=server) or able to mount from one (GYBE_PHASE=client).
#
#   GYBE_VOLUMES   lines of "<volume id> <device, or -> <mount point>"
#   GYBE_EXPORTS   lines of "<directory> <network>"
#   http_proxy, https_proxy, no_proxy
#
# It can be run again at any time: every step looks first and does only what is missing. A volume that holds anything is never
# formatted.
set -euo pipefail

readonly PROG=storage
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
umask 022

say() { echo "$PROG: $*"; }
die() {
  echo "$PROG: error: $*" >&2
  exit 1
}

# apt_install PACKAGE: mirrors are away now and then.
apt_install() {
  local try
  for try in 1 2 3; do
    if apt-get -q -o DPkg::Lock::Timeout=300 update &&
      apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold --no-install-recommends install "$1"; then
      return 0
    fi
    say "apt-get install $1 failed ($try of 3)"
    sleep $((try * 5))
  done
  die "apt-get install $1 does not work"
}

installed() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null || true)" = "install ok installed" ]; }

# find_disk VOLUME DEVICE: the disk whose serial number is the volume's id. The device that the VIM names is a wish that guests need
# not follow, so it comes second, and is not taken when its serial number says that it is another volume.
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
    if [ "$try" = 1 ]; then say "waits for volume $id"; fi
    sleep 1
  done
  if [ -z "$disk" ]; then die "volume $id is not attached: there is no disk with its id, nor a device $device"; fi

  # Exit status 2 is "nothing found", but also "not readable": that must not be taken for blank.
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
    { awk -v dir="$dir" '$2 != dir' /etc/fstab && echo "UUID=$uuid $dir auto defaults,nofail 0 2"; } >"$WORK/fstab"
    cp "$WORK/fstab" /etc/fstab.gybe
    mv /etc/fstab.gybe /etc/fstab
  fi
  if ! mountpoint -q "$dir"; then mount "$dir" || die "mount $dir failed"; fi
  source=$(findmnt -n -o SOURCE "$dir" || true)
  if [ "$source" != "$disk" ]; then die "$dir is mounted from $source and not from volume $id ($disk)"; fi
  say "volume $id ($disk) is mounted at $dir"
}

set_up_exports() {
  local dir network
  if ! installed nfs-kernel-server; then apt_install nfs-kernel-server; fi
  { awk '/^# begin gybe$/ { ours = 1 } !ours { print } /^# end gybe$/ { ours = 0 }' /etc/exports 2>/dev/null || true; } >"$WORK/exports"
  {
    echo '# begin gybe'
    while read -r dir network; do
      if [ -n "$dir" ]; then echo "$dir $network(rw,sync,no_subtree_check,insecure,all_squash)"; fi
    done <<<"$GYBE_EXPORTS"
    echo '# end gybe'
  } >>"$WORK/exports"
  while read -r dir network; do
    if [ -z "$dir" ]; then continue; fi
    mkdir -p "$dir"
    chown nobody:nogroup "$dir"
  done <<<"$GYBE_EXPORTS"
  cp "$WORK/exports" /etc/exports.gybe
  mv /etc/exports.gybe /etc/exports
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
trap 'rm -rf "$WORK"' EXIT

case ${GYBE_PHASE:-} in
server)
  while read -r id device dir; do
    if [ -n "$id" ]; then set_up_volume "$id" "$device" "$dir" </dev/null; fi
  done <<<"${GYBE_VOLUMES:-}"
  set_up_exports
  ;;
client)
  if ! installed nfs-common; then apt_install nfs-common; fi
  ;;
*) die "GYBE_PHASE is ${GYBE_PHASE:-not set}, not server or client" ;;
esac
say "done"
