#!/usr/bin/env bash
# A Kubernetes cluster's whole world on one machine: an OpenStack whose servers are hosts that one can log in to. As root on Debian 12.
#
#   lab.sh up              start it, or what of it does not run
#   lab.sh test [ARG...]   run the tests in its network; ARGs are go test's
#   lab.sh sample FOLDER [ARG...]     start it, and run the test of the package in FOLDER in its network
#   lab.sh smoke           a lab of its own, the smoke tests in it, and nothing of it left
#   lab.sh run COMMAND...  run a command there
#   lab.sh down            remove all of it
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
state=${GYBE_K8S_STATE:-$root/.dev/lab/k8s}
go=$(command -v go)
mkdir -p "$state"
export GYBE_HOSTS_STATE=$state/hosts GYBE_HOSTS_NET=${GYBE_HOSTS_NET:-gybe-k8s} GYBE_HOSTS_TOOL=$root/test/lab/hosts/hosts.sh
export GYBE_LAB_STATE=$state/openstack GYBE_LAB_VIRT=labhosts.Driver GYBE_LAB_VIRT_PATH=$PWD/nova LAB_FLOAT="$GYBE_HOSTS_TOOL float"

inside() { ip netns exec "$GYBE_HOSTS_NET" "$@"; }
# kubebox [previous] [cached]: see build.sh there.
kubebox() { PATH=$(dirname "$go"):$PATH ../kubebox/build.sh "$@"; }
up() {
  ../openstack/up.sh install
  "$GYBE_HOSTS_TOOL" up
  inside "$root/test/lab/openstack/up.sh"
}
down() {
  ../openstack/down.sh wipe
  "$GYBE_HOSTS_TOOL" down
}
tests() { GYBE_LAB_K8S=$state inside "$go" test -count=1 -v "$@" .; }

case ${1-} in
  up)
    GYBE_LAB_KUBEBOX=${GYBE_LAB_KUBEBOX:-"$(kubebox) $(kubebox previous)"}
    export GYBE_LAB_KUBEBOX
    up
    ;;
  run)
    shift
    inside "$@"
    ;;
  test)
    shift
    GYBE_LAB_KUBEBOX=${GYBE_LAB_KUBEBOX:-"$(kubebox) $(kubebox previous)"}
    export GYBE_LAB_KUBEBOX
    tests -timeout 90m "$@"
    ;;
  sample)
    GYBE_LAB_KUBEBOX=$(kubebox) GYBE_LAB_ANY_KUBERNETES=1
    export GYBE_LAB_KUBEBOX GYBE_LAB_ANY_KUBERNETES
    folder=$(realpath "$2")
    if [ ! -d "$folder/package" ]; then
      echo "lab: $folder has no folder package; README.md says how it must look" >&2
      exit 2
    fi
    shift 2
    up
    GYBE_K8S_SAMPLE=$folder tests -timeout 90m -run '^TestSample$' "$@"
    ;;
  smoke)
    GYBE_LAB_KUBEBOX=$(kubebox)
    export GYBE_LAB_KUBEBOX
    trap 'down || true' EXIT
    up
    tests -timeout 15m -run '^TestSimple$'
    ;;
  down) down ;;
  *)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
