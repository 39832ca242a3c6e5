#!/usr/bin/env bash
# run.sh NAME: keeps a machine running in namespaces of its own, until it is switched off. Status 3 of its first process is a reboot.
set -euo pipefail
cd "$(dirname "$0")"
. ./settings.sh
name=$1
CGROUP=$CGROUP/$NET
echo $$ >"$CGROUP/$name/cgroup.procs"
while :; do
  status=0
  unshare --net --mount --pid --fork --kill-child --uts --ipc --propagation private ./boot.sh "$name" "$CGROUP/$name" || status=$?
  if [ "$status" != 3 ]; then exit "$status"; fi
done
