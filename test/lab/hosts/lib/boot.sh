#!/usr/bin/env bash
# boot.sh NAME CGROUP: in the machine's new namespaces, builds what it sees of the world, and becomes its first process.
set -euo pipefail
cd "$(dirname "$0")"
. ./settings.sh
. ./network.sh
. ./disk.sh
dir=$STATE/hosts/$1 cgroup=$2 root=$STATE/hosts/$1/root
plug "$1" "$(cat "$dir/address")"
hostname "$(cat "$dir/disk/etc/hostname")"
mount -t overlay overlay -o "lowerdir=$IMAGE:/,upperdir=$dir/disk,workdir=$dir/work" "$root"

# /proc/sys can only be written where it is this machine's own.
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro "$root/proc/sys"
if [ -e "$root/proc/sysrq-trigger" ]; then mount --bind /dev/null "$root/proc/sysrq-trigger"; fi
mount -t sysfs -o ro sysfs "$root/sys"
# kubeadm makes folders in it.
mount --bind "$cgroup" "$root/sys/fs/cgroup"
mount --bind "$IMAGE/usr/lib/machine/cgroup.controllers" "$root/sys/fs/cgroup/cgroup.controllers"

mount -t tmpfs -o mode=755,size=1m tmpfs "$root/dev"
for device in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
  read -r node major minor <<<"$device"
  mknod -m 666 "$root/dev/$node" c "$major" "$minor"
done
mkdir "$root/dev/pts"
mkdir -m 1777 "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
disks "$1" | while read -r volume name; do disk_plug "$root/dev" "$volume" "$name"; done

# Nothing of what people keep on this machine is seen; what is kept over a reboot lies in FOLDER/data, not in an overlay, which
# etcd does not like.
for path in tmp run root mnt work opt; do
  if [ -d "$root/$path" ]; then mount -t tmpfs -o size=256m tmpfs "$root/$path"; fi
done
for path in srv home/ubuntu etc/kubernetes etc/cni var/lib/etcd var/lib/kubelet var/lib/gybe var/log usr/local/libexec; do
  mkdir -p "$dir/data/$path" "$root/$path"
  mount --bind "$dir/data/$path" "$root/$path"
done
chmod 1777 "$root/tmp"
chmod 0755 "$root/run"
chown 20001:20001 "$root/home/ubuntu"
mkdir -m 1777 "$root/run/lock"
mkdir -p "$root/run/sshd" "$root/run/haproxy" "$root/var/lib/haproxy"
if [ -n "$KUBEBOX" ]; then
  while read -r version file; do
    mount --bind "$file" "$root/usr/lib/machine/kubernetes/$version"
    mount -o remount,bind,ro "$root/usr/lib/machine/kubernetes/$version"
  done <"$STATE/kubebox"
fi
mkdir -p "$root/run/outside"
cd "$root"
pivot_root . run/outside
cd /
umount -l /run/outside
rmdir /run/outside
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/machine/init
