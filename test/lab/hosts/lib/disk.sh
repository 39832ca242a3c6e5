# shellcheck shell=bash
# Disks. A volume is a file of 1 GiB, most of it holes, in STATE/volumes, behind a loop device. It stays when it is taken out of a machine.

# disks NAME: the machine's, as "VOLUME DEVICE".
disks() { cat "$STATE/hosts/$1/disks" 2>/dev/null || true; }

# disk_loop VOLUME: its loop device, if it has one.
disk_loop() { losetup -n -O NAME -j "$STATE/volumes/$1"; }

# disk_plug DEV VOLUME DEVICE: in the folder that is or becomes a machine's /dev, with the name that udev gives it.
disk_plug() {
  local dev=$1 volume=$2 name=${3#/dev/} loop
  [ -e "$STATE/volumes/$volume" ] || truncate -s 1G "$STATE/volumes/$volume"
  loop=$(disk_loop "$volume")
  if [ -z "$loop" ]; then loop=$(losetup -f --show "$STATE/volumes/$volume"); fi
  rm -f "$dev/$name"
  mknod -m 660 "$dev/$name" b 7 "${loop#/dev/loop}"
  mkdir -p "$dev/disk/by-id"
  ln -sfn "../../$name" "$dev/disk/by-id/virtio-${volume:0:20}"
}

# disk_free VOLUME: detaches it from all hosts.
disk_free() {
  local loop
  loop=$(disk_loop "$1")
  if [ -n "$loop" ]; then losetup -d "$loop"; fi
}

# disk_add NAME VOLUME DEVICE
disk_add() {
  local name=$1 volume=$2 device=${3#/dev/} inside
  if ! disks "$name" | grep -qx "$volume $device"; then printf '%s %s\n' "$volume" "$device" >>"$(folder "$name")/disks"; fi
  inside=$(machine_process "$name")
  if [ -n "$inside" ]; then disk_plug "/proc/$inside/root/dev" "$volume" "$device"; fi
}

# disk_remove NAME VOLUME
disk_remove() {
  local name=$1 volume=$2 device inside
  device=$(disks "$name" | awk -v v="$volume" '$1 == v { d = $2 } END { print d }')
  if [ -z "$device" ]; then return 0; fi
  disks "$name" | awk -v v="$volume" '$1 != v' >"$(folder "$name")/disks.new"
  mv "$(folder "$name")/disks.new" "$(folder "$name")/disks"
  inside=$(machine_process "$name")
  if [ -n "$inside" ]; then rm -f "/proc/$inside/root/dev/$device" "/proc/$inside/root/dev/disk/by-id/virtio-${volume:0:20}"; fi
  disk_free "$volume"
}

disks_down() {
  local file
  for file in "$STATE"/volumes/*; do
    if [ -e "$file" ]; then disk_free "$(basename "$file")"; fi
  done
}
