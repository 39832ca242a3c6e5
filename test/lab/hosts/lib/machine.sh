# shellcheck shell=bash
# Machines. The folder STATE/hosts/NAME is one: its disk, its address, its console, and the process that keeps it running. It is
# there from add to remove; its processes and its network are there while it is switched on.

folder() { printf '%s/hosts/%s' "$STATE" "$1"; }
# shellcheck disable=SC2153 # settings.sh sets CGROUP
running() { [ -e "$CGROUP/$1/cgroup.procs" ] && [ -n "$(cat "$CGROUP/$1/cgroup.procs")" ]; }

# machine_process NAME: its first process, as this machine numbers it; "" when it is off. All others may end at any moment.
machine_process() {
  local depth p
  depth=$(awk '/^NSpid:/ { print NF }' /proc/self/status)
  while read -r p; do
    if [ "$(awk '/^NSpid:/ { print NF, $NF }' "/proc/$p/status" 2>/dev/null)" = "$((depth + 1)) 1" ]; then
      printf '%s' "$p"
      return 0
    fi
  done < <(cat "$CGROUP/$1/cgroup.procs" 2>/dev/null)
}

machine_run() {
  local p
  p=$(machine_process "$1")
  [ -n "$p" ] || die "host $1 is not on"
  shift
  exec nsenter -t "$p" -m -u -i -n -p -r -w env -i PATH="$PATH" "$@"
}

# add NAME ADDRESS [KEY...]
machine_add() {
  local name=$1 address=$2 dir
  shift 2
  dir=$(folder "$name")
  if [ ! -e "$dir/address" ]; then
    mkdir -p "$dir"/{disk/etc/ssh,work,root,data}
    chmod 0755 "$dir/disk" "$dir/disk/etc" "$dir/disk/etc/ssh"
    ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$dir/disk/etc/ssh/ssh_host_ed25519_key" <<<y >/dev/null
    printf '%s\n' "$name" >"$dir/disk/etc/hostname"
    printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" >"$dir/disk/etc/hosts"
    if [ $# -gt 0 ]; then
      install -d -m 0700 -o 20001 -g 20001 "$dir/data/home/ubuntu" "$dir/data/home/ubuntu/.ssh"
      printf '%s\n' "$@" >"$dir/data/home/ubuntu/.ssh/authorized_keys"
    fi
    printf '%s' "$address" >"$dir/address"
  fi
  machine_on "$name"
}

machine_on() {
  local name=$1 dir address
  dir=$(folder "$name")
  [ -e "$dir/address" ] || die "there is no host $name"
  if running "$name"; then return 0; fi
  address=$(cat "$dir/address")
  machine_off "$name"
  mkdir -p "$CGROUP/$name"
  setsid "$HOSTS_HOME/lib/run.sh" "$name" >>"$dir/console" 2>&1 </dev/null 9>&- &
  local tries
  for tries in $(seq 200); do
    if timeout 2 ip netns exec "$NET" bash -c "exec 3<>/dev/tcp/$address/22" 2>/dev/null; then return 0; fi
    sleep 0.05
  done
  tail -n 5 "$dir/console" >&2
  die "host $name does not answer on $address:22 after $tries tries"
}

# off NAME: as pulling the plug. Everything in the cgroup ends with one write.
machine_off() {
  local cgroup=$CGROUP/$1 i
  if [ -e "$cgroup/cgroup.kill" ]; then
    echo 1 >"$cgroup/cgroup.kill"
    for i in $(seq 200); do
      find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
      if [ ! -d "$cgroup" ]; then break; fi
      sleep 0.02
    done
  fi
  unplug "$1"
}

machine_remove() {
  local i volume
  machine_off "$1"
  disks "$1" | while read -r volume _; do disk_free "$volume"; done
  for i in $(seq 20); do # the kernel may still be unmounting
    if rm -rf "${STATE:?}/hosts/$1" 2>/dev/null; then return 0; fi
    sleep 0.05
  done
  die "the files of host $1 cannot be removed after $i tries"
}

machine_list() {
  local dir name
  for dir in "$STATE"/hosts/*/; do
    [ -e "$dir/address" ] || continue
    name=$(basename "$dir")
    printf '%s %s %s\n' "$name" "$(cat "$dir/address")" "$(running "$name" && echo on || echo off)"
  done
}
