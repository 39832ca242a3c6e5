#!/usr/bin/env bash
# A Kubernetes cluster of one node on a test host, as a VIM for CNFs. As root on Debian 12.
#
#   lab.sh up              start it
#   lab.sh test [ARG...]   start it, and run the tests in its network; ARGs are go test's
#   lab.sh smoke           the same with a lab of its own, and nothing of it left
#   lab.sh run COMMAND...  run a command in its network
#   lab.sh down            remove it
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
state=${GYBE_CNF_STATE:-$root/.dev/lab/cnf}
go=$(command -v go)
mkdir -p "$state"
export GYBE_HOSTS_STATE=$state/hosts GYBE_HOSTS_NET=${GYBE_HOSTS_NET:-gybe-cnf} GYBE_LAB_ANY_KUBERNETES=1
hosts=$root/test/lab/hosts/hosts.sh
admin=/etc/kubernetes/admin.conf

up() {
  GYBE_LAB_KUBEBOX=$(PATH=$(dirname "$go"):$PATH ../kubebox/build.sh)
  export GYBE_LAB_KUBEBOX
  "$hosts" up
  "$hosts" add m1 10.10.0.11
  if ! "$hosts" run m1 kubectl --kubeconfig $admin --request-timeout 5s get node m1 >/dev/null 2>&1; then
    "$hosts" run m1 bash -s <cluster.sh
  fi
  "$hosts" run m1 cat $admin >"$state/kubeconfig"
}
tests() {
  GYBE_LAB_CNF=$state/kubeconfig ip netns exec "$GYBE_HOSTS_NET" "$go" test -count=1 -v -timeout 15m "$@" .
}

case ${1-} in
  up) up ;;
  test)
    shift
    up
    tests "$@"
    ;;
  smoke)
    trap '"$hosts" down || true' EXIT
    up
    tests
    ;;
  run)
    shift
    ip netns exec "$GYBE_HOSTS_NET" "$@"
    ;;
  down) "$hosts" down ;;
  *)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
