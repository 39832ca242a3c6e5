#!/usr/bin/env bash
# Starts a lab of its own, runs the smoke tests on it, and removes it. In a network namespace where one can be made: there it
# disturbs no other lab on this machine, and none disturbs it.
set -euo pipefail
cd "$(dirname "$0")"
go=$(command -v go)
export GYBE_LAB_STATE=${GYBE_LAB_STATE:-$PWD/../../../.dev/lab/smoke}
mkdir -p "$GYBE_LAB_STATE"
GYBE_LAB_STATE=$(cd "$GYBE_LAB_STATE" && pwd)

./up.sh install
namespace=gybe-lab-$$ inside=()
if ip netns add "$namespace" 2>/dev/null && ip -n "$namespace" link set lo up; then
  inside=(ip netns exec "$namespace")
else
  namespace=""
  echo "smoke: there are no network namespaces here: the lab uses the machine's own ports" >&2
fi
finish() {
  ./down.sh wipe || true
  [ -z "$namespace" ] || ip netns delete "$namespace" || true
}
trap finish EXIT

"${inside[@]}" ./up.sh
GYBE_LAB_OPENRC=$GYBE_LAB_STATE/openrc "${inside[@]}" "$go" test -count=1 -v -timeout 15m -run '^TestSmoke' .
# Users of the real Keystone at a node of gybe.
# shellcheck source=/dev/null
. "$GYBE_LAB_STATE/openrc"
"${inside[@]}" "$go" test -count=1 -v -timeout 10m ../../keystone
